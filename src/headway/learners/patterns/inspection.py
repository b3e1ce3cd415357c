"""Reading through the run files of a memory that is continued, in a thread beside the training."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

from headway.errors import MemoryDamage
from headway.learners.patterns.runs import RunFile, check_file


class Inspection:
    """Compares the content of files with the manifest; damage is never trained past in silence."""

    def __init__(self, folder: Path, runs: Sequence[RunFile]) -> None:
        self._closed = Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headway-inspect")
        self._done: Future[None] = self._thread.submit(self._look, folder, runs)

    def complain(self) -> None:
        """Raise the MemoryDamage found so far, if any."""
        if self._done.done():
            self._done.result()

    def wait(self) -> None:
        """Return when every file was looked at; MemoryDamage when one is not what it was."""
        self._done.result()

    def close(self) -> None:
        """Stop after the file at hand."""
        self._closed.set()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _look(self, folder: Path, runs: Sequence[RunFile]) -> None:
        for run in runs:
            if self._closed.is_set():
                raise CancelledError
            # A compaction may have replaced it by now, after reading every byte of it.
            try:
                check_file(folder / run.file, run)
            except MemoryDamage:
                if (folder / run.file).exists():
                    raise
