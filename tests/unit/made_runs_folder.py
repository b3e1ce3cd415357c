"""Run folders as trainings leave them, made without training."""

import json
import time
from pathlib import Path
from typing import Any

MACHINE = {
    "cpu": "Made 1",
    "logical_cores": 2,
    "usable_cores": 2,
    "memory_bytes": 8 << 30,
    "memory_available_bytes": 5 << 30,
    "memory_limit_bytes": None,
    "os": "Linux-6",
    "architecture": "x86_64",
    "python": "3.11.9",
}
VERSIONS = {"python": "3.11.9", "headway": "0.1.0", "numpy": "2.4.0"}
PLAN = {
    "data": {"sources": ["a.jsonl"], "tokenizer": "words", "engine": "auto"},
    "learner": {"kind": "patterns", "widths": [3, 2]},
    "run": {"epochs": 1, "documents": None, "save_every": 60.0},
    "workers": None,
    "memory": None,
}
LEVELS = [{"level": 0, "width": 3, "observed": 40, "patterns": 30, "rows": 30, "runs": 1, "bytes": 900}]


def made(
    folder: Path,
    *,
    began: float = 1e9,
    seconds: float = 10.0,
    plan: dict[str, Any] | None = None,
    reason: str = "complete",
    **started: Any,
) -> Path:
    """A run of 300 documents and 6,000 tokens, learned in so many seconds; what `run_started` says can be changed."""
    folder.mkdir(parents=True)
    (folder / "plan.resolved.json").write_text(json.dumps((plan or PLAN) | {"name": folder.name.rpartition("-")[0]}))
    begun = {
        "run": folder.name,
        "plan_fingerprint": "f" * 32,
        "dataset": "d" * 32,
        "workers": 2,
        "memory": 1 << 30,
        "machine": MACHINE,
        "versions": VERSIONS,
        "code": "c" * 16,
    }
    amounts = {"documents": 300, "tokens": 6000}
    learner = {"memory": str(folder / "memory"), **amounts, "levels": LEVELS}
    events: list[dict[str, Any]] = [
        {"time": began, "event": "run_started", **begun, **started},
        {"time": began + 1, "event": "resumed", "position": [0, 0], "documents": 0, "tokens": 0},
        {"time": began + 1, "event": "step", "position": [0, 1], **amounts, "metrics": {"loss": [3.0, 2]}, "steps": 2},
        {"time": began + 1, "event": "evaluated", "position": [0, 1], "metrics": {"skill": [0.5, 2], "gain": 0.125}},
        {"time": began + 1, "event": "saved", "position": [0, 1], "seconds": 0.5},
        {"time": began + 1, "event": "spans", "spans": {"save": {"count": 1, "seconds": 0.5, "max": 0.5}}},
        {
            "time": began + 1 + seconds,
            "event": "finished",
            "position": [1, 0],
            "seconds": seconds,
            "reason": reason,
            "totals": amounts | {"learner": learner},
            "why": None,
        },
    ]
    (folder / "record.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "lock").write_bytes(b"")
    return folder


def append(folder: Path, **event: Any) -> None:
    """One more line of a record."""
    with (folder / "record.jsonl").open("a") as file:
        file.write(json.dumps(event) + "\n")


def settled() -> int:
    """A time at which everything that was just made has long been as it is."""
    return time.time_ns() + 3600 * 10**9
