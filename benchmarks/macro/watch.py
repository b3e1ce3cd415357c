"""What a process and all it started hold together, looked at again and again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
from benchmarks.macro.harness import Figures, last_line, start_child

_INTERVAL_SECONDS = 0.02


def watched(verb: str, arguments: Mapping[str, Any]) -> Figures:
    """Run a verb of `child.py`; its figures and the largest PSS sum of its processes, sampled every 20 ms."""
    process = start_child(verb, arguments)
    root, most, samples = psutil.Process(process.pid), 0, 0
    while process.poll() is None:
        began = time.perf_counter()
        most, samples = max(most, _pss(root)), samples + 1
        time.sleep(max(0.0, _INTERVAL_SECONDS - (time.perf_counter() - began)))
    assert process.stdout is not None, "start_child opened it"
    text = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"{verb} ended with exit code {process.returncode}")
    return last_line(text) | {"peak_pss_bytes": most, "samples": samples}


def _pss(root: psutil.Process) -> int:
    try:
        return sum(_of(process.pid) for process in (root, *root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0


def _of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
