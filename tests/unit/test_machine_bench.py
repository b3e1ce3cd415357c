"""The bench: rounds, disturbance, limits and failures, on a clock of the test's own."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_machine import Clock, Made, Others, figure, groups, means

from headway.errors import RunError
from headway.machine.bench import LEAST_ROUNDS, Limits, Means, bench
from headway.machine.disturbance import Taken, disturbed, taken
from headway.machine.figure import Figure, figure_from, outer_ranks
from headway.machine.probe import Lack, Probe, Site

VALUES = {"disk.write": [100.0], "core.python": [5.0]}


def measured(folder: Path, values: dict[str, list[float]], *, rounds: int = 6, **given: object) -> dict[str, Figure]:
    found = bench(folder, groups(values), limits=Limits(rounds, 1e9), means=means(**given))  # type: ignore[arg-type]
    return {each.name: each for each in found}


def test_every_probe_is_repeated_and_the_first_time_counts_for_nothing(tmp_path: Path) -> None:
    found = measured(tmp_path, {"disk.write": [1.0, *range(10, 16)]})

    assert found["disk.write"].values == (10, 11, 12, 13, 14, 15)
    assert found["disk.write"].median == 12.5
    assert found["disk.write"].interval == (10, 15)


def test_what_cannot_be_measured_is_absent_with_its_reason_and_never_zero(tmp_path: Path) -> None:
    lacking = measured(tmp_path, VALUES)["gpu.copy"]

    assert (lacking.median, lacking.interval, lacking.variation) == (None, None, None)
    assert lacking.why == "there is none"
    assert lacking.to_json()["value"] is None


def test_figures_come_in_the_order_of_the_offers(tmp_path: Path) -> None:
    assert list(measured(tmp_path, VALUES)) == ["disk.write", "core.python", "gpu.copy"]


def test_repetitions_are_interleaved_in_an_order_that_changes(tmp_path: Path) -> None:
    made = Made({name: [1.0] for name in "abcdef"})
    bench(tmp_path, (made,), limits=Limits(6, 1e9), means=means())
    rounds = ["".join(made.asked[at : at + 6]) for at in range(0, len(made.asked), 6)]

    assert all(sorted(each) == sorted("abcdef") for each in rounds)
    assert len(set(rounds)) > 2


def test_disturbed_repetitions_are_repeated_and_left_out(tmp_path: Path) -> None:
    busy = Others(lambda repetition: repetition in (2, 3))
    found = measured(tmp_path, {"disk.write": [float(number) for number in range(20)]}, others=busy)["disk.write"]

    assert (len(found.values), found.disturbed, found.quiet) == (6, 2, True)


def test_a_machine_that_is_never_quiet_is_told_of_and_not_waited_for(tmp_path: Path) -> None:
    found = measured(tmp_path, VALUES, others=Others(lambda repetition: True))["disk.write"]

    assert (len(found.values), found.disturbed, found.quiet) == (12, 12, False)


def test_a_bench_ends_at_its_limit_but_not_before_the_least_it_needs(tmp_path: Path) -> None:
    found = bench(tmp_path, groups(VALUES), limits=Limits(100, 0.0), means=means())

    assert {len(each.values) for each in found if each.values} == {LEAST_ROUNDS}


def test_a_probe_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    def broken(site: Site) -> Iterator[Probe | Lack]:
        def fail() -> float:
            raise OSError(28, "No space left on device")

        yield Probe("disk.write", "MiB/s", "more", 0.1, fail)

    found = bench(tmp_path, (broken, *groups({"core.python": [5.0]})), limits=Limits(5, 1e9), means=means())

    assert found[0].values == () and "No space left on device" in (found[0].why or "")
    assert found[1].median == 5.0


def test_a_group_that_cannot_prepare_its_probes_is_told_of_and_takes_no_other_with_it(tmp_path: Path) -> None:
    def broken(site: Site) -> Iterator[Probe | Lack]:
        yield Lack("gpu.copy", "GiB/s", "there is none")
        raise RunError("the disk is full")

    found = bench(tmp_path, (broken, *groups(VALUES)), limits=Limits(5, 1e9), means=means())

    assert [each.name for each in found[:2]] == ["gpu.copy", "broken"]
    assert found[1].why == "it could not be prepared: the disk is full"
    assert found[2].values


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    measured(tmp_path, VALUES)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError, match="choose another folder"):
        measured(tmp_path / "file", VALUES)


def test_progress_counts_rounds(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    bench(
        tmp_path,
        groups(VALUES),
        limits=Limits(5, 1e9),
        means=means(),
        progress=lambda done, all_: seen.append((done, all_)),
    )

    assert seen == [(done, 5) for done in range(6)]


@pytest.mark.parametrize(
    ("waited", "used", "expected"),
    [(0.0, 0.0, False), (0.01, 0.0, True), (0.0, 0.02, False), (0.0, 0.2, True)],
)
def test_both_signs_of_others_disturb(waited: float, used: float, expected: bool) -> None:
    assert disturbed(Taken(1, 1), Taken(1 + waited, 1 + used), 0.12, cores=2) is expected


def test_one_program_of_many_on_a_large_machine_disturbs_nobody() -> None:
    assert not disturbed(Taken(0, 0), Taken(0, 0.12), 0.12, cores=64)


def test_threads_that_take_turns_do_not_disturb_themselves(tmp_path: Path) -> None:
    waited = iter(range(1000))

    def turns(site: Site) -> Iterator[Probe | Lack]:
        for name, takes_turns in (("network.loopback", True), ("core.python", False)):
            yield Probe(name, "ms", "less", 0.1, lambda: 1.0, takes_turns=takes_turns)

    waiting = Means(Clock(step=0.001), lambda: Taken(float(next(waited)), 0.0), random.Random(0))
    found = bench(tmp_path, (turns,), limits=Limits(5, 1e9), means=waiting)

    assert [each.quiet for each in found] == [True, False]


def test_the_counts_of_others_are_read_here_and_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "schedstat").write_text("5 2000000000 7\n")
    (tmp_path / "2").mkdir()

    assert taken(tmp_path).waited == 2.0
    assert taken(tmp_path / "absent").waited == 0.0


@pytest.mark.parametrize(("number", "cut"), [(2, 0), (5, 0), (6, 0), (9, 1), (10, 1), (12, 2), (20, 5)])
def test_the_interval_of_a_median_is_that_of_the_tables(number: int, cut: int) -> None:
    # The ranks that tables of the sign test give for 95 %.
    assert outer_ranks(number) == cut


def test_a_figure_is_the_same_after_json() -> None:
    given = figure("disk.write", [1.0, 2.0, 4.0], how="O_DIRECT", disturbed=3)

    assert figure_from(given.to_json()) == given
    assert figure("disk.write", [7.0]).interval is None


def test_a_repetition_goes_on_until_it_is_long_enough_to_tell_who_disturbs(tmp_path: Path) -> None:
    counts: list[int] = []

    def pacing(site: Site) -> Iterator[Probe | Lack]:
        def measure() -> float:
            done: list[None] = []
            value = site.paced(lambda: done.append(None))
            counts.append(len(done))
            return value

        yield Probe("core.python", "s", "less", 0.1, measure)

    (found,) = bench(tmp_path, (pacing,), limits=Limits(5, 1e9), means=means(Clock(step=0.01)))

    assert set(counts) == {12}
    assert found.median is not None and found.median < 0.02
