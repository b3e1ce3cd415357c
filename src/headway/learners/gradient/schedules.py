"""Learning rates as pure functions of the step, so that a resumed run has the rate of an unbroken one for free.

Nothing counts along and nothing has to be restored: who knows the step knows the rate, and sets it in the optimizer's
groups. torch's own schedulers keep a counter and multiply the rate that is already there, step after step; inside
their range they give the same rates, past their end some climb again, where these stay. Only `plateau` depends on
more than the step, on evaluations; what it makes of them is its `state`.

No torch here: a plan can be checked, and a curve drawn, without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, cast

from headway.errors import PlanError
from headway.learners.gradient.config import ScheduleSection

Shape = Literal["triangular", "triangular2", "exp_range"]
_PEAK = 10.0


class Schedule(Protocol):
    """The rate of every step, and how evaluations change it."""

    def rate(self, step: int) -> float:
        """The rate of a step; the first is 0."""
        ...

    def observe(self, metric: float) -> None:
        """Take note of an evaluation; greater is better."""
        ...

    def state(self) -> dict[str, Any]:
        """What evaluations have done so far, ready for JSON."""
        ...

    def load(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        ...


@dataclass(frozen=True, slots=True)
class Course:
    """A schedule that nothing but the step decides."""

    _rate: Callable[[int], float]

    def rate(self, step: int) -> float:
        """The rate of a step; the first is 0."""
        return self._rate(step)

    def observe(self, metric: float) -> None:
        """Evaluations do not change it."""

    def state(self) -> dict[str, Any]:
        """Nothing has to be remembered."""
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """Nothing was remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupCosine:
    """From `start` to `base` in a straight line, then down to `lowest` along half a cosine, then constant."""

    start: float
    lowest: float
    warmup: int
    end: int

    def rate(self, step: int, base: float) -> float:
        """The rate of a step."""
        if step < self.warmup:
            return self.start + (base - self.start) * step / self.warmup
        done = min(step, self.end) - self.warmup
        return _cosine(base, self.lowest, done / (self.end - self.warmup))


@dataclass(frozen=True, slots=True, kw_only=True)
class Polynomial:
    """From `base` to `lowest` along a power of what is left, then constant."""

    lowest: float
    power: float
    end: int

    def rate(self, step: int, base: float) -> float:
        """The rate of a step."""
        return self.lowest + (base - self.lowest) * (1 - min(step, self.end) / self.end) ** self.power


@dataclass(frozen=True, slots=True, kw_only=True)
class Cyclical:
    """Up to `highest` and back to `base` in straight lines, again and again."""

    highest: float
    half: int
    shape: Shape
    gamma: float

    def rate(self, step: int, base: float) -> float:
        """The rate of a step."""
        cycle, inside = divmod(step, 2 * self.half)
        height = (inside if inside <= self.half else 2 * self.half - inside) / self.half
        match self.shape:
            case "triangular":
                scale = 1.0
            case "triangular2":
                scale = 0.5**cycle
            case "exp_range":
                scale = self.gamma**step
        return base + (self.highest - base) * height * scale


@dataclass(frozen=True, slots=True, kw_only=True)
class CosineRestarts:
    """Half a cosine from a peak to `lowest`, then the next one: `stretch` times as long, `decay` times as high."""

    lowest: float
    first: int
    stretch: int
    decay: float

    def rate(self, step: int, base: float) -> float:
        """The rate of a step."""
        cycle, length, inside = 0, self.first, step
        if self.stretch == 1:
            cycle, inside = divmod(step, length)
        # Subtracting whole cycles is exact; a logarithm misses boundaries (log 243 / log 3 is less than 5).
        while inside >= length:
            inside -= length
            length *= self.stretch
            cycle += 1
        peak = max(self.lowest, base * self.decay**cycle)
        return _cosine(peak, self.lowest, inside / length)


@dataclass(slots=True)
class _Seen:
    """What a Plateau makes of the evaluations."""

    factor: float = 1.0
    smoothed: float | None = None
    best: float | None = None
    bad: int = 0
    resting: int = 0


class Plateau:
    """Multiplies the rate by a factor whenever the smoothed metric has not grown for a while."""

    def __init__(self, section: ScheduleSection, *, base: float) -> None:
        self._section = section
        self._base = base
        self._seen = _Seen()

    def rate(self, step: int) -> float:  # noqa: ARG002 - the parameters all schedules have
        """The rate by the evaluations so far, whatever the step."""
        return max(self._base * self._seen.factor, self._section.lowest)

    def observe(self, metric: float) -> None:
        """Take note of an evaluation; greater is better, and what is no number is no improvement."""
        seen, section = self._seen, self._section
        if math.isfinite(metric):
            keep = section.smoothing
            known = seen.smoothed
            seen.smoothed = metric if known is None else keep * known + (1 - keep) * metric
        if math.isfinite(metric) and self._is_better():
            seen.best, seen.bad = seen.smoothed, 0
        else:
            seen.bad += 1
        if seen.resting:
            seen.resting -= 1
            seen.bad = 0
        if seen.bad > section.patience:
            seen.factor *= section.factor
            seen.bad, seen.resting = 0, section.cooldown

    def state(self) -> dict[str, Any]:
        """What the evaluations came to."""
        return asdict(self._seen)

    def load(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self._seen = _Seen(**state)

    def _is_better(self) -> bool:
        """By more than the threshold's share of the best; below zero too, where torch takes worse for better."""
        best = self._seen.best
        smoothed = cast(float, self._seen.smoothed)
        return best is None or smoothed > best + self._section.threshold * abs(best)


def schedule(section: ScheduleSection, *, base: float, steps_per_epoch: int, epochs: float) -> Schedule:
    """The schedule of a plan for a run of so many epochs; lengths are rounded to whole steps.

    A PlanError lists what does not fit together. Past its length, or the run's, every course stays where it ended.
    """
    if problems := check(section, base=base, epochs=epochs):
        raise PlanError("schedule", problems)
    if section.kind == "plateau":
        return Plateau(section, base=base)
    end = _steps(section.length or epochs, steps_per_epoch)
    course = _course(section, base, steps_per_epoch, end)
    return Course(lambda step: course(min(step, end)))


def check(section: ScheduleSection, *, base: float, epochs: float) -> list[str]:
    """What does not fit together in a schedule that starts from a rate of `base`, a line each."""
    kind = section.kind
    length = section.length or epochs
    problems: list[str] = []
    if kind != "constant" and base < section.lowest:
        problems.append(f"lowest: {section.lowest:g} is above the learning rate, {base:g}; lower it")
    if kind == "warmup_cosine" and section.warmup >= length:
        problems.append(f"warmup: {section.warmup:g} epochs leave nothing of a length of {length:g}; shorten it")
    if kind == "warmup_cosine" and section.start > base:
        problems.append(f"start: {section.start:g} is above the learning rate, {base:g}; lower it")
    if kind == "cyclical" and section.highest is not None and section.highest < base:
        problems.append(f"highest: {section.highest:g} is below the learning rate, {base:g}; raise it")
    return problems


def _course(section: ScheduleSection, base: float, per_epoch: int, end: int) -> Callable[[int], float]:
    match section.kind:
        case "warmup_cosine":
            # Rounding must leave a step to fall in.
            warmup = min(round(section.warmup * per_epoch), end - 1)
            shape = WarmupCosine(start=section.start, lowest=section.lowest, warmup=warmup, end=end)
        case "polynomial":
            shape = Polynomial(lowest=section.lowest, power=section.power, end=end)
        case "cyclical":
            highest = _PEAK * base if section.highest is None else section.highest
            half = _steps(section.half_cycle, per_epoch)
            shape = Cyclical(highest=highest, half=half, shape=section.cycle, gamma=section.gamma)
        case "cosine_restarts":
            first = _steps(section.first, per_epoch)
            shape = CosineRestarts(lowest=section.lowest, first=first, stretch=section.stretch, decay=section.decay)
        case _:
            return lambda _: base
    return lambda step: shape.rate(step, base)


def _steps(epochs: float, per_epoch: int) -> int:
    return max(1, round(epochs * per_epoch))


def _cosine(high: float, low: float, share: float) -> float:
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2
