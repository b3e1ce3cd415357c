"""What the loop asks of a learner; a Protocol, so that a learner owes the frame nothing but these methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from headway.data.dataset import Dataset
from headway.feed.batch import Batch
from headway.plan.values import Place, Position

Metrics = dict[str, float]
Part = dict[str, Any]


@runtime_checkable
class Learner(Protocol):
    """Takes a batch, gets better, can be saved and restored."""

    @property
    def parallel(self) -> Literal["merge", "lockstep", "single"]:
        """How several of these work on one run."""
        ...

    def step(self, batch: Batch) -> Metrics:
        """Learn one batch."""
        ...

    def save(self, folder: Path, position: Position) -> None:
        """Make state and position durable together."""
        ...

    def restore(self, folder: Path) -> Position | None:
        """Take up the state saved in a folder; None when there is none."""
        ...

    def finish(self) -> None:
        """Complete what learning leaves open; harmless when repeated."""
        ...

    def close(self) -> None:
        """Release what the learner holds; nothing unsaved survives."""
        ...

    def totals(self) -> dict[str, Any]:
        """Facts of the saved state, ready for JSON."""
        ...


@runtime_checkable
class MergeLearner(Learner, Protocol):
    """A learner whose parts, learned anywhere in any order, add up to one."""

    def flush(self) -> Part:
        """Make durable what was learned since the last flush; its description, named by no manifest yet."""
        ...

    def adopt(self, parts: Sequence[Part]) -> None:
        """Count flushed parts as learned here; durable with the next save."""
        ...


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a learner is made from."""

    section: Any
    dataset: Dataset
    folder: Path
    place: Place
    memory: int
