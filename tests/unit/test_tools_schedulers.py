"""The seeds' schedulers are torch schedulers: stepped, asked and saved like any other."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, CyclicLR, LRScheduler, ReduceLROnPlateau

from headway.errors import PlanError
from headway.tools.schedulers import (
    AdaptiveLRScheduler,
    CosineAnnealingWarmRestartsWithDecay,
    CyclicalLR,
    PolynomialLR,
    WarmupCosineAnnealingLR,
    create_scheduler,
)

pytestmark = pytest.mark.filterwarnings("error")
BASE = 2e-3
CLOSED: list[Callable[[Optimizer], Any]] = [
    lambda optimizer: CosineAnnealingWarmRestartsWithDecay(optimizer, T_0=3),
    lambda optimizer: WarmupCosineAnnealingLR(optimizer, warmup_epochs=3, max_epochs=12),
    lambda optimizer: PolynomialLR(optimizer, max_epochs=12, power=2),
    lambda optimizer: CyclicalLR(optimizer, base_lr=1e-4, max_lr=1e-3, step_size=4, mode="exp_range"),
]


def _optimizer(rate: float = BASE) -> Optimizer:
    return SGD([torch.zeros(1, requires_grad=True)], lr=rate)


def _rates(optimizer: Optimizer, scheduler: Any, steps: int) -> list[float]:
    rates: list[float] = []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return rates


def _made(make: Callable[[Optimizer], Any], steps: int) -> list[float]:
    optimizer = _optimizer()
    return _rates(optimizer, make(optimizer), steps)


@pytest.mark.parametrize("make", CLOSED)
def test_each_is_a_scheduler_that_tells_the_rate_in_the_optimizer(make: Callable[[Optimizer], Any]) -> None:
    optimizer = _optimizer()
    scheduler = make(optimizer)

    for _ in range(20):
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]
    assert isinstance(scheduler, LRScheduler)


@pytest.mark.parametrize("make", CLOSED)
def test_each_goes_on_from_its_saved_state(make: Callable[[Optimizer], Any]) -> None:
    whole = _made(make, 30)
    optimizer = _optimizer()
    scheduler = make(optimizer)
    _rates(optimizer, scheduler, 11)

    other = _optimizer()
    again = make(other)
    again.load_state_dict(json.loads(json.dumps(scheduler.state_dict())))
    other.load_state_dict(optimizer.state_dict())

    assert _rates(other, again, 19) == whole[11:]


@pytest.mark.parametrize("make", CLOSED)
def test_asking_changes_nothing_and_groups_have_rates_of_their_own(make: Callable[[Optimizer], Any]) -> None:
    optimizer = SGD([{"params": [torch.zeros(1)], "lr": BASE}, {"params": [torch.zeros(1)], "lr": BASE / 2}])
    scheduler = make(optimizer)
    optimizer.step()
    scheduler.step()

    first = [scheduler.get_last_lr(), scheduler.get_lr()]
    again = [scheduler.get_last_lr(), scheduler.get_lr()]

    assert first == again
    assert first[0] == first[1] == [group["lr"] for group in optimizer.param_groups]


def test_the_defaults_are_those_of_the_seeds() -> None:
    restarts = CosineAnnealingWarmRestartsWithDecay(_optimizer())
    warmup = WarmupCosineAnnealingLR(_optimizer())
    polynomial = PolynomialLR(_optimizer())
    adaptive = AdaptiveLRScheduler(_optimizer())

    assert (restarts.T_0, restarts.T_mult, restarts.eta_min, restarts.decay) == (10, 2, 1e-6, 0.95)
    assert (warmup.warmup_epochs, warmup.max_epochs, warmup.warmup_start_lr, warmup.eta_min) == (5, 100, 1e-8, 1e-6)
    assert (polynomial.max_epochs, polynomial.power, polynomial.eta_min) == (100, 1, 1e-6)
    assert (adaptive.mode, adaptive.factor, adaptive.patience, adaptive.threshold) == ("min", 0.5, 10, 1e-4)
    assert (adaptive.cooldown, adaptive.min_lrs, adaptive.smoothing) == (0, [1e-7], 0.9)


def test_warm_up_and_polynomial_stay_where_they_ended() -> None:
    for make in CLOSED[1:3]:
        rates = _made(make, 30)

        assert set(rates[12:]) == {1e-6}
        assert rates[11] > 1e-6


def test_warm_up_takes_effect() -> None:
    rates = _made(CLOSED[1], 5)

    assert rates[0] == 1e-8
    assert rates[:4] == sorted(rates[:4])
    assert rates[3] == BASE


def test_restarts_without_decay_are_torchs_and_with_it_each_peak_is_lower() -> None:
    plain = _made(lambda optimizer: CosineAnnealingWarmRestartsWithDecay(optimizer, T_0=3, decay=1), 30)
    torchs = _made(lambda optimizer: CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2, eta_min=1e-6), 30)
    decayed = _made(lambda optimizer: CosineAnnealingWarmRestartsWithDecay(optimizer, T_0=3, decay_factor=0.5), 30)

    assert plain == pytest.approx(torchs, abs=1e-18)
    assert [decayed[step] for step in (0, 3, 9, 21)] == [BASE, BASE / 2, BASE / 4, BASE / 8]


@pytest.mark.parametrize("mode", ["triangular", "triangular2", "exp_range"])
def test_cycles_are_torchs_and_leave_momentum_alone(mode: Any) -> None:
    optimizer = AdamW([torch.zeros(1, requires_grad=True)], lr=BASE, betas=(0.9, 0.95))
    rates = _rates(optimizer, CyclicalLR(optimizer, 1e-4, 1e-3, 4, mode), 20)

    def oracle(other: Optimizer) -> LRScheduler:
        return CyclicLR(other, 1e-4, 1e-3, step_size_up=4, mode=mode, gamma=0.99, cycle_momentum=False)

    assert rates == pytest.approx(_made(oracle, 20), rel=1e-9)
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.95)
    assert min(rates) == 1e-4


@pytest.mark.parametrize("mode", ["min", "max"])
def test_the_adaptive_one_is_torchs_on_an_average_that_is_saved(mode: Any) -> None:
    metrics = [3.0, 2.0, 2.0, 2.1, 2.0, 2.2, 2.0, 2.0, 2.3, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0]
    optimizer, plain = _optimizer(), _optimizer()
    scheduler = AdaptiveLRScheduler(optimizer, mode, patience=1, smoothing=0.5)
    oracle = ReduceLROnPlateau(plain, mode, factor=0.5, patience=1, min_lr=1e-7)
    average = metrics[0]

    for number, metric in enumerate(metrics):
        average = 0.5 * average + 0.5 * metric
        oracle.step(average)
        scheduler.step(metric)
        if number == 7:
            again = AdaptiveLRScheduler(optimizer, mode, patience=9)
            again.load_state_dict(scheduler.state_dict())
            scheduler = again
        assert optimizer.param_groups[0]["lr"] == plain.param_groups[0]["lr"]
    assert plain.param_groups[0]["lr"] < BASE


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cosine_annealing_warm_restarts", CosineAnnealingWarmRestartsWithDecay),
        ("cosine_annealing", CosineAnnealingWarmRestartsWithDecay),
        ("warmup_cosine", WarmupCosineAnnealingLR),
        ("polynomial", PolynomialLR),
        ("cyclical", CyclicalLR),
        ("adaptive", AdaptiveLRScheduler),
        ("PolynomialLR", PolynomialLR),
    ],
)
def test_schedulers_are_made_by_name(name: str, kind: type) -> None:
    assert type(create_scheduler(_optimizer(), name)) is kind


def test_settings_reach_the_scheduler() -> None:
    scheduler = create_scheduler(_optimizer(), "cyclical", {"max_lr": 0.5, "step_size": 7})

    assert isinstance(scheduler, CyclicalLR)
    assert (scheduler.base_lr, scheduler.max_lr, scheduler.step_size) == (1e-4, 0.5, 7)


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("warmup_cosin", {}, "warmup_cosin: unknown scheduler; did you mean warmup_cosine?"),
        ("xyz", {}, "xyz: unknown scheduler; there is AdaptiveLRScheduler, CosineAnnealing"),
        ("polynomial", {"max_epoch": 3}, "max_epoch: unknown setting; did you mean max_epochs?"),
    ],
)
def test_an_unknown_name_or_setting_is_an_error_that_names_the_nearest(
    name: str, config: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PlanError) as found:
        create_scheduler(_optimizer(), name, config)

    assert problem in str(found.value)


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("cosine_restarts", {"T_0": 0}, "T_0: should be 1 or more, not 0"),
        ("cosine_restarts", {"T_mult": 1.5}, "T_mult: should be a whole number"),
        ("cosine_restarts", {"decay": 0}, "decay: should be above 0"),
        ("warmup_cosine", {"max_epochs": 5}, "max_epochs: should be above warmup_epochs (5), not 5"),
        ("polynomial", {"max_epochs": 0}, "max_epochs: should be 1 or more"),
        ("cyclical", {"mode": "square"}, "mode: there is 'triangular'"),
        ("cyclical", {"max_lr": 1e-9}, "max_lr: should be at least base_lr"),
        ("cyclical", {"step_size": 0}, "step_size: should be 1 or more"),
        ("adaptive", {"smoothing": 1.0}, "smoothing: should be 0 or more and below 1"),
    ],
)
def test_settings_that_make_no_sense_are_an_error(name: str, config: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanError) as found:
        create_scheduler(_optimizer(), name, config)

    assert problem in str(found.value)
