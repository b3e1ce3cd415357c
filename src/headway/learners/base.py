"""What the loop asks of a learner; a Protocol, so that a learner owes the frame nothing but these methods."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from headway.data.dataset import Dataset
from headway.feed.batch import Batch
from headway.plan.plan import Parallel, RunSection
from headway.plan.values import Metrics, Place, Position

__all__ = ["Evaluator", "Learner", "MergeLearner", "Metrics", "Part", "Setup"]

Part = dict[str, Any]


@runtime_checkable
class Learner(Protocol):
    """Takes a batch, gets better, can be saved and restored."""

    @property
    def parallel(self) -> Parallel:
        """How several of these work on one run."""
        ...

    def step(self, batch: Batch) -> Metrics:
        """Learn one batch."""
        ...

    def save(self, folder: Path, position: Position) -> Position | None:
        """Take state and position as they are now; they become durable together. The position that is durable now."""
        ...

    def settle(self) -> None:
        """Wait until everything that was saved is durable, or raise what keeps it from being so."""
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
class Evaluator(Protocol):
    """A learner that can tell how good it is; asked at the end of every epoch, the last one cut short included."""

    @property
    def enough(self) -> bool:
        """Whether learning more would be in vain; part of the saved state."""
        ...

    def evaluate(self, position: Position) -> Metrics | None:
        """How good it is at `position`; None when this is not the time to look."""
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


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def _keep_to_itself(text: str) -> None:
    del text


@dataclass(frozen=True, slots=True)
class Setup:
    """All that a learner is made from."""

    section: Any
    dataset: Dataset
    folder: Path
    place: Place
    memory: int
    warn: Callable[[str], None] = _warn
    """Where a learner says what the user should look at, though it goes on."""
    note: Callable[[str], None] = _keep_to_itself
    """Where a learner says what it did beside learning."""
    run: RunSection = field(default_factory=RunSection)
    """How long the run is, and what its random choices are derived from."""
    home: Path = Path()
    """Where relative paths of the plan start."""
