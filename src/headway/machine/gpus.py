"""The GPUs of this machine, or per vendor the reason why none is told of."""

import json
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

DEVICES = Path("/sys/bus/pci/devices")
_NVIDIA, _AMD = "0x10de", "0x1002"
# Display controllers and processing accelerators, by the first digits of a PCI class.
_CLASSES = ("0x03", "0x12")
_LIBRARY = "nvidia-ml-py is not installed; pip install 'headway[gpu]'"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; without memory where it shares the machine's or does not tell."""

    vendor: str
    name: str | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Gpus:
    """What was found, and by vendor why nothing was."""

    found: tuple[Gpu, ...]
    absent: Mapping[str, str]


def gpus(devices: Path = DEVICES, nvml: Any = None, displays: Callable[[], str] | None = None) -> Gpus:
    """Every GPU of NVIDIA, AMD and Apple; a test passes in what stands for the machine."""
    answers = {
        "nvidia": _nvidia(devices, nvml),
        "amd": _amd(devices),
        "apple": _apple(displays or (_displays if platform.system() == "Darwin" else None)),
    }
    found = [gpu for answer in answers.values() if not isinstance(answer, str) for gpu in answer]
    return Gpus(tuple(found), {vendor: answer for vendor, answer in answers.items() if isinstance(answer, str)})


def _nvidia(devices: Path, nvml: Any) -> list[Gpu] | str:
    plugged = any(_of(devices, _NVIDIA))
    try:
        library = nvml or import_module("pynvml")
    except ModuleNotFoundError:
        return f"there is one, but {_LIBRARY}" if plugged else f"no such device is plugged in, and {_LIBRARY}"
    try:
        library.nvmlInit()
    except library.NVMLError as cause:
        return f"NVIDIA's driver does not answer ({cause})" + ("" if plugged else "; no such device is plugged in")
    try:
        handles = [library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())]
        found = [_nvidia_gpu(library, handle) for handle in handles]
    except library.NVMLError as cause:
        return f"NVIDIA's driver does not tell of its GPUs ({cause})"
    finally:
        library.nvmlShutdown()
    return found or "NVIDIA's driver is there and has no GPU"


def _nvidia_gpu(library: Any, handle: Any) -> Gpu:
    name = library.nvmlDeviceGetName(handle)
    shown = name.decode() if isinstance(name, bytes) else str(name)
    return Gpu("nvidia", shown, int(library.nvmlDeviceGetMemoryInfo(handle).total))


def _amd(devices: Path) -> list[Gpu] | str:
    found = [
        Gpu("amd", _text(device / "product_name") or None, _number(device / "mem_info_vram_total"))
        for device in _of(devices, _AMD)
    ]
    return found or "no such device is plugged in"


def _apple(displays: Callable[[], str] | None) -> list[Gpu] | str:
    if displays is None:
        return "this is not macOS"
    try:
        listed = json.loads(displays())["SPDisplaysDataType"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as cause:
        return f"system_profiler does not tell of GPUs ({cause})"
    # Their memory is the machine's.
    ours = [Gpu("apple", each.get("sppci_model"), None) for each in listed if "apple" in str(each).lower()]
    return ours or "no GPU of Apple's is in this Mac"


def _displays() -> str:
    command = ["system_profiler", "-json", "SPDisplaysDataType"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def _of(devices: Path, vendor: str) -> Iterator[Path]:
    for device in sorted(devices.glob("*")):
        if _text(device / "vendor") == vendor and _text(device / "class").startswith(_CLASSES):
            yield device


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    """The content of a small file of the kernel; empty where there is none."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
