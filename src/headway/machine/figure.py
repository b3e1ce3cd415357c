"""A measured figure: every repetition, its median and how sure that is; or why there is none."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.machine.probe import Better

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured of one thing; without values `why` says what kept it from being measured."""

    name: str
    unit: str
    better: Better | None = None
    margin: float | None = None
    how: str = ""
    values: tuple[float, ...] = ()
    """Undisturbed repetitions in the order they were made; all of them where too few were undisturbed."""
    disturbed: int = 0
    """How many repetitions others took time from."""
    quiet: bool = True
    """Whether the values are undisturbed ones only."""
    why: str | None = None

    @property
    def median(self) -> float | None:
        """The middle of the values; None when nothing was measured."""
        return statistics.median(self.values) if self.values else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the median lies with 95 % confidence, whatever the distribution; the range of fewer than six values."""
        if len(self.values) < 2:
            return None
        ordered = sorted(self.values)
        cut = outer_ranks(len(ordered))
        return ordered[cut], ordered[-1 - cut]

    @property
    def variation(self) -> float | None:
        """Coefficient of variation; None of fewer than two values."""
        if len(self.values) < 2:
            return None
        return statistics.stdev(self.values) / statistics.mean(self.values)

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON: what was measured and what follows from it."""
        interval = self.interval
        return {
            "name": self.name,
            "unit": self.unit,
            "value": self.median,
            "low": interval and interval[0],
            "high": interval and interval[1],
            "variation": self.variation,
            "better": self.better,
            "margin": self.margin,
            "how": self.how,
            "values": list(self.values),
            "disturbed": self.disturbed,
            "quiet": self.quiet,
            "why": self.why,
        }


def figure_from(known: dict[str, Any]) -> Figure:
    """A figure as it was written."""
    return Figure(
        name=known["name"],
        unit=known["unit"],
        better=known["better"],
        margin=known["margin"],
        how=known["how"],
        values=tuple(known["values"]),
        disturbed=known["disturbed"],
        quiet=known["quiet"],
        why=known["why"],
    )


def outer_ranks(number: int, confidence: float = _CONFIDENCE) -> int:
    """How many values at each end lie outside the median's interval; 0 of few, whose range is then the interval."""
    below = 0.0
    for rank in range(number // 2):
        below += math.comb(number, rank) / 2**number
        if 2 * below > 1 - confidence:
            return max(0, rank - 1)
    return 0


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """ln(ours / theirs) of every pair of repetitions, ordered."""
    return sorted(math.log(a / b) for a in ours for b in theirs)
