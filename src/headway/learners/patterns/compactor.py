"""Compaction beside training: a thread merges runs of one size that have piled up; a later save adopts the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from headway.durable import sync_folder, write_errors
from headway.learners.patterns.compact import compact
from headway.learners.patterns.manifest import Manifest
from headway.learners.patterns.runs import RunFile

_KEPT = "the memory is as it was before this compaction"


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
    rows: int,
    stop: Callable[[], bool] = lambda: False,
) -> list[Merge]:
    """Merge each group into one durable run that no manifest names yet; `CancelledError` when told to stop."""
    merges: list[Merge] = []
    try:
        with write_errors(folder, kept=_KEPT):
            for sources in work:
                names = taken | {merge.result.file for merge in merges}
                merges.append(Merge(tuple(sources), compact(folder, sources, taken=names, rows=rows, stop=stop)))
            sync_folder(folder)
    except BaseException:
        # However it ends, what no manifest will name must not stay; the cause goes on.
        _forget(folder, merges)
        raise
    return merges


def _forget(folder: Path, merges: Iterable[Merge]) -> None:
    """Remove what merges made and no manifest named."""
    for merge in merges:
        (folder / merge.result.file).unlink(missing_ok=True)


class Compactor:
    """At most one compaction at a time, in a thread; nothing counts before a manifest adopts it."""

    def __init__(self, folder: Path, *, after: int, rows: int) -> None:
        self._folder = folder
        self._after = after
        self._rows = rows
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headway-compact")
        self._running: Future[list[Merge]] | None = None
        self._stop = Event()

    def consider(self, manifest: Manifest) -> None:
        """Begin a compaction if one is worth it and none is under way."""
        work = groups(manifest, after=self._after)
        if work and self._running is None:
            taken = frozenset(manifest.files())
            self._running = self._thread.submit(
                run_merges, self._folder, work, taken=taken, rows=self._rows, stop=self._stop.is_set
            )

    def take(self, manifest: Manifest) -> Adopted:
        """The manifest with a finished compaction in it; unchanged when there is none."""
        if self._running is None or not self._running.done():
            return Adopted(manifest, frozenset())
        merges = self._running.result()
        self._running = None
        return adopt(manifest, merges)

    def discard(self, adopted: Adopted) -> None:
        """Remove the files that an adopted compaction replaced."""
        for name in adopted.obsolete:
            (self._folder / name).unlink(missing_ok=True)

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
            _forget(self._folder, running.result())
