"""Upkeep of a memory folder: one writer at a time, nothing lost."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from headway.durable import write_errors
from headway.errors import RunError
from headway.learners.patterns.compact import RANGE_ROWS
from headway.learners.patterns.compactor import adopt, everything, run_merges
from headway.learners.patterns.manifest import NAME, RUNS, Manifest, read_manifest
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
        merges = run_merges(runs, everything(manifest), taken=frozenset(manifest.files()), rows=RANGE_ROWS)
        adopted = adopt(manifest, merges)
        with write_errors(folder, kept=_KEPT):
            adopted.manifest.write(folder)
            # More than this compaction replaced: one that was killed at this point left the same behind.
            for path in orphans(folder, adopted.manifest):
                path.unlink()
    return adopted.manifest


def present_manifest(folder: Path) -> Manifest:
    """The manifest of a memory folder; a RunError when there is none."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunError(f"{folder} holds no memory ({NAME} is missing)")
    return manifest
