"""How one figure grows with another, with an interval; and whether memory grows at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Literal

from headway.record.tick import Tick

Trend = Literal["stable", "growing", "declining", "unknown"]
_BAND = 0.1
_LEAST_TICKS = 11


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth per unit, by least squares, and where it lies with 95 % if deviations are independent of each other."""

    value: float
    low: float
    high: float


def slope(x: Sequence[float], y: Sequence[float]) -> Slope | None:
    """The slope of y over x; None with fewer than three different x."""
    if len({*x}) < 3:
        return None
    middle_x, middle_y = fmean(x), fmean(y)
    spread = sum((each - middle_x) ** 2 for each in x)
    value = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / spread
    left = sum((b - middle_y - value * (a - middle_x)) ** 2 for a, b in zip(x, y, strict=True))
    free = len(x) - 2
    margin = _quantile(free) * sqrt(left / free / spread)
    return Slope(value, value - margin, value + margin)


def memory_trend(ticks: Sequence[Tick]) -> Trend:
    """Memory in the second half of the time against the first; less than a tenth is no trend."""
    held = [(tick.time, tick.gauges["rss"]) for tick in ticks if "rss" in tick.gauges]
    if len(held) < _LEAST_TICKS:
        return "unknown"
    middle = (held[0][0] + held[-1][0]) / 2
    first = [size for time, size in held if time <= middle]
    second = [size for time, size in held if time > middle]
    if not first or not second or not (before := fmean(first)):
        return "unknown"
    change = fmean(second) / before - 1
    if abs(change) <= _BAND:
        return "stable"
    return "growing" if change > 0 else "declining"


def totals(ticks: Sequence[Tick], name: str) -> list[float]:
    """A sum counted from the beginning, at the end of every tick."""
    found = [0.0]
    for tick in ticks:
        found.append(found[-1] + tick.sums.get(name, 0))
    return found[1:]


def _quantile(free: int) -> float:
    """Student's t at 97.5 %; between the rows of the table, the one with fewer degrees of freedom."""
    known = ((1, 12.71), (2, 4.30), (3, 3.18), (4, 2.78), (5, 2.57), (7, 2.36), (10, 2.23), (20, 2.09), (50, 2.01))
    steps = pairwise((*known, (10**9, 1.98)))
    return next((value for (_, value), (next_free, _) in steps if free < next_free), 1.98)
