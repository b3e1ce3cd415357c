"""A Run is a directory and a life cycle: locked by one process, saved when due, stopped when asked."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headway.durable import replace_json, write_errors
from headway.errors import RunError
from headway.lock import Lock
from headway.plan.plan import Plan
from headway.plan.values import Position
from headway.run.folders import COPIES, DATASET, RESOLVED, read_note
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
        self._lock = claim(folder)

    def save_due(self) -> bool:
        """Whether the plan's time between saves has passed."""
        return self._clock() - self._saved >= self.plan.run.save_every

    def should_stop(self) -> bool:
        """Whether somebody asked for the end."""
        return self.stop.requested()

    def begin(self, position: Position) -> None:
        """Take up the work at `position`; a RunError where the present plan cannot go on from it."""
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

    def saved(self, position: Position) -> None:
        """Note that everything before `position` is durable."""
        self.position = position
        self._saved = self._clock()

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
        path = self.folder / DATASET
        known = read_note(path, keys={"key"}) if path.is_file() else None
        if known is None:
            with write_errors(path, kept="nothing was started"):
                replace_json(path, {"key": key, "folder": str(folder.absolute())})
        elif known["key"] != key:
            raise RunError(
                f"{self.folder} was trained on dataset {known['key']}, the sources now give {key}: "
                "their content has changed. Restore the files, or start a new run with --new"
            )


def claim(folder: Path) -> Lock:
    """The lock of a run folder; a RunError names who trains there."""
    return Lock(folder, doing="training", hint=", or start a separate run with --new")
