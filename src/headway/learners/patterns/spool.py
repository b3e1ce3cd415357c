"""What was learned and is in no run file yet: held up to a bound, then added up and written.

A worker is one core's worth of work: only waiting for the disk happens beside it, in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex

import numpy as np

from headway.durable import sync_folder, write_errors
from headway.learners.base import Part
from headway.learners.patterns.hierarchy import Learned
from headway.learners.patterns.runs import RunFile, RunWriter
from headway.learners.patterns.space import Space
from headway.learners.patterns.tally import Rows, add_up

KEPT = "everything up to the last save is safe"


class Spool:
    """Collects learned units and turns them into run files below `folder`; a part names the files of one flush."""

    def __init__(self, folder: Path, *, levels: int, limit: int, notes: bool) -> None:
        self._folder = folder
        self._limit = limit
        self._notes = notes
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="headway-disk")
        self._runs: list[Future[RunFile]] = []
        self._noted: list[Future[RunFile]] = []
        self._pending: list[list[Learned]] = [[] for _ in range(levels)]
        self._space, self._result = Space(), Space()
        # A worker that outlives its killed run may still write when the next session learns the same batch.
        self._mark = token_hex(4)
        self._bytes = self._number = 0
        self._clear()

    def add(self, unit: Sequence[Learned], *, stem: str) -> None:
        """Hold what a unit taught; `stem` names the files that begin with it."""
        if not self._bytes:
            self._stem = f"{stem}-{self._number}-{self._mark}"
        for level, learned in enumerate(unit):
            if len(learned.keys):
                self._pending[level].append(learned)
                # The tokens of level 0 are held by nobody else.
                self._bytes += learned.bytes + (learned.symbols.nbytes if level == 0 else 0)
            self._observed[level] += len(learned.keys)
            self._taken[level] += learned.taken
        if self._bytes > self._limit:
            self._spill()

    def count(self, *, documents: int, tokens: int) -> None:
        """Note what a batch held."""
        self._documents += documents
        self._tokens += tokens

    def flush(self) -> Part:
        """Make everything held durable and describe it."""
        self._spill()
        runs = [future.result() for future in self._runs]
        notes = [future.result() for future in self._noted]
        if runs:
            with write_errors(self._folder, kept=KEPT):
                sync_folder(self._folder)
        given = [self._tokens, *self._observed[:-1]]
        part: Part = {
            "documents": self._documents,
            "tokens": self._tokens,
            "left": [names - taken for names, taken in zip(given, self._taken, strict=True)],
            "runs": [run.to_json() for run in runs],
            "notes": [run.to_json() for run in notes],
        }
        self._clear()
        return part

    def close(self) -> None:
        """Stop writing; what was not flushed is lost."""
        self._disk.shutdown(wait=True, cancel_futures=True)

    def _clear(self) -> None:
        self._runs, self._noted = [], []
        self._documents = self._tokens = 0
        self._observed = [0] * len(self._pending)
        self._taken = [0] * len(self._pending)

    def _spill(self) -> None:
        if not self._bytes:
            return
        pending, self._pending = self._pending, [[] for _ in self._pending]
        self._bytes, self._number = 0, self._number + 1
        with write_errors(self._folder, kept=KEPT):
            for level, units in enumerate(pending):
                if units:
                    self._runs.append(
                        self._write((unit.rows() for unit in units), level, f"{self._stem}.L{level}.arrow")
                    )
                if units and self._notes:
                    self._noted.append(self._write(map(_notes, units), level, f"{self._stem}.N{level}.arrow"))

    def _write(self, rows: Iterable[Rows], level: int, name: str) -> Future[RunFile]:
        patterns = add_up(list(rows), space=self._space, result=self._result)
        largest = int(patterns.counts.max(initial=0))
        writer = RunWriter(self._folder / f"{name}.draft", level=level, dtype=patterns.symbols.dtype, largest=largest)
        writer.write(patterns)
        # The memory of these patterns is that of the next ones.
        writer.end()
        return self._disk.submit(self._settle, writer, name)

    def _settle(self, writer: RunWriter, name: str) -> RunFile:
        with write_errors(self._folder, kept=KEPT):
            return writer.close(name=name)


def _notes(unit: Learned) -> Rows:
    """Documents by the first pattern they learned, in the form of patterns: a key, the document as its one symbol."""
    keys, documents = unit.firsts.keys, unit.firsts.documents.astype(np.uint64)
    return Rows(keys, np.arange(len(keys)), np.ones(len(keys), np.int32), documents)
