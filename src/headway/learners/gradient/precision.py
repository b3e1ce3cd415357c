"""Reduced precision where the machine has it, and a plain error where it does not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.amp.grad_scaler import GradScaler

from headway.errors import RunError
from headway.learners.gradient.config import Precision

# Names under which torch reports arithmetic in bf16: of x86 processors, and of Arm's.
_NATIVE = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_SIZE = 512
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Native:
    """Whether a processor computes in bf16 by itself, and how that is known."""

    answer: bool
    evidence: str


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """Where the forward pass runs in a precision; losses belong outside. A RunError where it cannot be honoured."""
    require(precision, device)
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, dtype=_TYPES[precision])


def scaler(precision: Precision, device: torch.device) -> GradScaler:
    """What keeps fp16's gradients from vanishing; for every other precision it passes everything through."""
    require(precision, device)
    return GradScaler(device.type, enabled=precision == "fp16")


def require(precision: Precision, device: torch.device) -> None:
    """A RunError where a device cannot compute in a precision, with what it can."""
    if precision == "fp16" and device.type != "cuda":
        can = ", ".join(possible(device))
        raise RunError(f"optimizer.precision: fp16 needs a GPU, this run computes on {device.type}, which can: {can}")
    if precision == "bf16" and not (found := _bf16_on(device)).answer:
        raise RunError(f"optimizer.precision: {device.type} has no bf16 ({found.evidence}); it can: fp32")


def possible(device: torch.device) -> list[Precision]:
    """The precisions that a device computes in by itself."""
    found: list[Precision] = ["fp32"]
    if _bf16_on(device).answer:
        found.append("bf16")
    if device.type == "cuda":
        found.append("fp16")
    return found


@cache
def _bf16_on(device: torch.device) -> Native:
    match device.type:
        case "cpu":
            return native_bf16(torch.cpu.get_capabilities())
        case "cuda":
            return Native(torch.cuda.is_bf16_supported(including_emulation=False), "as torch reports")
        case _:
            return Native(False, "not tried")


def native_bf16(capabilities: Mapping[str, Any], *, clock: Callable[[], float] = time.perf_counter) -> Native:
    """Whether the CPU computes in bf16: by what it says of itself, else by whether that is faster than fp32."""
    if said := [name for name in _NATIVE if capabilities.get(name)]:
        return Native(True, f"the processor has {said[0]}")
    seconds = {kind: float("inf") for kind in (torch.float32, torch.bfloat16)}
    for _ in range(_ROUNDS):
        for kind in seconds:
            seconds[kind] = min(seconds[kind], _multiply(kind, clock))
    times = seconds[torch.bfloat16] / seconds[torch.float32]
    return Native(times < 1, f"a product of matrices takes {times:.2g} times as long as in fp32")


def _multiply(kind: torch.dtype, clock: Callable[[], float]) -> float:
    matrix = torch.ones(_SIZE, _SIZE, dtype=kind)
    began = clock()
    torch.mm(matrix, matrix)
    return clock() - began
