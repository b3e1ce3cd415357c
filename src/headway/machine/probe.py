"""What the bench measures by: a name, a unit, and a function that does it once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Better = Literal["more", "less"]

REPETITION = 0.12
"""Seconds; below, the kernel's clock ticks too seldom to tell what others computed meanwhile."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that can be measured again and again."""

    name: str
    unit: str
    better: Better
    margin: float
    """The smallest difference worth telling, as a share: below it machines count as alike."""
    measure: Callable[[], float]
    """Measure once; an OSError or HeadwayError ends this probe, not the bench."""
    how: str = ""
    """What a reader has to know of the way it is measured."""
    takes_turns: bool = False
    """Whether its own threads wait for each other's core, so that their waiting tells nothing of others."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What cannot be measured here, and why."""

    name: str
    unit: str
    why: str


@dataclass(frozen=True, slots=True)
class Site:
    """Where probes work: a folder of their own on the disk that will be used, cleared at the end."""

    folder: Path
    cores: int
    """How many cores may be kept busy."""
    memory: int
    """Bytes that may be taken."""
    clock: Callable[[], float]
    stack: ExitStack
    """Closes what probes have opened."""

    def timed(self, act: Callable[[], object]) -> float:
        """How many seconds something takes; never 0, which no clock can tell from nothing."""
        began = self.clock()
        act()
        return max(self.clock() - began, 1e-9)

    def paced(self, act: Callable[[], object]) -> float:
        """How many seconds something takes on average, done again until that is long enough to see who disturbs."""
        began, count = self.clock(), 0
        while count == 0 or self.clock() - began < REPETITION:
            act()
            count += 1
        return max(self.clock() - began, 1e-9) / count


class Group(Protocol):
    """Opens what its probes need, and names them."""

    @property
    def __name__(self) -> str:
        """What is said of a group that cannot do so."""
        ...

    def __call__(self, site: Site, /) -> Iterator[Probe | Lack]:
        """The probes, and what cannot be measured here."""
        ...
