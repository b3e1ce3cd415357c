"""What this machine has, and how much of it this process may use."""

import math
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from headway.machine.cgroup import Cgroup

_CPUINFO = Path("/proc/cpuinfo")


def describe() -> dict[str, Any]:
    """The facts a record keeps about the machine; None where one cannot be known."""
    memory = psutil.virtual_memory()
    return {
        "cpu": cpu_model(),
        "logical_cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory_bytes": memory.total,
        "memory_available_bytes": memory.available,
        "memory_limit_bytes": Cgroup().memory_limit(),
        "os": platform.platform(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
    }


def usable_cores(cgroup: Cgroup | None = None) -> int:
    """Cores this process may keep busy, by affinity and by the quota of its control group; at least one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = (cgroup or Cgroup()).cores()
    # A quota of 1.5 is used up only by two processes.
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def free_memory(cgroup: Cgroup | None = None) -> int:
    """Bytes that can be taken now without swapping or meeting the limit of the control group."""
    available = psutil.virtual_memory().available
    headroom = (cgroup or Cgroup()).memory_headroom()
    return available if headroom is None else min(available, headroom)


def resident_bytes(pids: Iterable[int]) -> int | None:
    """Memory that processes hold together, shared pages counted once (or the sum of RSS); None when all are gone."""
    held = [size for pid in pids if (size := _held(pid)) is not None]
    return sum(held) if held else None


def cpu_model(cpuinfo: Path = _CPUINFO) -> str | None:
    """The name of the processor."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Hardware", "cpu model"):
                return value.strip()
    return platform.processor() or None


def _held(pid: int) -> int | None:
    try:
        process = psutil.Process(pid)
        try:
            details = process.memory_full_info()
        except psutil.AccessDenied:
            return process.memory_info().rss
    except psutil.NoSuchProcess:
        return None
    return getattr(details, "pss", details.rss)
