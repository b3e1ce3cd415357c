"""Whether two results differ."""

import random

import pytest
from made_machine import figure

from headway.machine.compare import Comparison, compare
from headway.machine.figure import Figure


def noisy(seed: int, *, centre: float = 100.0, spread: float = 0.05, number: int = 10) -> list[float]:
    chance = random.Random(seed)
    return [centre * chance.lognormvariate(0, spread) for _ in range(number)]


def verdict(first: Figure, second: Figure) -> tuple[str, str]:
    (found,) = compare([first], [second]).differences
    return found.verdict, found.why


def test_a_clear_difference_is_found_in_both_directions() -> None:
    slow, fast = figure("a", noisy(1)), figure("a", noisy(2, centre=150.0))

    assert verdict(slow, fast) == ("different", "by more than 10%")
    assert verdict(fast, slow) == ("different", "by more than 10%")


def test_the_ratio_is_the_second_over_the_first_with_an_interval_around_it() -> None:
    (found,) = compare([figure("a", noisy(1))], [figure("a", noisy(2, centre=150.0))]).differences

    assert found.low is not None and found.ratio is not None and found.high is not None
    assert found.low < found.ratio < found.high
    assert 1.4 < found.ratio < 1.6


def test_a_difference_below_the_margin_is_none() -> None:
    first, second = figure("a", noisy(1, spread=0.001)), figure("a", noisy(2, centre=105.0, spread=0.001))

    assert verdict(first, second) == ("not different", "alike within 10%")


def test_what_noise_hides_is_not_called_alike() -> None:
    found = verdict(figure("a", noisy(1, spread=0.5)), figure("a", noisy(2, spread=0.5)))

    assert found == ("not different", "not shown to differ by more than 10%")


def test_an_outlier_makes_no_difference() -> None:
    given = noisy(1)

    assert verdict(figure("a", given), figure("a", [*given[1:], 1e9]))[0] == "not different"


def test_false_alarms_stay_below_one_in_twenty_comparisons_of_many_figures() -> None:
    alarms = 0
    for trial in range(200):
        first, second = (
            [figure(str(i), noisy(1000 * trial + 50 * side + i, spread=0.3), margin=0.0) for i in range(16)]
            for side in (0, 1)
        )
        alarms += compare(first, second).verdict == "different"

    assert alarms <= 10


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (figure("a", [], why="no GPU"), figure("a", noisy(1)), "no GPU"),
        (figure("a", noisy(1)), figure("b", noisy(1)), "only the first result has it"),
        (figure("a", noisy(1, number=3)), figure("a", noisy(1, number=3)), "too few repetitions to tell"),
        (figure("a", noisy(1)), figure("a", noisy(2, centre=200.0), quiet=False), "others kept the machine busy"),
    ],
)
def test_what_cannot_be_told_is_unclear_and_says_why(first: Figure, second: Figure, why: str) -> None:
    comparison = compare([first], [second])

    assert comparison.verdict == "unclear"
    assert comparison.differences[0].why == why


def test_results_differ_when_one_figure_does_and_are_alike_when_none_does() -> None:
    same, other = figure("a", noisy(1)), figure("b", noisy(2))
    third = figure("c", [], why="no GPU")

    assert compare([same, other], [same, figure("b", noisy(3, centre=300.0))]).verdict == "different"
    assert compare([same, third], [same, third]).verdict == "not different"
    assert compare([], []) == Comparison("unclear", ())
