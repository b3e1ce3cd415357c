"""Where each tensor lies in a safetensors file, so that one buffer in memory can be the file's body as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headway.errors import RunError

_KINDS = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.uint16: "U16",
    torch.int32: "I32",
    torch.uint32: "U32",
    torch.int64: "I64",
    torch.uint64: "U64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
}
_METADATA = "__metadata__"
_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """One tensor's bytes in the body of a file."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All tensors of a state: wide numbers first, so that each lies where its type may be read."""

    slots: tuple[Slot, ...]
    tied: Mapping[str, str]
    """Names that are the same tensor as another one, which is stored."""
    size: int

    def header(self, metadata: Mapping[str, str]) -> bytes:
        """What precedes the body in the file."""
        names: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
        for slot in self.slots:
            names[slot.name] = {
                "dtype": _KINDS[slot.dtype],
                "shape": list(slot.shape),
                "data_offsets": [slot.begin, slot.begin + slot.bytes],
            }
        text = json.dumps(names, separators=(",", ":")).encode()
        text += b" " * (-len(text) % _ALIGNMENT)
        return len(text).to_bytes(8, "little") + text


def lay_out(tensors: Mapping[str, Tensor]) -> Layout:
    """The layout of a state; a RunError names a tensor that cannot be stored."""
    first: dict[Any, str] = {}
    tied: dict[str, str] = {}
    for name, tensor in tensors.items():
        _check(name, tensor)
        if tensor.numel() and (known := first.setdefault(_identity(tensor), name)) != name:
            tied[name] = known
    slots: list[Slot] = []
    begin = 0
    stored = ((name, tensor) for name, tensor in tensors.items() if name not in tied)
    for name, tensor in sorted(stored, key=lambda each: (-each[1].element_size(), each[0])):
        size = tensor.numel() * tensor.element_size()
        slots.append(Slot(name, tensor.dtype, tuple(tensor.shape), begin, size))
        begin += size
    return Layout(tuple(slots), tied, begin)


def _identity(tensor: Tensor) -> Any:
    """Equal for tensors that are one: writing to either is writing to both, everywhere."""
    return tensor.data_ptr(), tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride()


def _check(name: str, tensor: Tensor) -> None:
    if tensor.dtype not in _KINDS:
        raise RunError(f"the tensor {name} is of {tensor.dtype}, which a checkpoint cannot hold; convert it first")
    if tensor.layout != torch.strided or tensor.is_meta:
        kind = "on no device" if tensor.is_meta else f"{tensor.layout}"
        raise RunError(f"the tensor {name} is {kind}, which a checkpoint cannot hold; convert it first")
    if name == _METADATA:
        raise RunError(f"a tensor may not be called {_METADATA}; rename it")
