"""Where runs lie: <runs>/<plan name>-001, -002 and so on, and what is in each."""

import os
import re
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.durable import make_folder, read_json, sync_folder, write_errors
from headway.errors import DataError, RunError

RESOLVED = "plan.resolved.json"
RECORD = "record.jsonl"
DATASET = "dataset.json"
PLAN_KEYS = frozenset({"data", "learner", "run"})
COPIES = ("plan.toml", "plan.json")

_PLAIN = r"[^./\0][^/\0]*"
_LONGEST = 200
_NUMBERED = re.compile(r"(?P<name>.+)-(?P<number>\d{3,})")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A run folder's place among the runs of its plan."""

    name: str
    number: int
    folder: Path


def numbered(runs: Path) -> list[Numbered]:
    """Every run folder, by plan name and age."""
    if not runs.is_dir():
        return []
    matches = [found for folder in runs.iterdir() if (found := place(folder))]
    return sorted((run for run in matches if run.folder.is_dir()), key=lambda run: (run.name, run.number))


def place(folder: Path) -> Numbered | None:
    """Where a folder stands among runs; None when it is not called as theirs are."""
    match = _NUMBERED.fullmatch(folder.name)
    return Numbered(match["name"], int(match["number"]), folder) if match else None


def read_note(path: Path, *, keys: Set[str]) -> dict[str, Any]:
    """What a run keeps about itself in a JSON file; a RunError when that is damaged."""
    try:
        value, why = read_json(path), f"it does not hold {' and '.join(sorted(keys))}"
    except DataError as cause:
        value, why = None, str(cause.__cause__)
    if isinstance(value, dict) and keys <= value.keys():
        return value
    raise RunError(
        f"{path} is damaged ({why}); restore it from a copy, or start a new run with --new. "
        f"What this one has learned can be read: headway memory stats {path.parent}"
    )


def newest(runs: Path, name: str) -> Path | None:
    """The latest run of a plan name that got as far as writing its plan; None when there is none."""
    return next((run.folder for run in reversed(_of(runs, name)) if (run.folder / RESOLVED).is_file()), None)


def check_name(name: str) -> None:
    """A RunError when a plan of this name could have no run folder."""
    if len(os.fsencode(name)) > _LONGEST:
        raise RunError(f"{name[:40]!r}... cannot name a run folder; name the plan in {_LONGEST} bytes or fewer")
    if not re.fullmatch(_PLAIN, name):
        raise RunError(f"{name!r} cannot name a run folder; name the plan without / and without a leading .")


def create(runs: Path, name: str) -> Path:
    """A new, empty run folder; two processes never get the same one."""
    check_name(name)
    with write_errors(runs, kept="nothing was started"):
        make_folder(runs)
        number = max((run.number for run in _of(runs, name)), default=0)
        while True:
            number += 1
            folder = runs / f"{name}-{number:03d}"
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            sync_folder(runs)
            return folder


def find(run: str | Path, runs: Path) -> Path:
    """The folder of a run given by its path or by its name under `runs`."""
    for folder in (Path(run), runs / run):
        if (folder / RESOLVED).is_file():
            return folder
    known = ", ".join(entry.folder.name for entry in numbered(runs)[-5:]) or "none"
    raise RunError(f"there is no run {str(run)!r} (looked here and in {runs}); runs there: {known}")


def _of(runs: Path, name: str) -> list[Numbered]:
    return [run for run in numbered(runs) if run.name == name]
