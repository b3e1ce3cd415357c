"""The bottleneck by thresholds: the rule that users of the seeds know, one table of scores, no probability.

A score says how near a figure is to its threshold, 1 is there. It is not a confidence: nobody calibrated it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

MODE = "threshold"
THRESHOLDS: Mapping[str, tuple[str, float]] = {
    "cpu": ("mean % of a core that the processes used", 80.0),
    "memory": ("mean % of the system's memory in use", 75.0),
    "disk_io": ("mean MiB per second that the processes wrote", 50.0),
    "network": ("mean milliseconds that a service took to answer", 100.0),
}
# Below half of every threshold nothing is near its limit.
_LEAST_SCORE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is nearest to its threshold, and all that were compared."""

    primary: str
    """A name of THRESHOLDS, `none` (nothing is near one) or `unknown` (nothing was measured)."""
    score: float
    scores: Mapping[str, float]
    others: tuple[str, ...]
    """Further ones that reached their threshold."""
    kind: Literal["score"] = "score"
    mode: str = MODE


def by_thresholds(figures: Mapping[str, float | None]) -> Verdict:
    """Compare figures, in the units of THRESHOLDS; what was not measured has no score."""
    scores = {
        name: min(1.0, max(0.0, value) / THRESHOLDS[name][1]) for name, value in figures.items() if value is not None
    }
    if not scores:
        return Verdict(primary="unknown", score=0.0, scores={}, others=())
    primary = max(scores, key=lambda name: scores[name])
    if scores[primary] < _LEAST_SCORE:
        return Verdict(primary="none", score=scores[primary], scores=scores, others=())
    others = tuple(name for name, score in scores.items() if score >= 1.0 and name != primary)
    return Verdict(primary=primary, score=scores[primary], scores=scores, others=others)
