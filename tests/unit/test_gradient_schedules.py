"""Rates are pure functions of the step: torch's inside its range, constant past the end, exact at boundaries."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import SGD, Optimizer
from torch.optim.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    LinearLR,
    LRScheduler,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
)

from headway.errors import PlanError
from headway.learners.gradient.config import ScheduleSection
from headway.learners.gradient.schedules import CosineRestarts, Schedule, check, schedule

pytestmark = pytest.mark.filterwarnings("error")
BASE = 2e-3


def _optimizer(rate: float = BASE) -> Optimizer:
    return SGD([torch.zeros(1, requires_grad=True)], lr=rate)


def _rates_of_torch(make: Callable[[Optimizer], LRScheduler], steps: int) -> list[float]:
    optimizer = _optimizer()
    scheduler = make(optimizer)
    rates: list[float] = []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return rates


def _made(epochs: float = 40, steps_per_epoch: int = 1, base: float = BASE, **settings: Any) -> Schedule:
    return schedule(ScheduleSection(**settings), base=base, steps_per_epoch=steps_per_epoch, epochs=epochs)


def _rates(made: Schedule, steps: int) -> list[float]:
    return [made.rate(step) for step in range(steps)]


def _warmup_cosine(optimizer: Optimizer) -> LRScheduler:
    stages = [
        LinearLR(optimizer, start_factor=1e-8 / BASE, end_factor=1.0, total_iters=5),
        CosineAnnealingLR(optimizer, T_max=15, eta_min=1e-6),
        ConstantLR(optimizer, factor=1e-6 / BASE, total_iters=10**9),
    ]
    return SequentialLR(optimizer, stages, milestones=[5, 20])


# `SequentialLR` calls `step` with an epoch, which torch itself deprecates.
@pytest.mark.filterwarnings("ignore:The epoch parameter")
def test_warmup_and_cosine_are_torchs_three_stages_also_past_their_end() -> None:
    made = _made(kind="warmup_cosine", warmup=5, length=20)

    rates = _rates(made, 35)

    assert rates == pytest.approx(_rates_of_torch(_warmup_cosine, 35), rel=1e-9)
    assert rates[0] == 1e-8
    assert rates[5] == BASE
    assert set(rates[20:]) == {1e-6}


def test_torchs_cosine_alone_climbs_again_where_ours_stays() -> None:
    alone = _rates_of_torch(lambda optimizer: CosineAnnealingLR(optimizer, T_max=15, eta_min=1e-6), 26)
    made = _made(kind="warmup_cosine", warmup=0, length=15)

    assert _rates(made, 16) == pytest.approx(alone[:16], rel=1e-9)
    assert alone[25] == pytest.approx(0.75 * BASE, rel=1e-2)
    assert made.rate(25) == 1e-6


@pytest.mark.parametrize("power", [1.0, 2.5])
def test_a_polynomial_without_a_floor_is_torchs(power: float) -> None:
    made = _made(kind="polynomial", power=power, length=12, lowest=0)

    expected = _rates_of_torch(lambda optimizer: PolynomialLR(optimizer, total_iters=12, power=power), 20)

    assert _rates(made, 20) == pytest.approx(expected, rel=1e-9)


def test_a_polynomial_with_a_floor_ends_there_and_stays() -> None:
    made = _made(kind="polynomial", power=2, length=10, lowest=1e-4)
    share = 1e-4 / BASE

    expected = [BASE * (share + (1 - share) * (1 - min(step, 10) / 10) ** 2) for step in range(25)]

    assert _rates(made, 25) == pytest.approx(expected, rel=1e-12)
    assert set(_rates(made, 25)[10:]) == {1e-4}


@pytest.mark.parametrize("cycle", ["triangular", "triangular2", "exp_range"])
def test_cycles_are_torchs(cycle: Any) -> None:
    made = _made(kind="cyclical", half_cycle=4, cycle=cycle, gamma=0.97, highest=0.01)

    def oracle(optimizer: Optimizer) -> LRScheduler:
        return CyclicLR(optimizer, BASE, 0.01, step_size_up=4, mode=cycle, gamma=0.97, cycle_momentum=False)

    rates = _rates(made, 40)
    assert rates == pytest.approx(_rates_of_torch(oracle, 40), rel=1e-9)
    assert min(rates) >= BASE


def test_the_peak_of_a_cycle_is_ten_times_the_rate_unless_it_is_said() -> None:
    made = _made(kind="cyclical", half_cycle=4)

    assert made.rate(4) == pytest.approx(10 * BASE, rel=1e-15)
    assert made.rate(8) == made.rate(0) == BASE


def test_restarts_that_do_not_decay_are_torchs() -> None:
    made = _made(kind="cosine_restarts", first=3, stretch=2, decay=1, epochs=60)

    def oracle(optimizer: Optimizer) -> LRScheduler:
        return CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2, eta_min=1e-6)

    assert _rates(made, 60) == pytest.approx(_rates_of_torch(oracle, 60), abs=1e-18)


@pytest.mark.parametrize("stretch", [1, 2, 3])
def test_restarts_follow_the_formula(stretch: int) -> None:
    made = _made(kind="cosine_restarts", first=4, stretch=stretch, decay=0.8, epochs=200)
    expected: list[float] = []
    length, peak = 4, BASE
    while len(expected) < 150:
        expected += [1e-6 + (peak - 1e-6) * (1 + math.cos(math.pi * t / length)) / 2 for t in range(length)]
        length, peak = length * stretch, max(1e-6, peak * 0.8)

    assert _rates(made, 150) == pytest.approx(expected[:150], rel=1e-12)


@pytest.mark.parametrize("stretch", [2, 3, 5, 7, 10])
def test_every_restart_happens_exactly_at_its_step(stretch: int) -> None:
    """A logarithm is off at some of these: log 243 / log 3 is 4.999..."""
    shape = CosineRestarts(lowest=0.0, first=1, stretch=stretch, decay=0.5)
    start = 0
    # Beyond a million steps neighbours are the same number.
    for cycle in range(next(n for n in range(30) if stretch**n > 10**6)):
        assert shape.rate(start, 1.0) == 0.5**cycle, (stretch, cycle)
        if cycle >= 3:
            assert shape.rate(start + 1, 1.0) < 0.5**cycle
            assert shape.rate(start - 1, 1.0) < 0.5**cycle
        start += stretch**cycle


def test_a_peak_never_falls_below_the_lowest_rate() -> None:
    made = _made(kind="cosine_restarts", first=2, stretch=1, decay=0.1, lowest=1e-4, epochs=50)

    assert min(_rates(made, 50)) == 1e-4
    assert set(_rates(made, 50)[4:]) == {1e-4}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("constant", {}),
        ("warmup_cosine", {"warmup": 2}),
        ("polynomial", {}),
        ("cyclical", {"half_cycle": 3}),
        ("cosine_restarts", {"first": 3}),
    ],
)
def test_every_course_stays_where_the_run_ended(kind: Any, settings: dict[str, Any]) -> None:
    made = _made(kind=kind, epochs=10, steps_per_epoch=7, **settings)

    assert {made.rate(step) for step in range(70, 1000, 31)} == {made.rate(70)}


def test_a_length_ends_every_course_that_has_one() -> None:
    for kind in ("warmup_cosine", "polynomial", "cyclical", "cosine_restarts"):
        made = _made(kind=kind, warmup=1, length=8, first=3, half_cycle=3)

        assert {made.rate(step) for step in range(8, 30)} == {made.rate(8)}, kind


def test_lengths_are_epochs_and_parts_of_one() -> None:
    made = _made(kind="warmup_cosine", warmup=0.5, length=2, epochs=4, steps_per_epoch=10)

    assert made.rate(5) == BASE
    assert made.rate(4) < BASE
    assert made.rate(20) == 1e-6 < made.rate(19)


def test_a_constant_rate_is_constant_even_below_the_lowest() -> None:
    made = _made(kind="constant", base=1e-9)

    assert set(_rates(made, 50)) == {1e-9}


def test_evaluations_do_not_change_a_course_and_leave_nothing_to_remember() -> None:
    made = _made(kind="polynomial")
    before = _rates(made, 9)

    made.observe(0.1)
    made.load(made.state())

    assert made.state() == {}
    assert _rates(made, 9) == before


def test_a_resumed_run_has_the_rates_of_an_unbroken_one() -> None:
    whole = _made(kind="cosine_restarts", first=3)
    first, second = _made(kind="cosine_restarts", first=3), _made(kind="cosine_restarts", first=3)

    assert _rates(first, 13) + [second.rate(step) for step in range(13, 40)] == _rates(whole, 40)


METRICS = [0.1, 0.2, 0.3, 0.3, 0.29, 0.3, 0.31, 0.3, 0.3, 0.3, 0.3, 0.2, 0.2, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]


@pytest.mark.parametrize("cooldown", [0, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.6])
def test_a_plateau_is_torchs_on_the_smoothed_metric(cooldown: int, smoothing: float) -> None:
    made = _made(kind="plateau", patience=2, cooldown=cooldown, smoothing=smoothing, threshold=1e-2, lowest=1e-5)
    optimizer = _optimizer()
    oracle = ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=2, threshold=1e-2, cooldown=cooldown, min_lr=1e-5
    )
    smooth = METRICS[0]

    for metric in METRICS * 3:
        smooth = smoothing * smooth + (1 - smoothing) * metric
        oracle.step(smooth)
        made.observe(metric)
        assert made.rate(7) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
    assert made.rate(0) < BASE


def test_a_plateau_below_zero_takes_only_better_for_better() -> None:
    """torch compares with best * (1 + threshold), which below zero lies under the best."""
    made = _made(kind="plateau", patience=3, smoothing=0, threshold=0.1, factor=0.5)

    made.observe(-1.0)
    for _ in range(4):
        made.observe(-1.05)

    assert made.rate(0) == BASE / 2


def test_what_is_no_number_is_no_improvement_and_spoils_no_average() -> None:
    made = _made(kind="plateau", patience=1, smoothing=0.9)
    made.observe(0.5)
    smoothed = made.state()["smoothed"]

    made.observe(math.nan)
    made.observe(math.inf)

    assert made.state()["smoothed"] == smoothed
    assert made.rate(0) == BASE / 2


def test_a_plateau_goes_on_where_it_was() -> None:
    settings: dict[str, Any] = {"kind": "plateau", "patience": 2, "cooldown": 1, "smoothing": 0.6}
    whole, first = _made(**settings), _made(**settings)
    for metric in METRICS[:10]:
        whole.observe(metric)
        first.observe(metric)

    again = _made(**settings)
    again.load(first.state())

    for metric in METRICS[10:]:
        whole.observe(metric)
        again.observe(metric)
        assert again.rate(0) == whole.rate(0)
    assert again.state() == whole.state()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"kind": "warmup_cosine", "warmup": 5}, "warmup: 5 epochs leave nothing of a length of 3; shorten it"),
        ({"kind": "warmup_cosine", "warmup": 1, "start": 1.0}, "start: 1 is above the learning rate, 0.002; lower it"),
        ({"kind": "cyclical", "highest": 1e-3}, "highest: 0.001 is below the learning rate, 0.002; raise it"),
        ({"kind": "polynomial", "lowest": 0.1}, "lowest: 0.1 is above the learning rate, 0.002; lower it"),
        ({"kind": "plateau", "lowest": 0.1}, "lowest: 0.1 is above the learning rate, 0.002; lower it"),
    ],
)
def test_settings_that_do_not_fit_together_are_an_error(settings: dict[str, Any], problem: str) -> None:
    assert check(ScheduleSection(**settings), base=BASE, epochs=3) == [problem]
    with pytest.raises(PlanError, match="schedule: 1 problem"):
        _made(epochs=3, **settings)


def test_the_schedules_need_no_torch() -> None:
    program = "import sys, headway.learners.gradient.schedules; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
