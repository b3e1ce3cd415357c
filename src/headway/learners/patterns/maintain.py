"""Upkeep of a memory folder: one writer at a time, nothing lost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headway.durable import write_errors
from headway.errors import MemoryDamage, RunError
from headway.learners.patterns.compactor import adopt, everything, run_merges
from headway.learners.patterns.manifest import NAME, RUNS, Manifest, read_manifest, read_vocabulary
from headway.learners.patterns.runs import RunFile, check_file
from headway.lock import Lock

_KEPT = "the memory is as it was"


@contextmanager
def only_writer(folder: Path) -> Generator[None]:
    """Hold a memory folder against other writers."""
    lock = Lock(folder, doing="changing the memory")
    try:
        yield
    finally:
        lock.close()


def orphans(folder: Path, manifest: Manifest) -> list[Path]:
    """Files that the manifest does not name: leftovers of a crash, which count nowhere."""
    named = manifest.files()
    if not (folder / RUNS).is_dir():
        raise MemoryDamage(f"{folder / RUNS} is missing; restore it from a copy")
    found = [path for path in (folder / RUNS).iterdir() if path.name not in named and path.is_file()]
    return sorted([*found, *folder.glob("*.tmp")])


def remove_orphans(folder: Path) -> list[str]:
    """Remove files that no manifest names; their names."""
    with only_writer(folder), write_errors(folder, kept=_KEPT):
        found = orphans(folder, present_manifest(folder))
        for path in found:
            path.unlink()
    return [path.name for path in found]


def compact_all(folder: Path) -> Manifest:
    """Merge all runs of each level into one, replace the manifest, then remove whatever it does not name."""
    runs = folder / RUNS
    with only_writer(folder):
        manifest = present_manifest(folder)
        # A memory that nobody can read is left as it is.
        read_vocabulary(folder, manifest.identity)
        work = everything(manifest)
        _check_kept(runs, manifest, work)
        merges = run_merges(runs, work, taken=frozenset(manifest.files()))
        adopted = adopt(manifest, merges)
        with write_errors(folder, kept=_KEPT):
            adopted.manifest.write(folder)
            # More than this compaction replaced: one that was killed at this point left the same behind.
            for path in orphans(folder, adopted.manifest):
                path.unlink()
    return adopted.manifest


def _check_kept(folder: Path, manifest: Manifest, work: Sequence[Sequence[RunFile]]) -> None:
    """Read what is not merged, too: nobody should take a damaged memory for one that was just made anew."""
    merged = {run.file for runs in work for run in runs}
    for run in (*manifest.runs, *manifest.notes):
        if run.file not in merged:
            check_file(folder / run.file, run)


def present_manifest(folder: Path) -> Manifest:
    """The manifest of a memory folder; a RunError when there is none."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunError(f"{folder} holds no memory ({NAME} is missing)")
    return manifest
