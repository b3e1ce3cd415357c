"""From a run folder to a row of the index, and from a row back to all that is known of a run."""

import json
import os
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headway.machine.identity import machine_fingerprint
from headway.run.facts import RunFacts, facts_or_damage
from headway.run.folders import RESOLVED, Numbered, place
from headway.run.history.conditions import digest, settings
from headway.run.history.rows import Row

_LARGEST = 1 << 63


def read(folder: Path, stamp: str | None) -> Row | None:
    """The run in a folder as a row; None where there is none."""
    entry = place(folder)
    if entry is None or not _is_run(folder):
        return None
    return _row(entry, facts_or_damage(folder), stamp)


def unpacked(name: str, content: bytes, runs: Path) -> RunFacts:
    """All that is known of a run, from its row."""
    values: dict[str, Any] = json.loads(zlib.decompress(content))
    values["warnings"] = tuple(values["warnings"])
    return RunFacts(name=name, folder=runs / name, **values)


def _row(entry: Numbered, known: RunFacts, stamp: str | None) -> Row:
    """Whatever is not of its column's type is left out there, and is in the facts."""
    plan = settings(entry.folder)
    texts = ((plan or {}).get("learner.kind"), known.status)
    numbers = (known.started, known.documents, known.tokens, known.tokens_per_second, known.seconds)
    machine = machine_fingerprint(known.machine) if isinstance(known.machine, dict) else None
    identity = (known.plan, known.dataset, machine, known.code, digest(known, plan))
    return (
        os.fsencode(entry.folder.name),
        stamp,
        os.fsencode(entry.name),
        _number(entry.number),
        *map(_text, texts),
        *map(_number, numbers),
        *map(_text, identity),
        _packed({name: value for name, value in asdict(known).items() if name not in ("name", "folder")}),
    )


def _is_run(folder: Path) -> bool:
    try:
        return (folder / RESOLVED).is_file()
    except OSError:
        # Who may not look into it cannot say that there is nothing.
        return True


def _packed(values: dict[str, Any]) -> bytes:
    # Most of it is the same words again and again, and a list reads past it.
    return zlib.compress(json.dumps(values).encode(), 1)


def _text(value: object) -> str | None:
    # A lone surrogate, which JSON can hold, is no text to SQLite.
    return value if isinstance(value, str) and value.isprintable() else None


def _number(value: object) -> int | float | None:
    return value if isinstance(value, float) or (isinstance(value, int) and abs(value) < _LARGEST) else None
