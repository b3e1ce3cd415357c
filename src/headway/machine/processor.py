"""The processor: what it is called, how many cores this process may use, its caches and vector instructions."""

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from headway.machine.cgroup import Cgroup
from headway.machine.describe import cpu_model, usable_cores

CPUS = Path("/sys/devices/system/cpu")
_SIZE = re.compile(r"(\d+)([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# What work on many numbers at once, or on digests, may use; of all that a compiler knows of a processor.
_VECTOR = re.compile(r"(sse|avx|amx|fma|f16c|bf16|fp16|fullfp16|neon|sve|sme|dotprod|i8mm|sha|aes|vaes|gfni|vsx|v$)")


@dataclass(frozen=True, slots=True)
class Cache:
    """Caches of one level and kind: bytes of each, and how many there are."""

    level: int
    kind: str
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Processor:
    """What computes here; None is explained in the description's `absent`."""

    model: str | None
    architecture: str
    core: str | None
    """The kind of core, as compilers call it."""
    physical_cores: int | None
    logical_cores: int | None
    allowed_cores: int | None
    """By affinity."""
    quota_cores: float | None
    """By the control group's quota."""
    usable_cores: int
    """What this process may keep busy."""
    vector: tuple[str, ...] | None
    """Instructions on many numbers at once, and on digests."""
    caches: tuple[Cache, ...] | None


def processor(cgroup: Cgroup | None = None, cpus: Path = CPUS) -> tuple[Processor, Mapping[str, str]]:
    """The processor, and why what is None is not known."""
    group = cgroup or Cgroup()
    core, vector, no_compiler = _compiled_for()
    found = Processor(
        model=cpu_model(),
        architecture=platform.machine(),
        core=core,
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=os.cpu_count(),
        allowed_cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        quota_cores=group.cores(),
        usable_cores=usable_cores(group),
        vector=vector,
        caches=caches(cpus),
    )
    reasons = {
        "model": "the system does not name its processor",
        "core": no_compiler,
        "physical_cores": "the system does not tell cores from threads",
        "logical_cores": "the system does not count its cores",
        "allowed_cores": "this system has no affinity",
        "quota_cores": "no control group limits it",
        "vector": no_compiler,
        "caches": f"the kernel does not list them in {cpus}",
    }
    return found, {name: reason for name, reason in reasons.items() if getattr(found, name) is None}


def caches(cpus: Path = CPUS) -> tuple[Cache, ...] | None:
    """Every cache the kernel lists, those of equal cores as one entry; None where it lists none."""
    seen: dict[tuple[int, str, str], int] = {}
    for index in sorted(cpus.glob("cpu[0-9]*/cache/index[0-9]*")):
        level, kind, size, shared = (_text(index / name) for name in ("level", "type", "size", "shared_cpu_list"))
        match = _SIZE.fullmatch(size)
        if level.isdigit() and match:
            seen[int(level), kind.lower(), shared] = int(match[1]) * _UNITS[match[2]]
    alike: dict[tuple[int, str, int], int] = {}
    for (level, kind, _), size in seen.items():
        alike[level, kind, size] = alike.get((level, kind, size), 0) + 1
    return tuple(Cache(*what, count) for what, count in sorted(alike.items())) or None


def _compiled_for() -> tuple[str | None, tuple[str, ...] | None, str]:
    """What the compiler of our kernels knows of this processor; else the reason why it does not."""
    try:
        from llvmlite import binding
    except ImportError as cause:
        return None, None, f"llvmlite, which knows it, cannot be loaded ({cause})"
    try:
        features: Mapping[str, bool] = binding.get_host_cpu_features()
    except RuntimeError as cause:
        return binding.get_host_cpu_name(), None, f"LLVM does not know this processor ({cause})"
    return binding.get_host_cpu_name(), tuple(sorted(name for name, has in features.items() if has and _is(name))), ""


def _is(feature: str) -> bool:
    return _VECTOR.match(feature) is not None


def _text(path: Path) -> str:
    """The content of a small file of the kernel; empty where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
