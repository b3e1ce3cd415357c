"""Runs as models that are taken along: found by their folder, and copied with all that they need."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from headway.durable import make_folder, read_json, replace_json, sync_folder, write_errors
from headway.errors import RunError
from headway.run.folders import DATASET, RESOLVED, numbered

_OWN = "dataset"
_NOT_COPIED = ("lock",)


def run_in(path: Path) -> Path:
    """A run, or the one begun last of those in a folder; a RunError where there is none."""
    if (path / RESOLVED).is_file():
        return path
    runs = [run.folder for run in numbered(path) if (run.folder / RESOLVED).is_file()]
    if not runs:
        raise RunError(f"there is no run in {path}; name the folder that save() or train() gave")
    return max(runs, key=lambda folder: (folder / RESOLVED).stat().st_mtime_ns)


def copy_run(run: Path, target: Path) -> Path:
    """A run at another place, whole or not at all, with the data set that it learned from."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RunError(f"{target} is there already; name a folder that is empty or not there")
    known: Any = read_json(run / DATASET)
    with write_errors(target.parent, kept="the run itself is unchanged"):
        make_folder(target.parent)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            copy = draft / "run"
            shutil.copytree(run, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED, _OWN))
            shutil.copytree(run / known["folder"], copy / _OWN)
            replace_json(copy / DATASET, {**known, "folder": _OWN})
            copy.replace(target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target
