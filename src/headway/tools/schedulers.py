"""Learning-rate schedulers under the seeds' names: torch schedulers whose rate is a pure function of the epoch.

What differs from the seeds is what was wrong there: rates stay where they ended, `get_last_lr` exists, asking for the
rate changes nothing, and no rate is ever below `base_lr` or `eta_min`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsFloat, cast

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from headway.errors import PlanError
from headway.learners.gradient.schedules import CosineRestarts, Cyclical, Polynomial, Shape, WarmupCosine

_ALIASES = {
    "cosine_annealing_warm_restarts": "CosineAnnealingWarmRestartsWithDecay",
    "cosine_annealing": "CosineAnnealingWarmRestartsWithDecay",
    "cosine_restarts": "CosineAnnealingWarmRestartsWithDecay",
    "warmup_cosine": "WarmupCosineAnnealingLR",
    "polynomial": "PolynomialLR",
    "cyclical": "CyclicalLR",
    "adaptive": "AdaptiveLRScheduler",
    "plateau": "AdaptiveLRScheduler",
}


class _Closed(LRScheduler):
    """A scheduler whose rate is a function of the epoch and the rate that each group began with."""

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch, for a group that began with `base`."""
        raise NotImplementedError

    def get_lr(self) -> list[float | Tensor]:
        """The rates of the epoch that it is."""
        return [self.rate(self.last_epoch, float(base)) for base in self.base_lrs]


class CosineAnnealingWarmRestartsWithDecay(_Closed):
    """Half a cosine down to `eta_min`, again and again: `T_mult` times as long each time, from `decay` times as high.

    `decay_factor` is another name of `decay`.
    """

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        optimizer: Optimizer,
        T_0: int = 10,
        T_mult: int = 2,
        eta_min: float = 1e-6,
        decay: float = 0.95,
        last_epoch: int = -1,
        *,
        decay_factor: float | None = None,
    ) -> None:
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.decay = decay if decay_factor is None else decay_factor
        _check(
            type(self).__name__,
            {
                f"T_0: should be 1 or more, not {T_0!r}": T_0 >= 1,
                f"T_mult: should be a whole number, 1 or more, not {T_mult!r}": T_mult >= 1 and T_mult == int(T_mult),
                f"decay: should be above 0 and at most 1, not {self.decay!r}": 0 < self.decay <= 1,
            },
        )
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch, for a group that began with `base`."""
        shape = CosineRestarts(lowest=self.eta_min, first=self.T_0, stretch=int(self.T_mult), decay=self.decay)
        return shape.rate(epoch, base)


class WarmupCosineAnnealingLR(_Closed):
    """In a straight line from `warmup_start_lr`, then down to `eta_min` along half a cosine; then it stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_epochs: int = 5,
        max_epochs: int = 100,
        warmup_start_lr: float = 1e-8,
        eta_min: float = 1e-6,
        last_epoch: int = -1,
    ) -> None:
        self.warmup_epochs, self.max_epochs = warmup_epochs, max_epochs
        self.warmup_start_lr, self.eta_min = warmup_start_lr, eta_min
        rule = f"max_epochs: should be above warmup_epochs ({warmup_epochs!r}), not {max_epochs!r}"
        _check(type(self).__name__, {rule: 0 <= warmup_epochs < max_epochs})
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch, for a group that began with `base`."""
        shape = WarmupCosine(
            start=self.warmup_start_lr, lowest=self.eta_min, warmup=self.warmup_epochs, end=self.max_epochs
        )
        return shape.rate(epoch, base)


class PolynomialLR(_Closed):
    """Down to `eta_min` along a power of what is left of `max_epochs`; then it stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        max_epochs: int = 100,
        power: float = 1.0,
        eta_min: float = 1e-6,
        last_epoch: int = -1,
    ) -> None:
        self.max_epochs, self.power, self.eta_min = max_epochs, power, eta_min
        _check(type(self).__name__, {f"max_epochs: should be 1 or more, not {max_epochs!r}": max_epochs >= 1})
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch, for a group that began with `base`."""
        return Polynomial(lowest=self.eta_min, power=self.power, end=self.max_epochs).rate(epoch, base)


class CyclicalLR(_Closed):
    """Between `base_lr` and `max_lr` in straight lines, `step_size` steps each way; momentum stays as it is.

    The rates that the optimizer had are replaced.
    """

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        optimizer: Optimizer,
        base_lr: float,
        max_lr: float,
        step_size: int,
        mode: Shape = "triangular",
        gamma: float = 0.99,
        last_epoch: int = -1,
    ) -> None:
        self.base_lr, self.max_lr, self.step_size = base_lr, max_lr, step_size
        self.mode: Shape = mode
        self.gamma = gamma
        _check(
            type(self).__name__,
            {
                f"step_size: should be 1 or more, not {step_size!r}": step_size >= 1,
                f"max_lr: should be at least base_lr ({base_lr!r}), not {max_lr!r}": max_lr >= base_lr,
                f"mode: there is 'triangular', 'triangular2' and 'exp_range', not {mode!r}": (
                    mode in ("triangular", "triangular2", "exp_range")
                ),
            },
        )
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:  # noqa: ARG002 - what a group began with plays no part
        """The rate of a step, the same for every group."""
        shape = Cyclical(highest=self.max_lr, half=self.step_size, shape=self.mode, gamma=self.gamma)
        return shape.rate(epoch, self.base_lr)


class AdaptiveLRScheduler(ReduceLROnPlateau):
    """torch's ReduceLROnPlateau on a moving average of the metric; the average is part of `state_dict`."""

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.5,
        patience: int = 10,
        threshold: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 1e-7,
        smoothing: float = 0.9,
    ) -> None:
        rule = f"smoothing: should be 0 or more and below 1, not {smoothing!r}"
        _check(type(self).__name__, {rule: 0 <= smoothing < 1})
        self.smoothing = smoothing
        self.smoothed: float | None = None
        super().__init__(
            optimizer,
            mode=mode,
            factor=factor,
            patience=patience,
            threshold=threshold,
            cooldown=cooldown,
            min_lr=min_lr,
        )

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a metric."""
        metric, keep = float(metrics), self.smoothing
        self.smoothed = metric if self.smoothed is None else keep * self.smoothed + (1 - keep) * metric
        super().step(self.smoothed, epoch)


_CLASSES: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        CosineAnnealingWarmRestartsWithDecay,
        WarmupCosineAnnealingLR,
        PolynomialLR,
        CyclicalLR,
        AdaptiveLRScheduler,
    )
}
_DEFAULTS: dict[str, dict[str, Any]] = {"CyclicalLR": {"base_lr": 1e-4, "max_lr": 1e-3, "step_size": 100}}


def create_scheduler(
    optimizer: Optimizer, scheduler_type: str, config: Mapping[str, Any] | None = None
) -> LRScheduler | ReduceLROnPlateau:
    """The scheduler of a name, with the settings in `config`; an unknown name or setting is a PlanError.

    Names are those of the classes, and `cosine_annealing_warm_restarts`, `warmup_cosine`, `polynomial`, `cyclical`,
    `adaptive`.
    """
    name = _ALIASES.get(scheduler_type, scheduler_type)
    if name not in _CLASSES:
        raise PlanError("scheduler", [_unknown("scheduler", scheduler_type, [*_ALIASES, *_CLASSES])])
    known = [each for each in inspect.signature(_CLASSES[name]).parameters if each != "optimizer"]
    given = {**_DEFAULTS.get(name, {}), **(config or {})}
    if problems := [_unknown("setting", each, known) for each in given if each not in known]:
        raise PlanError(name, problems)
    return cast(LRScheduler, _CLASSES[name](optimizer, **given))


def _unknown(what: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(sorted(known))}"
    return f"{name}: unknown {what}; {hint}"


def _check(where: str, rules: dict[str, bool]) -> None:
    """A PlanError with every problem whose rule is broken."""
    if problems := [problem for problem, is_kept in rules.items() if not is_kept]:
        raise PlanError(where, problems)
