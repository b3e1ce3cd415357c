"""Results of the bench, remembered per machine, its GPUs and its disk in the user's cache."""

import hashlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from headway.durable import make_folder, read_json, replace_json, write_errors
from headway.errors import DataError, RunError
from headway.machine.hardware import Hardware
from headway.machine.result import BenchResult, result_from

_DIGITS = 8


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where a user's caches lie: XDG_CACHE_HOME, or what the system has for it."""
    known = os.environ if environment is None else environment
    given = known.get("XDG_CACHE_HOME", "")
    # A relative one is to be ignored, says the specification.
    if given.startswith("/"):
        return Path(given) / "headway"
    try:
        home = Path(known["HOME"]) if known.get("HOME") else Path.home()
    except RuntimeError as cause:
        raise RunError("there is no home folder for a cache; set XDG_CACHE_HOME or give --cache-dir") from cause
    return home / ("Library/Caches" if platform.system() == "Darwin" else ".cache") / "headway"


def remembered_path(cache: Path, hardware: Hardware) -> Path:
    """The file for a machine with its GPUs and the first of its described disks."""
    disk = hardware.disks[0]
    plugged = sorted(f"{gpu.vendor} {gpu.name} {gpu.memory_bytes}" for gpu in hardware.gpus.found)
    parts = "\n".join([f"{disk.device} {disk.mount} {disk.file_system}", *plugged])
    of_parts = hashlib.sha256(parts.encode()).hexdigest()[:_DIGITS]
    return cache / "machines" / f"{hardware.fingerprint}-{of_parts}.json"


def recall(cache: Path, hardware: Hardware) -> BenchResult | None:
    """What was measured here before; None where nothing was, or what is there is damaged or of another version."""
    path = remembered_path(cache, hardware)
    try:
        return result_from(read_json(path), str(path))
    except (FileNotFoundError, NotADirectoryError, PermissionError, DataError):
        # A cache is measured anew rather than mended.
        return None


def remember(path: Path, result: BenchResult) -> None:
    """Keep a result in place of the one before."""
    make_folder(path.parent)
    with write_errors(path, kept="nothing is remembered"):
        replace_json(path, result.to_json())
