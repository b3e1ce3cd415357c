"""What was learned and is in no run file yet: held up to a bound, then sorted, written and synced in the background."""

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
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="headway-runs")
        self._writing: list[Future[tuple[list[RunFile], list[RunFile]]]] = []
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
                self._bytes += learned.bytes
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
        runs: list[RunFile] = []
        notes: list[RunFile] = []
        for future in self._writing:
            done = future.result()
            runs += done[0]
            notes += done[1]
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
        self._writer.shutdown(wait=True, cancel_futures=True)

    def _clear(self) -> None:
        self._writing = []
        self._documents = self._tokens = 0
        self._observed = [0] * len(self._pending)
        self._taken = [0] * len(self._pending)

    def _spill(self) -> None:
        if not self._bytes:
            return
        pending, self._pending = self._pending, [[] for _ in self._pending]
        self._bytes, self._number = 0, self._number + 1
        if self._writing:
            # One spill at a time: two would hold twice the bound.
            self._writing[-1].result()
        self._writing.append(self._writer.submit(self._write, pending, self._stem))

    def _write(self, pending: list[list[Learned]], stem: str) -> tuple[list[RunFile], list[RunFile]]:
        held = [(level, units) for level, units in enumerate(pending) if units]
        with write_errors(self._folder, kept=KEPT):
            runs = [self._run(map(_rows, units), level, f"{stem}.L{level}.arrow") for level, units in held]
            if not self._notes:
                return runs, []
            return runs, [self._run(map(_notes, units), level, f"{stem}.N{level}.arrow") for level, units in held]

    def _run(self, rows: Iterable[Rows], level: int, name: str) -> RunFile:
        patterns = add_up(list(rows), space=self._space, result=self._result)
        largest = int(patterns.counts.max(initial=0))
        writer = RunWriter(self._folder / f"{name}.draft", level=level, dtype=patterns.symbols.dtype, largest=largest)
        writer.write(patterns)
        return writer.close(name=name)


def _rows(unit: Learned) -> Rows:
    return Rows(unit.keys, unit.starts, unit.lengths, unit.symbols)


def _notes(unit: Learned) -> Rows:
    """Documents by the first pattern they learned, in the form of patterns: a key, the document as its one symbol."""
    keys, documents = unit.firsts.keys, unit.firsts.documents.astype(np.uint64)
    return Rows(keys, np.arange(len(keys)), np.ones(len(keys), np.int32), documents)
