"""Small values that travel through every part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


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
