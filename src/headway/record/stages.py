"""How long the stages of a run took: how often, in all, and at which percentiles.

Durations are counted by size, four sizes to each doubling, so that those of all sessions add up; a percentile is
exact to a tenth of itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import log2
from typing import Any

_PER_DOUBLING = 4
# Shorter ones are of one size: no clock tells them apart.
_LEAST_SECONDS = 1e-7


@dataclass(slots=True)
class Durations:
    """Those of one stage."""

    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    sizes: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, seconds: float) -> None:
        """One more."""
        self.count += 1
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        size = int(_PER_DOUBLING * log2(max(seconds, _LEAST_SECONDS)) // 1)
        self.sizes[size] = self.sizes.get(size, 0) + 1

    def add_json(self, values: Mapping[str, Any]) -> None:
        """Those that `to_json` told; records from before sizes were counted have none."""
        self.count += values["count"]
        self.seconds += values["seconds"]
        self.longest = max(self.longest, values["max"])
        for size, count in values.get("sizes", {}).items():
            self.sizes[int(size)] = self.sizes.get(int(size), 0) + count

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        sizes = {str(size): self.sizes[size] for size in sorted(self.sizes)}
        return {"count": self.count, "seconds": self.seconds, "max": self.longest, "sizes": sizes}

    def percentile(self, share: float) -> float | None:
        """The seconds that this share of them did not exceed; None where sizes were not counted."""
        counted = sum(self.sizes.values())
        if counted <= 1:
            return self.longest if counted else None
        left = share * counted
        for size in sorted(self.sizes):
            left -= self.sizes[size]
            if left <= 0:
                return min(self.longest, 2 ** ((size + 0.5) / _PER_DOUBLING))
        return self.longest


def add_spans(stages: dict[str, Durations], spans: Mapping[str, Mapping[str, Any]]) -> None:
    """Add what a `spans` event tells."""
    for name, values in spans.items():
        stages.setdefault(name, Durations()).add_json(values)


def read_stages(events: Iterable[Mapping[str, Any]]) -> dict[str, Durations]:
    """The stages of a run, from its record."""
    stages: dict[str, Durations] = {}
    for event in events:
        if event["event"] == "spans":
            add_spans(stages, event["spans"])
    return stages
