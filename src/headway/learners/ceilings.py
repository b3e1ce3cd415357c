"""What only learners know how to measure of a machine: a memory's pace, a GPU's.

Their modules are loaded when they are asked, as the registry loads learners.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

_MODULES = ("headway.learners.patterns.ceilings", "headway.learners.gradient.ceilings")


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A figure of the machine; without `measure` it cannot be had here, and `how` says why."""

    name: str
    unit: str
    better: Literal["more", "less"]
    margin: float
    """The smallest difference worth telling, as a share."""
    measure: Callable[[], float] | None
    how: str


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where ceilings are measured: a folder that is cleared afterwards, and who keeps the time."""

    folder: Path
    paced: Callable[[Callable[[], object]], float]
    """Seconds that something takes on average, done a few times over."""
    stack: ExitStack
    """Closes what was opened."""


def ceilings(workshop: Workshop) -> Iterator[Ceiling]:
    """All that any learner offers."""
    for module in _MODULES:
        yield from import_module(module).ceilings(workshop)
