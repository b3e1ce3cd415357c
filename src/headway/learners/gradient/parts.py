"""The parts of a learner's state that torch keeps in objects: optimizers, schedulers, scalers, random numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch.optim import Optimizer

from headway.errors import RunError
from headway.learners.gradient.state import State, pack, unpack

_CLASS = "class"
_PYTHON = "python"
_TORCH = "torch"
_OWN = "own:"
_CUDA = "cuda:"


class Stateful(Protocol):
    """What torch's schedulers and gradient scalers have in common."""

    def state_dict(self) -> dict[str, Any]:
        """All that the object remembers."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object:
        """Remember that again."""
        ...


def state_of(holder: Stateful) -> State:
    """What a scheduler or a scaler remembers."""
    return pack(holder.state_dict(), where=type(holder).__name__)


def load_into(holder: Stateful, state: State) -> None:
    """Give a scheduler or a scaler back what `state_of` took."""
    holder.load_state_dict(unpack(state))


def optimizer_state(optimizer: Optimizer) -> State:
    """Moments and step counters bit for bit, and the settings of every group of parameters."""
    packed = pack(optimizer.state_dict(), where=type(optimizer).__name__)
    return State(packed.tensors, {**packed.facts, _CLASS: type(optimizer).__name__})


def load_optimizer(optimizer: Optimizer, state: State) -> None:
    """Give an optimizer of the same class and parameters back what `optimizer_state` took, in memory of its own."""
    if state.facts[_CLASS] != type(optimizer).__name__:
        raise RunError(
            f"the checkpoint holds the state of {state.facts[_CLASS]}, the plan asks for {type(optimizer).__name__}; "
            "restore optimizer.kind, or start a new run with --new"
        )
    # The tensors of a checkpoint may be views of its file; moments are changed with every step.
    own = {name: tensor.clone() for name, tensor in state.tensors.items()}
    try:
        optimizer.load_state_dict(unpack(State(own, state.facts)))
    except ValueError as cause:
        raise RunError(f"the optimizer's state in the checkpoint is that of another model: {cause}") from cause


def random_state(generators: Mapping[str, torch.Generator] | None = None) -> State:
    """The random numbers to come: Python's, torch's on every device in use, and of generators by name."""
    version, words, gauss = random.getstate()
    tensors = {_PYTHON: torch.tensor(words), _TORCH: torch.get_rng_state()}
    if torch.cuda.is_initialized():
        tensors |= {f"{_CUDA}{index}": each for index, each in enumerate(torch.cuda.get_rng_state_all())}
    tensors |= {_OWN + name: generator.get_state() for name, generator in (generators or {}).items()}
    return State(tensors, {"version": version, "gauss": gauss})


def load_random(state: State, generators: Mapping[str, torch.Generator] | None = None) -> None:
    """Have the random numbers come again that were to come when `random_state` looked.

    Devices that are not here any more are left out: what is computed elsewhere is not bit-identical anyway.
    """
    words = tuple(state.tensors[_PYTHON].tolist())
    random.setstate((state.facts["version"], words, state.facts["gauss"]))
    torch.set_rng_state(state.tensors[_TORCH].clone())
    for index in range(torch.cuda.device_count()):
        if (kept := state.tensors.get(f"{_CUDA}{index}")) is not None:
            torch.cuda.set_rng_state(kept.clone(), index)
    for name, generator in (generators or {}).items():
        generator.set_state(state.tensors[_OWN + name].clone())
