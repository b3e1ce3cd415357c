"""How long a beginning takes: after a kill, of the command's help, with and without compiled kernels at hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import Corpus, plan

from headway.record.record import read_record

_COMMAND = Path(sys.executable).with_name("headway")
# So much text, read again and again, that the late kill is seconds after the early one.
_TEXT_MEGABYTES = 1000
_HEAVY = ("torch", "numba", "numpy", "pyarrow", "pydantic", "tokenizers", "gigatoken", "rich")
_LONGEST_SECONDS = 300.0


def resume(conditions: Conditions, material: Corpus) -> Result:
    """Row 9: from the start of the process to the first step, after a kill early and late in a run."""
    says = "headway train, 2 workers, SIGKILL; from just before the new process to the first step in the record"
    variants = {
        "early": lambda: _resumed(conditions, material, 0.1),
        "late": lambda: _resumed(conditions, material, 0.8),
    }
    return measure("resume", says, variants, conditions)


def help_time(conditions: Conditions, material: Corpus) -> Result:
    """Row 11: `headway --help`."""
    del material

    def once() -> Figures:
        began = time.perf_counter()
        subprocess.run([_COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        return {"seconds": time.perf_counter() - began}

    result = measure("help", "the installed command", {"help": once}, conditions, repeats=max(10, conditions.repeats))
    result.facts = child("modules", {"heavy": _HEAVY})
    return result


def first_use(conditions: Conditions, material: Corpus) -> Result:
    """Not in the table: what the very first training pays for compiling."""
    del material
    full, empty = conditions.scratch / "numba-full", conditions.scratch / "numba-empty"
    child("prepare", {}, environment={"NUMBA_CACHE_DIR": str(full)})

    def compiled() -> Figures:
        shutil.rmtree(empty, ignore_errors=True)
        return child("prepare", {}, environment={"NUMBA_CACHE_DIR": str(empty)})

    variants = {"empty": compiled, "full": lambda: child("prepare", {}, environment={"NUMBA_CACHE_DIR": str(full)})}
    return measure("first_use", "headway.learners.patterns.learner.prepare in a fresh process", variants, conditions)


def _resumed(conditions: Conditions, material: Corpus, share: float) -> Figures:
    scratch, epochs = conditions.scratch, _TEXT_MEGABYTES // (conditions.megabytes or 160)
    runs, file = scratch / "resumed", scratch / "macro.json"
    given = plan(material) | {"workers": 2, "run": {"epochs": epochs, "save_every": 0.2}}
    file.write_text(json.dumps(given), encoding="utf-8")
    try:
        process = _start(file, scratch)
        folder = _until(lambda: next(iter(runs.glob("*/record.jsonl")), None), process).parent
        _until(lambda: _saved_share(folder) >= share * epochs, process)
        _kill(process)
        before = len(list(read_record(folder / "record.jsonl")))
        began = time.time()
        process = _start(file, scratch, "--resume")
        events = _until(lambda: _resumed_events(folder, before), process)
        _kill(process)
        resumed = next(event for event in events if event["event"] == "resumed")
        return {
            "resumed_seconds": resumed["time"] - began,
            "first_step_seconds": next(event for event in events if event["event"] == "step")["time"] - began,
            "position": resumed["position"],
            "tokens_before": resumed["tokens"],
        }
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def _start(file: Path, scratch: Path, *more: str) -> subprocess.Popen[bytes]:
    folders = ["--runs-dir", str(scratch / "resumed"), "--datasets-dir", str(scratch / "datasets")]
    return subprocess.Popen([_COMMAND, "train", str(file), *folders, *more, "--quiet"], stdout=subprocess.DEVNULL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for child_process in family:
        with suppress(ProcessLookupError):
            os.kill(child_process.pid, signal.SIGKILL)
    psutil.wait_procs(family, timeout=10)


def _saved_share(folder: Path) -> float:
    """How many epochs are durable."""
    if not (folder / "memory" / "manifest.json").exists():
        return 0.0
    documents = json.loads((folder / "memory" / "manifest.json").read_text(encoding="utf-8"))["documents"]
    dataset = Path(json.loads((folder / "dataset.json").read_text(encoding="utf-8"))["folder"])
    return documents / json.loads((dataset / "manifest.json").read_text(encoding="utf-8"))["documents"]


def _resumed_events(folder: Path, before: int) -> list[dict[str, Any]]:
    events = list(read_record(folder / "record.jsonl"))[before:]
    return events if any(event["event"] == "step" for event in events) else []


def _until(look: Any, process: subprocess.Popen[bytes]) -> Any:
    end = time.monotonic() + _LONGEST_SECONDS
    while not (seen := look()):
        if time.monotonic() > end or process.poll() is not None:
            raise TimeoutError(f"what the experiment waits for did not come; exit code {process.poll()}")
        time.sleep(0.01)
    return seen
