"""How fast a memory met new patterns, as far as the record of its run has it."""

from pathlib import Path
from typing import Any

from headway.record.record import read_record
from headway.run.folders import RECORD


def recorded_growth(run: Path) -> dict[int, list[tuple[int, int]]]:
    """By level, what was observed and how much of it was different at the ends of sessions; empty without a record."""
    path, found = run / RECORD, dict[int, dict[int, int]]()
    if not path.is_file():
        return {}
    for event in read_record(path):
        if event["event"] == "finished":
            for level in _levels(event):
                found.setdefault(level["level"], {})[level["observed"]] = level["patterns"]
    return {level: sorted(points.items()) for level, points in found.items()}


def _levels(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Those whose different patterns were counted: while there are several files, only reading them tells."""
    learner = (event.get("totals") or {}).get("learner") or {}
    return [level for level in learner.get("levels") or [] if level.get("patterns") is not None]
