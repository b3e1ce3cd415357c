"""Compaction beside training: a thread merges runs of one size that have piled up; a later save adopts the result."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from headway.durable import sync_folder, write_errors
from headway.errors import RunError
from headway.learners.patterns.compact import MERGE_BYTES, compact, rows_within
from headway.learners.patterns.manifest import Manifest
from headway.learners.patterns.runs import RunFile

_KEPT = "the memory is as it was before this compaction"
# Each source is an open file, and a process may have few.
MOST_SOURCES = 128
# With so many times more runs than are merged at once, whoever saves waits for the merge under way.
_MOST_PILES = 4


@dataclass(frozen=True, slots=True)
class Merge:
    """Runs and the run that holds their sum."""

    sources: tuple[RunFile, ...]
    result: RunFile


@dataclass(frozen=True, slots=True)
class Adopted:
    """A manifest that names merged runs, and the files it no longer needs."""

    manifest: Manifest
    obsolete: frozenset[str]


def adopt(manifest: Manifest, merges: Iterable[Merge]) -> Adopted:
    """The manifest with each merge's result in place of its sources."""
    obsolete = {run.file for merge in merges for run in merge.sources}
    runs = [merge.result for merge in merges if merge.result.file.split(".")[1].startswith("L")]
    notes = [merge.result for merge in merges if merge.result.file.split(".")[1].startswith("N")]
    changed = replace(
        manifest,
        runs=(*(run for run in manifest.runs if run.file not in obsolete), *runs),
        notes=(*(run for run in manifest.notes if run.file not in obsolete), *notes),
    )
    return Adopted(changed, frozenset(obsolete))


def groups(manifest: Manifest, *, after: int) -> list[list[RunFile]]:
    """Runs of one level and about one size, wherever there are `after` or more of them."""
    tiers: defaultdict[tuple[bool, int, int], list[RunFile]] = defaultdict(list)
    for noted, runs in ((False, manifest.runs), (True, manifest.notes)):
        for run in runs:
            tiers[noted, run.level, run.rows.bit_length() // 4].append(run)
    return [runs for runs in tiers.values() if len(runs) >= after]


def everything(manifest: Manifest) -> list[list[RunFile]]:
    """All runs of each level together, wherever they are not one run under the name its content gives it."""
    tiers: defaultdict[tuple[bool, int], list[RunFile]] = defaultdict(list)
    for noted, runs in ((False, manifest.runs), (True, manifest.notes)):
        for run in runs:
            tiers[noted, run.level].append(run)
    return [runs for runs in tiers.values() if len(runs) > 1 or not runs[0].file.startswith(runs[0].checksum)]


def run_merges(
    folder: Path,
    work: list[list[RunFile]],
    *,
    taken: frozenset[str],
    memory: int = MERGE_BYTES,
    stop: Callable[[], bool] = lambda: False,
) -> list[Merge]:
    """Merge each group into one durable run that no manifest names yet; `CancelledError` when told to stop.

    `memory` bounds the bytes held meanwhile.
    """
    merges: list[Merge] = []
    try:
        with write_errors(folder, kept=_KEPT):
            for sources in work:
                names = taken | {merge.result.file for merge in merges}
                merges.append(Merge(tuple(sources), _sum(folder, sources, names, memory, stop)))
            sync_folder(folder)
    except BaseException:
        # However it ends, what no manifest will name must not stay; the cause goes on.
        _forget(folder, (merge.result for merge in merges))
        raise
    return merges


def _sum(folder: Path, sources: Sequence[RunFile], taken: Set[str], memory: int, stop: Callable[[], bool]) -> RunFile:
    """One run of many, by way of others where they are too many to be open at once."""
    rest, between = list(sources), list[RunFile]()
    try:
        while len(rest) > MOST_SOURCES:
            some, rest = rest[:MOST_SOURCES], rest[MOST_SOURCES:]
            names = taken | {run.file for run in between}
            between.append(compact(folder, some, taken=names, rows=rows_within(memory, some), stop=stop))
            rest.append(between[-1])
        names = taken | {run.file for run in between}
        return compact(folder, rest, taken=names, rows=rows_within(memory, rest), stop=stop)
    finally:
        _forget(folder, between)


def _forget(folder: Path, runs: Iterable[RunFile]) -> None:
    """Remove runs that were made and no manifest named."""
    for run in runs:
        (folder / run.file).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Ears:
    """Who hears of a compaction that failed, and of one that counts."""

    warn: Callable[[str], None]
    note: Callable[[str], None]


class Compactor:
    """At most one compaction at a time, in a thread; nothing counts before a manifest adopts it and `discard` is told.

    One that fails costs nothing but itself: it is said, and tried again when more runs have piled up.
    """

    def __init__(self, folder: Path, *, after: int, memory: int, ears: Ears) -> None:
        self._folder = folder
        self._after = after
        self._memory = memory
        self._ears = ears
        self._not_before = 0
        self._adopted: list[Merge] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headway-compact")
        self._running: Future[list[Merge]] | None = None
        self._stop = Event()

    def consider(self, manifest: Manifest) -> None:
        """Begin a compaction if one is worth it and none is under way."""
        if self._running is not None or len(manifest.files()) < self._not_before:
            return
        if work := groups(manifest, after=self._after):
            taken = frozenset(manifest.files() | self._obsolete())
            self._running = self._thread.submit(
                run_merges, self._folder, work, taken=taken, memory=self._memory, stop=self._stop.is_set
            )

    def take(self, manifest: Manifest) -> Manifest:
        """The manifest with a finished compaction in it, unchanged when there is none.

        One that is not finished is waited for only where runs come so much faster that they would pile up for ever.
        """
        if self._running is None:
            return manifest
        if not self._running.done() and not groups(manifest, after=_MOST_PILES * self._after):
            return manifest
        running, self._running = self._running, None
        try:
            merges = running.result()
        except RunError as cause:
            self._not_before = len(manifest.files()) + self._after
            self._ears.warn(f"run files were not merged in the background, training goes on without: {cause}")
            return manifest
        self._adopted += merges
        return adopt(manifest, merges).manifest

    def rest(self) -> None:
        """Begin none any more: the run is over, and nobody should wait for what its next session can do beside it."""
        self._not_before = sys.maxsize

    def discard(self) -> None:
        """Remove the files that a manifest does not name since it adopted compactions; it must be durable by now."""
        for name in self._obsolete():
            (self._folder / name).unlink(missing_ok=True)
        merges, self._adopted = self._adopted, []
        if merges:
            sources = sum(len(merge.sources) for merge in merges)
            self._ears.note(f"{sources} run files were merged into {len(merges)}")

    def _obsolete(self) -> set[str]:
        return {run.file for merge in self._adopted for run in merge.sources}

    def wait(self) -> None:
        """Let a compaction under way come to its end."""
        if self._running is not None:
            self._running.exception()

    def close(self) -> None:
        """Stop the thread where it is, and remove what it made and nobody adopted."""
        self._stop.set()
        self._thread.shutdown(wait=True, cancel_futures=True)
        running, self._running = self._running, None
        if running is not None and not running.cancelled() and running.exception() is None:
            _forget(self._folder, (merge.result for merge in running.result()))
