"""All runs in one file: CSV for spreadsheets, JSON for programs."""

import csv
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.outside import put
from headway.run.history.portable import Portable

SCHEMA, VERSION = "headway-runs", 1
UNITS = {
    "started": "UTC, ISO 8601",
    "memory_limit_bytes": "bytes",
    "results.seconds": "s, whole sessions",
    "results.tokens_per_second": "tokens/s while training",
    "results.documents_per_second": "documents/s while training",
    "results.spent.*": "s",
    "results.*bytes": "bytes",
}
_KEPT = "the runs are untouched"


def write_csv(runs: Sequence[Portable], path: Path) -> None:
    """A line for each run, a column for whatever any of them has; what a run does not have is empty."""
    lines = [_flat(run) for run in runs]
    columns = list(dict.fromkeys(name for line in lines for name in line)) or ["run"]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(lines)
    put(path, _bytes(text.getvalue()), kept=_KEPT, option="--csv")


def write_json(runs: Sequence[Portable], path: Path) -> None:
    """The same with numbers as numbers, absent things as null, and what the numbers are."""
    body = {"schema": SCHEMA, "version": VERSION, "units": UNITS, "runs": [_nested(run) for run in runs]}
    put(path, _bytes(json.dumps(body, indent=1, ensure_ascii=False)), kept=_KEPT, option="--json")


def _flat(run: Portable) -> dict[str, Any]:
    known = _nested(run)
    settings, results = known.pop("settings"), known.pop("results")
    known["warnings"] = "; ".join(known["warnings"])
    plain = {name: json.dumps(value) if isinstance(value, list) else value for name, value in settings.items()}
    return {**known, **plain, **{f"results.{name}": value for name, value in results.items()}}


def _nested(run: Portable) -> dict[str, Any]:
    known = run.facts
    return {
        "run": known.name,
        "folder": str(known.folder),
        "status": known.status,
        "started": None if known.started is None else datetime.fromtimestamp(known.started, UTC).isoformat(),
        "plan_fingerprint": known.plan,
        "memory_limit_bytes": known.memory,
        "warnings": list(known.warnings),
        "settings": dict(run.settings),
        "results": dict(run.results),
    }


def _bytes(text: str) -> bytes:
    return text.encode(errors="backslashreplace")
