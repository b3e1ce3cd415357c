"""Finding runs again: `headway runs list` over many run folders, with its index and without."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.macro.harness import Conditions, Figures, Result, measure
from benchmarks.macro.material import Corpus

RUNS, PLANS, LEVELS = 10_000, 50, 4
_COMMAND = Path(sys.executable).with_name("headway")
_INDEX = ".history.sqlite"
# Younger files than that are read again, since they may still be changing.
_SETTLED_SECONDS = 2.5
_MACHINE = {
    "cpu": "made",
    "logical_cores": 2,
    "usable_cores": 2,
    "memory_bytes": 8 << 30,
    "memory_available_bytes": 4 << 30,
    "memory_limit_bytes": None,
    "os": "Linux",
    "architecture": "x86_64",
    "python": "3.11.9",
}
_VERSIONS = dict.fromkeys(("python", "headway", "numpy", "numba", "pyarrow", "tokenizers", "gigatoken"), "1.2.3")
_PLAN = {
    "data": {"sources": ["a.jsonl"], "tokenizer": "gpt2", "engine": "auto"},
    "learner": {"kind": "patterns", "widths": [8] * LEVELS},
    "run": {"epochs": 1, "documents": None, "save_every": 60.0},
    "workers": None,
    "memory": None,
    "decided": {"workers": {"value": 2, "why": "one for each of 2 usable cores"}},
}


def history(conditions: Conditions, material: Corpus) -> Result:
    """`runs list` in a process of its own: nothing changed, one run changed, no index."""
    del material
    number = RUNS if conditions.megabytes is None else max(10, conditions.megabytes * RUNS // 1000)
    folder = conditions.scratch / "many"
    size = make_runs(folder, number, seed=conditions.seed)
    _listed(folder, number)

    def after_a_change() -> Figures:
        # Within the seconds in which nobody trusts it yet, that run is read once more by the next list, too.
        with next(iter(folder.glob("*/record.jsonl"))).open("a") as file:
            file.write(_line(2e9, "note", text="looked at"))
        return _listed(folder, number)

    def rebuilt() -> Figures:
        (folder / _INDEX).unlink()
        return _listed(folder, number)

    variants = {"list": lambda: _listed(folder, number), "changed": after_a_change, "rebuild": rebuilt}
    says = (
        f"{number:,} made run folders of {PLANS} plans, records of 20 to 200 steps; the installed command, from its "
        "start to its end, its output into a pipe; page cache warm. changed: one record has a line more; rebuild: the "
        "index was removed before"
    )
    result = measure("history", says, variants, conditions)
    result.facts = {"runs": number, "record_bytes": size, "index_bytes": (folder / _INDEX).stat().st_size}
    shutil.rmtree(folder)
    return result


def make_runs(folder: Path, number: int, *, seed: int) -> int:
    """Run folders as finished trainings leave them, from one seed; the size of their records."""
    chance, size = random.Random(seed), 0
    for i in range(number):
        run = folder / f"plan{i % PLANS:02d}-{i // PLANS + 1:03d}"
        run.mkdir(parents=True)
        (run / "plan.resolved.json").write_text(json.dumps(_PLAN | {"name": f"plan{i % PLANS:02d}"}, indent=1))
        (run / "dataset.json").write_text(json.dumps({"key": f"{i % 7:032x}", "folder": "datasets"}))
        (run / "lock").write_bytes(b"")
        content = "".join(_record(run, i, chance.randint(20, 200)))
        (run / "record.jsonl").write_text(content)
        size += len(content)
    time.sleep(_SETTLED_SECONDS)
    return size


def _listed(folder: Path, number: int) -> Figures:
    began = time.perf_counter()
    done = subprocess.run(
        [_COMMAND, "runs", "list", "--runs-dir", str(folder)], stdout=subprocess.PIPE, check=True, text=True
    )
    seconds = time.perf_counter() - began
    lines = done.stdout.count("\n")
    if lines != number + 1:
        raise RuntimeError(f"{lines - 1} runs were listed, not {number}")
    return {"seconds": seconds}


def _record(run: Path, number: int, steps: int) -> Iterator[str]:
    began = 1.7e9 + 1000 * number
    yield _line(
        began,
        "run_started",
        run=run.name,
        plan_fingerprint=f"{number % PLANS:032x}",
        dataset=f"{number % 7:032x}",
        workers=2,
        memory=1 << 30,
        machine=_MACHINE,
        versions=_VERSIONS,
        code="0" * 16,
    )
    yield _line(began + 1, "resumed", position=[0, 0], documents=0, tokens=0)
    metrics = {f"level{level} observed": 6400.0 / 8**level for level in range(LEVELS)}
    for step in range(steps):
        learned = {"documents": 100, "tokens": 51_234, "metrics": metrics, "steps": 3}
        yield _line(began + 1 + 0.2 * step, "step", position=[0, step + 1], **learned)
    ended = began + 1 + 0.2 * steps
    amounts = {"documents": 100 * steps, "tokens": 51_234 * steps}
    yield _line(ended, "saved", position=[1, 0], seconds=0.1, **amounts)
    spans = {name: {"count": steps, "seconds": 1.5, "max": 0.3} for name in ("build", "start", "wait", "step", "save")}
    yield _line(ended, "spans", spans=spans)
    levels = [
        {"level": level, "width": 8, "observed": 10**6 // 8**level, "patterns": 10**5 // 8**level}
        | {"rows": 10**5 // 8**level, "runs": 1, "bytes": 3 * 10**6 // 8**level}
        for level in range(LEVELS)
    ]
    totals = {**amounts, "learner": {"memory": str(run / "memory"), **amounts, "levels": levels}}
    yield _line(ended, "finished", position=[1, 0], seconds=0.2 * steps, reason="complete", totals=totals, why=None)


def _line(time: float, event: str, **fields: Any) -> str:
    return json.dumps({"time": time, "event": event, **fields}) + "\n"
