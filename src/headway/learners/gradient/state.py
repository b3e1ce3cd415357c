"""What a gradient learner is at one moment: tensors by name, and facts that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from headway.errors import RunError

_MARK = "$"
_TREE = "tree"


@dataclass(frozen=True, slots=True)
class State:
    """All that has to come back: tensors of any kind, and facts that are plain JSON."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


def join(parts: Mapping[str, State]) -> State:
    """One state of several; `part` takes it apart again."""
    if unfit := [name for name in parts if "/" in name]:
        raise ValueError(f"parts of a state have names without '/', not {unfit}")
    tensors = {f"{name}/{key}": tensor for name, state in parts.items() for key, tensor in state.tensors.items()}
    return State(tensors, {name: dict(state.facts) for name, state in parts.items()})


def part(state: State, name: str) -> State:
    """What `join` was given under a name; a RunError where it was given nothing."""
    if name not in state.facts:
        there = ", ".join(sorted(state.facts)) or "nothing"
        raise RunError(f"the checkpoint holds no {name!r}, only {there}; it is of another learner or version")
    tensors = {key.partition("/")[2]: tensor for key, tensor in state.tensors.items() if key.split("/")[0] == name}
    return State(tensors, state.facts[name])


def pack(value: Any, *, where: str = "state") -> State:
    """Any nesting of dicts, lists and tuples around tensors, arrays and JSON values, as a State.

    Numpy's numbers come back as Python's, subclasses of dict as dicts; all else comes back as it was, tuples, keys
    that are no strings, and numbers that are not finite included. Anything JSON and tensors cannot hold is a RunError.
    """
    packer = _Packer(where)
    tree = packer.encode(value, ())
    return State(packer.tensors, {_TREE: tree})


def unpack(state: State) -> Any:
    """The value that `pack` was given."""
    return _decode(state.facts[_TREE], state.tensors)


@dataclass(slots=True)
class _Packer:
    where: str
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])

    def encode(self, value: Any, path: tuple[str, ...]) -> Any:
        match value:
            case None | bool() | str():
                return value
            case int() | float():
                return _number(value)
            case np.generic():
                return self.encode(value.item(), path)
            case dict():
                return self._dict(cast("dict[Any, Any]", value), path)
            case list():
                return self._list(cast("list[Any]", value), path)
            case tuple():
                return _marked("tuple", self._list(cast("tuple[Any, ...]", value), path))
            case Tensor():
                return _marked("tensor", self._keep(value, path))
            case np.ndarray():
                return _marked("array", self._keep(self._tensor(value, path), path))
            case _:
                raise self._unfit(value, path)

    def _list(self, values: list[Any] | tuple[Any, ...], path: tuple[str, ...]) -> list[Any]:
        return [self.encode(value, (*path, str(place))) for place, value in enumerate(values)]

    def _dict(self, values: dict[Any, Any], path: tuple[str, ...]) -> Any:
        if all(isinstance(key, str) for key in values) and _MARK not in values:
            return {key: self.encode(value, (*path, key)) for key, value in values.items()}
        for key in values:
            if not (key is None or isinstance(key, str | int | float)):
                raise self._unfit(key, path)
        return _marked(
            "dict",
            [[self.encode(key, path), self.encode(value, (*path, str(key)))] for key, value in values.items()],
        )

    def _keep(self, tensor: Tensor, path: tuple[str, ...]) -> str:
        plain = name = ".".join(path) or "value"
        twin = 0
        # The keys ("a.b",) and ("a", "b") are one name.
        while name in self.tensors:
            twin += 1
            name = f"{plain}~{twin}"
        self.tensors[name] = tensor
        return name

    def _tensor(self, array: np.ndarray[Any, Any], path: tuple[str, ...]) -> Tensor:
        try:
            # A copy: torch takes neither read-only arrays nor negative strides.
            return torch.from_numpy(np.array(array, order="C", copy=True))
        except (TypeError, ValueError) as cause:
            raise self._unfit(array, path) from cause

    def _unfit(self, value: Any, path: tuple[str, ...]) -> RunError:
        kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        place = self.where + "".join(f"[{key!r}]" for key in path)
        return RunError(
            f"{place} is or has as a key a {kind}, which no checkpoint can hold; "
            "save tensors, arrays of numbers, and what JSON knows: dicts, lists, text, numbers"
        )


def _number(value: int | float) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return _marked("float", repr(float(value)))
    # Numpy's float64 is a float that JSON would write by another rule.
    return float(value) if isinstance(value, float) else int(value)


def _marked(kind: str, value: Any) -> dict[str, Any]:
    return {_MARK: kind, "value": value}


def _decode(tree: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(tree, list):
        return [_decode(each, tensors) for each in cast("list[Any]", tree)]
    if not isinstance(tree, dict):
        return tree
    known = cast("dict[str, Any]", tree)
    value = known.get("value")
    match known.get(_MARK):
        case None:
            return {key: _decode(each, tensors) for key, each in known.items()}
        case "tuple":
            return tuple(_decode(value, tensors))
        case "dict":
            return {_decode(key, tensors): _decode(each, tensors) for key, each in cast("list[Any]", value)}
        case "tensor":
            return tensors[cast(str, value)]
        case "array":
            return tensors[cast(str, value)].numpy()
        case _:
            return float(cast(str, value))
