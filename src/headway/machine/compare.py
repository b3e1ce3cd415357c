"""Whether two results of the bench differ: yes, no, or not to be told.

A figure is different when the interval of its ratio lies beyond the smallest difference worth telling. The interval is
that of the shift between two samples by ranks (Hodges and Lehmann), which no outlier moves; its confidence is divided
among the figures, so that 95 of 100 comparisons of a machine with itself find nothing at all.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist, median
from typing import Any, Literal

from headway.machine.figure import Figure, paired_ratios

Verdict = Literal["different", "not different", "unclear"]
_WEIGHT: tuple[Verdict, ...] = ("different", "not different", "unclear")
_FALSE_ALARMS = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of two results."""

    name: str
    unit: str
    ratio: float | None
    """The second over the first, where both were measured."""
    low: float | None
    high: float | None
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results, figure by figure; different when one figure is, unclear when none could be told."""

    verdict: Verdict
    differences: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def compare(first: Sequence[Figure], second: Sequence[Figure]) -> Comparison:
    """What differs from the first result to the second."""
    theirs = {figure.name: figure for figure in second}
    names = {figure.name for figure in first}
    both = sum(bool(figure.values and theirs[figure.name].values) for figure in first if figure.name in theirs)
    alpha = _FALSE_ALARMS / max(1, both)
    found = [_difference(figure, theirs.get(figure.name), alpha) for figure in first]
    found += [_only(figure, "the second") for figure in second if figure.name not in names]
    return Comparison(_weightiest(found), tuple(found))


def _weightiest(found: Sequence[Difference]) -> Verdict:
    verdicts = {difference.verdict for difference in found}
    for verdict in _WEIGHT:
        if verdict in verdicts:
            return verdict
    return "unclear"


def _only(figure: Figure, which: str) -> Difference:
    return Difference(figure.name, figure.unit, None, None, None, "unclear", f"only {which} result has it")


def _difference(first: Figure, second: Figure | None, alpha: float) -> Difference:
    if second is None:
        return _only(first, "the first")
    lacking = next((each for each in (first, second) if not each.values), None)
    if lacking is not None:
        return Difference(
            first.name, first.unit, None, None, None, "unclear", lacking.why or "one result did not measure it"
        )
    ratios = paired_ratios(second.values, first.values)
    ratio = math.exp(median(ratios))
    cut = _cut(len(first.values), len(second.values), alpha)
    if cut is None:
        return Difference(first.name, first.unit, ratio, None, None, "unclear", "too few repetitions to tell")
    low, high = math.exp(ratios[cut]), math.exp(ratios[-1 - cut])
    verdict, why = _verdict(low, high, max(first.margin or 0.0, second.margin or 0.0))
    if verdict == "different" and not (first.quiet and second.quiet):
        return Difference(first.name, first.unit, ratio, low, high, "unclear", "others kept the machine busy")
    return Difference(first.name, first.unit, ratio, low, high, verdict, why)


def _verdict(low: float, high: float, margin: float) -> tuple[Verdict, str]:
    # The same both ways round: a quarter more is the way back from a fifth less.
    if low > 1 + margin or high < 1 / (1 + margin):
        return "different", f"by more than {margin:.0%}"
    inside = 1 / (1 + margin) <= low and high <= 1 + margin
    return "not different", f"alike within {margin:.0%}" if inside else f"not shown to differ by more than {margin:.0%}"


def _cut(ours: int, theirs: int, alpha: float) -> int | None:
    """How many pairs at each end lie outside the interval, by the normal form of Wilcoxon's statistic; None of few."""
    # Of so few no order is rare enough, and the normal form does not know it.
    if 2 / math.comb(ours + theirs, ours) > alpha:
        return None
    spread = math.sqrt(ours * theirs * (ours + theirs + 1) / 12)
    cut = math.floor(ours * theirs / 2 - NormalDist().inv_cdf(1 - alpha / 2) * spread)
    return cut if cut >= 0 else None
