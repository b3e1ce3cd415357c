"""What a GPU does for learners by gradients: copies to it and on it, and matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from headway.learners.ceilings import Ceiling, Workshop

_SIDE = 4096
_BYTES = 256 << 20
_GIB = 2**30
_FIGURES = {
    "gpu.upload": "GiB/s",
    "gpu.copy": "GiB/s",
    "gpu.matmul_float32": "Gflop/s",
    "gpu.matmul_bfloat16": "Gflop/s",
}


def ceilings(workshop: Workshop) -> Iterator[Ceiling]:
    """The pace of the GPU that torch would use; else why there is none."""
    device, why = _device()
    if device is None:
        yield from (Ceiling(name, unit, "more", 0.15, None, why) for name, unit in _FIGURES.items())
        return
    measures = measures_on(device, workshop.paced)
    for name, unit in _FIGURES.items():
        yield Ceiling(name, unit, "more", 0.15, measures[name], f"on {device}, as torch does it")


def measures_on(
    device: str,
    paced: Callable[[Callable[[], object]], float],
    *,
    side: int = _SIDE,
    size: int = _BYTES,
) -> dict[str, Callable[[], float]]:
    """Each figure's measurement on a device, whose work is waited for within it."""
    import torch

    wait = _waiting(device)
    # Only from pinned memory a copy to a GPU goes at full speed.
    source = torch.ones(size, dtype=torch.uint8, pin_memory=device.startswith("cuda"))
    target, other = torch.empty_like(source, device=device), torch.zeros_like(source, device=device)

    def rate(act: Callable[[], object], amount: float) -> Callable[[], float]:
        return lambda: amount / paced(lambda: (act(), wait()))

    def product(kind: torch.dtype) -> Callable[[], float]:
        left = torch.ones(side, side, dtype=kind, device=device)
        result = torch.empty_like(left)
        return rate(lambda: torch.matmul(left, left, out=result), 2 * side**3 / 1e9)

    return {
        "gpu.upload": rate(lambda: target.copy_(source, non_blocking=True), size / _GIB),
        # Read and written, each counted.
        "gpu.copy": rate(lambda: other.copy_(target), 2 * size / _GIB),
        "gpu.matmul_float32": product(torch.float32),
        "gpu.matmul_bfloat16": product(torch.bfloat16),
    }


def _device() -> tuple[str | None, str]:
    if find_spec("torch") is None:
        return None, "PyTorch is not installed; pip install 'headway[torch]'"
    import torch

    if torch.cuda.is_available():
        return "cuda", ""
    if torch.backends.mps.is_available():
        return "mps", ""
    return None, "PyTorch sees no GPU"


def _waiting(device: str) -> Callable[[], object]:
    """What returns when everything given to a device is done."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.synchronize
    return torch.mps.synchronize if device == "mps" else (lambda: None)
