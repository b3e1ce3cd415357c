"""A Run is a directory and a life cycle: locked by one process, saved when due, stopped when asked."""

import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headway.durable import replace_json, write_errors
from headway.errors import HeadwayError, RunError
from headway.lock import Lock
from headway.plan.plan import Plan
from headway.plan.values import Position
from headway.run.facts import facts
from headway.run.folders import COPIES, DATASET, RESOLVED, create, read_note
from headway.run.stop import Stop


class Run:
    """A run folder that this process works on, from the lock to `close`."""

    def __init__(self, folder: Path, plan: Plan, *, stop: Stop, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.plan = plan
        self.stop = stop
        self.position: Position | None = None
        self.began_at = Position.START
        self.dead_end: Position | None = None
        self.beyond: Position | None = None
        self._next_plan: tuple[dict[str, Any], Path | None] | None = None
        self._clock = clock
        self._saved = clock()
        self._steps = 0
        self._begun = False
        self.steps_per_save = 1
        """At least so many between two saves: each waits for all workers, and one that has no batch waits in vain."""
        self._lock = claim(folder)

    def save_due(self) -> bool:
        """Whether the plan's time between saves has passed; asked once a step."""
        self._steps += 1
        self._begun = True
        return self._steps >= self.steps_per_save and self._clock() - self._saved >= self.plan.run.save_every

    def should_stop(self) -> bool:
        """Whether somebody asked for the end."""
        return self.stop.requested()

    @property
    def untouched(self) -> bool:
        """Whether nothing was learned: neither before nor now."""
        return self.position in (None, Position.START) and not self._begun

    def begin(self, position: Position) -> None:
        """Take up the work at `position`; a RunError where that cannot be, or the present plan cannot go on from it."""
        # Where a run begins, nothing was saved of it yet.
        if position == Position.START and (learned := facts(self.folder).documents):
            raise RunError(
                f"{self.folder} had learned {learned:,} documents, but what it learned is gone; "
                "restore it from a copy, or start a new run with --new"
            )
        if position == self.dead_end:
            raise RunError(
                f"{self.folder} ended inside a batch, at its limit of documents; with other limits it cannot be "
                "continued exactly. Restore run.documents and run.epochs, or start a new run with --new"
            )
        if self.beyond is not None and position >= self.beyond:
            raise RunError(
                f"{self.folder} has learned more documents than run.documents and run.epochs allow now; what is "
                "learned stays. Raise the limits to continue, or start a new run with --new"
            )
        if self._next_plan is not None:
            self._put_plan(*self._next_plan)
        self.began_at = position
        self.saved(position)

    def saved(self, position: Position | None) -> None:
        """Note that a save was made, and before which position everything is durable now, if that is known."""
        if position is not None:
            self.position = position
        self._saved = self._clock()
        self._steps = 0

    def close(self) -> None:
        """Let others have the folder; harmless when repeated."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def write_plan(self, resolved: dict[str, Any], source: Path | None) -> None:
        """Keep the plan as given and as understood; for a run that is continued, once it is known that it can be."""
        if (self.folder / RESOLVED).is_file():
            self._next_plan = (resolved, source)
        else:
            self._put_plan(resolved, source)

    def _put_plan(self, resolved: dict[str, Any], source: Path | None) -> None:
        with write_errors(self.folder, kept="nothing was started"):
            if source is not None and f"plan{source.suffix}" in COPIES:
                shutil.copyfile(source, self.folder / f"plan{source.suffix}")
            # Last, since a folder with a resolved plan is a run that can be continued.
            replace_json(self.folder / RESOLVED, resolved)

    def claim_dataset(self, key: str, folder: Path) -> None:
        """Tie the run to its dataset; continuing with another one is a RunError."""
        self.check_dataset(key)
        path = self.folder / DATASET
        if not path.is_file():
            with write_errors(path, kept="nothing was started"):
                replace_json(path, {"key": key, "folder": str(folder.absolute())})

    def check_dataset(self, key: str, *, changes: Callable[[Path], Sequence[str]] = lambda _: ()) -> None:
        """A RunError where this run has another dataset; `changes` tells what differs from the one in a folder."""
        path = self.folder / DATASET
        known = read_note(path, keys={"key"}) if path.is_file() else None
        if known is None or known["key"] == key:
            return
        told = "; ".join(changes(Path(known.get("folder", "")))) or "their content has changed"
        raise RunError(
            f"{self.folder} was trained on dataset {known['key']}, the sources now give {key}: {told}. "
            "Restore the files, or start a new run with --new"
        )


@contextmanager
def new_run(runs: Path, plan: Plan, *, stop: Stop) -> Generator[Run]:
    """A run in a new folder, which is removed again where an error comes before anything was learned."""
    folder = create(runs, plan.name)
    try:
        run = Run(folder, plan, stop=stop)
    except HeadwayError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    with run:
        try:
            yield run
        except HeadwayError:
            if run.untouched:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def claim(folder: Path) -> Lock:
    """The lock of a run folder; a RunError names who trains there."""
    return Lock(folder, doing="training", hint=", or start a separate run with --new")
