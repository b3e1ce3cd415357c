"""What a pool, its fork server and its workers say to each other, over sockets that nobody else can open."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.learners.base import Learner, Metrics, Part, Setup
from headway.plan.values import Position

Wire = Connection


@dataclass(frozen=True, slots=True)
class Prepare:
    """What the server loads before it knows the job; `prepare` is a function of an importable module.

    It is called with the section, and again with the section and the type of the tokens when the job is known.
    """

    prepare: Callable[..., None] | None
    section: Any


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of a pool does; `make` is a function of an importable module."""

    make: Callable[[Setup], Learner]
    section: Any
    feed: dict[str, Any]
    folder: Path
    workers: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The server has forked: process ids by worker."""

    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """The server is asked how a worker ended."""

    pid: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker ended: an exit code, or a negative signal number."""

    code: int | None


@dataclass(frozen=True, slots=True)
class Begin:
    """A worker may start, holding at most so many bytes."""

    memory: int


@dataclass(frozen=True, slots=True)
class Learn:
    """A worker learns the batch at a position."""

    position: Position


@dataclass(frozen=True, slots=True)
class Learned:
    """A batch was learned."""

    metrics: Metrics
    seconds: Mapping[str, float]
    """What took how long: the worker's wait for the batch, reading it, the step."""


@dataclass(frozen=True, slots=True)
class Flush:
    """A worker makes durable what it learned."""


@dataclass(frozen=True, slots=True)
class Flushed:
    """What a worker made durable."""

    part: Part
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Refused:
    """A HeadwayError met in another process, taken apart since not every one of them can be pickled whole."""

    kind: type[HeadwayError]
    message: str
    state: dict[str, Any]

    @classmethod
    def of(cls, error: HeadwayError) -> "Refused":
        """The error, ready to travel."""
        return cls(type(error), str(error), dict(error.__dict__))

    def error(self) -> HeadwayError:
        """The same error here: its type, message and attributes."""
        error = self.kind.__new__(self.kind)
        error.args = (self.message,)
        error.__dict__.update(self.state)
        return error


@dataclass(frozen=True, slots=True)
class Broken:
    """A bug met in another process."""

    traceback: str
