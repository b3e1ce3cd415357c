"""All runs of a folder as they are now: from the index where it still holds, from the run folders where not.

The run folders are the truth. The index beside them saves reading their records again; missing, stale, damaged or of
another format, it is made anew, and where it cannot be written the runs are read all the same.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headway.errors import RunError
from headway.run.history import image, rows
from headway.run.history.rows import Brief, Row

if TYPE_CHECKING:
    from headway.run.facts import RunFacts

# A file that changed so recently may change again and look the same: clocks of file systems are coarse.
_SETTLED_NS = 2 * 10**9
_PASSING = ("running", "damaged")
_RECORD, _LOCK = b"/record.jsonl", b"/lock"

_Look = tuple[str, int, bool]
"""How the files of a run look from outside: a stamp, when they changed, and whether somebody may hold the run."""


class History:
    """The runs of a folder, as they were when it was opened."""

    def __init__(self, runs: Path, *, clock: Callable[[], int] = time.time_ns) -> None:
        self.runs = runs
        self._clock = clock
        self._connection = _opened(runs / image.NAME)
        self._refresh()

    @cached_property
    def briefs(self) -> list[Brief]:
        """What a list shows of all runs, by plan name and age."""
        return rows.briefs(self._connection)

    @cached_property
    def facts(self) -> list[RunFacts]:
        """Everything that is known of all runs, by plan name and age."""
        from headway.run.history.reading import unpacked

        return [unpacked(name, content, self.runs) for name, content in rows.packed(self._connection)]

    def alike(self, conditions: str) -> list[str]:
        """The finished runs made under some conditions (`conditions.digest`), by plan name and age."""
        return rows.alike(self._connection, conditions)

    def close(self) -> None:
        """Let go of the index; harmless when repeated."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _refresh(self) -> None:
        """Bring the index to what the folders say; write it where that has changed anything that lasts."""
        known, around = rows.stamps(self._connection), os.fsencode(self.runs)
        gone, changed = set(known), list[tuple[bytes, _Look | None]]()
        for name in _names(around):
            look = _look(around + b"/" + name)
            if look is None or known.get(name) != look[0] or (look[2] and _held(self.runs / os.fsdecode(name))):
                changed.append((name, look))
            else:
                gone.remove(name)
        read = [row for name, look in changed if (row := self._read(name, look))]
        gone.difference_update(row[0] for row in read)
        passing = [row for row in read if row[rows.STATUS] in _PASSING]
        lasting = [row for row in read if row[rows.STATUS] not in _PASSING]
        self._keep([row for row in lasting if row != rows.stored(self._connection, row[0])], gone)
        # What is at work or cannot be read is looked at every time.
        rows.put(self._connection, passing)

    def _keep(self, lasting: list[Row], gone: set[bytes]) -> None:
        if lasting or gone:
            rows.drop(self._connection, gone)
            rows.put(self._connection, lasting)
            self._connection.commit()
            image.save(self._connection, self.runs / image.NAME, now=self._clock() / 1e9)

    def _read(self, name: bytes, look: _Look | None) -> Row | None:
        """A run as its folder tells it now; None where there is none."""
        from headway.run.history.reading import read

        settled = look is not None and look[1] < self._clock() - _SETTLED_NS
        return read(self.runs / os.fsdecode(name), look[0] if look and settled else None)


def _opened(path: Path) -> sqlite3.Connection:
    """The index in a file, or an empty one."""
    connection = image.load(path)
    if connection is None:
        return rows.new()
    try:
        if connection.execute("PRAGMA user_version").fetchone() == (rows.FORMAT,):
            return connection
    except sqlite3.Error:
        # Whole, and yet no database: nothing of ours.
        pass
    connection.close()
    return rows.new()


def _names(runs: bytes) -> list[bytes]:
    """Folders that may be those of runs."""
    try:
        with os.scandir(runs) as entries:
            return [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(b".")]
    except OSError as cause:
        where = os.fsdecode(runs)
        raise RunError(f"cannot read the folder of runs {where} ({cause.strerror}); give another --runs-dir") from cause


def _look(folder: bytes) -> _Look | None:
    """None where a run cannot be looked at."""
    try:
        # Of ten thousand runs, three of these each: a Path for every one would take as long again.
        around, record, lock = os.stat(folder), _stat(folder + _RECORD), _stat(folder + _LOCK)  # noqa: PTH116
    except OSError:
        return None
    changed = around.st_ctime_ns
    if record is None:
        return str(changed), changed, lock is not None and lock.st_size > 0
    stamp = f"{changed}.{record.st_size}.{record.st_ino}.{record.st_ctime_ns}"
    return stamp, max(changed, record.st_ctime_ns), lock is not None and lock.st_size > 0


def _stat(path: bytes) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def _held(folder: Path) -> bool:
    from headway.lock import holder

    try:
        return holder(folder) is not None
    except RunError:
        return True
