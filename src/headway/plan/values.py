"""Small values that travel through every part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, NamedTuple


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """How far a run is: epochs finished, and batches finished in the current one."""

    epoch: int
    batch: int
    START: ClassVar[Position]


Position.START = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a learner works: its rank among `world` equals, and the device."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"


class Mean(NamedTuple):
    """A figure that adds up as a total and a weight, and is read as one over the other."""

    total: float
    weight: float

    @property
    def value(self) -> float:
        """The mean itself; of nothing, it is no number."""
        return self.total / self.weight if self.weight else float("nan")


Metrics = dict[str, float | Mean]
"""What learning a batch gave: counts and means, by names of the learner's own."""


def finite(metrics: Mapping[str, float | Mean]) -> Metrics:
    """The figures that are numbers: what was not measured, or has no value, is left out."""
    return {
        name: value
        for name, value in metrics.items()
        if all(map(isfinite, value if isinstance(value, Mean) else (value,)))
    }


def add_metrics(sums: Metrics, more: Mapping[str, float | Mean]) -> None:
    """Add figures to `sums`, name by name."""
    for name, value in more.items():
        known = sums.get(name)
        if isinstance(value, Mean):
            total, weight = known if isinstance(known, Mean) else (0.0, 0.0)
            sums[name] = Mean(total + value.total, weight + value.weight)
        else:
            sums[name] = value + (known if isinstance(known, float | int) else 0)
