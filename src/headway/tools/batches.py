"""What a trainer of any network needs to know of a batch and of what came out for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from headway.errors import DataError
from headway.tools.loaders import Collated

Criterion = Callable[..., Any]
_TOTALS = ("total", "total_loss", "loss")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch on its device."""

    inputs: Any
    """What the network is called with."""
    targets: Tensor
    mask: Tensor | None
    """Which tokens of [B, T] there are; None: all."""
    tokens: int
    places: int
    """Tokens and padding."""

    @property
    def sequences(self) -> int:
        """Its rows."""
        return len(self.targets)


def batch_of(given: Any, device: torch.device) -> Batch:
    """A batch as loaders give it: a dict, a pair of inputs and targets, what CollateFunction makes, or a tensor."""
    # Counted before it goes to a device that would have to be waited for.
    counted = _parts(given)[2]
    inputs, targets, mask = _parts(_moved(given, device))
    places = targets.shape[0] * targets.shape[1] if targets.ndim > 1 else len(targets)
    tokens = places if counted is None else int(counted.sum())
    return Batch(inputs, targets, mask, tokens, places)


def prediction_of(output: Any) -> Tensor:
    """What a network wrote: a tensor, or `reconstructed` of a dict."""
    found = output.get("reconstructed") if isinstance(output, Mapping) else output
    if not isinstance(found, Tensor):
        raise DataError(f"a network should give a tensor, or a dict with 'reconstructed', not {_shown(output)}")
    return found


def loss_of(criterion: Criterion, output: Any, batch: Batch) -> Tensor:
    """The mean loss over the tokens of a batch, in fp32."""
    found = criterion(prediction_of(output).float(), batch.targets, batch.mask)
    if isinstance(found, Mapping):
        found = next((found[name] for name in _TOTALS if name in found), None)
    if not isinstance(found, Tensor) or found.ndim:
        raise DataError(f"a criterion should give one number, or a dict with its 'total', not {_shown(found)}")
    return found


def _parts(given: Any) -> tuple[Any, Tensor, Tensor | None]:
    match given:
        case Mapping():
            named = cast("Mapping[str, Any]", given)
            targets = named.get("target_sequences", named.get("input_sequences"))
            if not isinstance(targets, Tensor):
                raise DataError(f"a batch that is a dict has 'input_sequences', not {', '.join(map(str, named))}")
            return named, targets, named.get("attention_mask")
        case Collated():
            return {"input_sequences": given.ids, "attention_mask": given.mask}, given.ids, given.mask
        case (Tensor() as inputs, Tensor() as targets):
            return inputs, targets, None
        case Tensor():
            return given, given, None
        case _:
            raise DataError(f"a batch should be a dict, a pair of tensors or a tensor, not {_shown(given)}")


def _moved(value: Any, device: torch.device) -> Any:
    match value:
        case Tensor():
            return value.to(device, non_blocking=True)
        case Mapping():
            return {name: _moved(each, device) for name, each in cast("Mapping[str, Any]", value).items()}
        case Collated():
            return Collated(*(_moved(each, device) for each in value))
        case list() | tuple():
            return tuple(_moved(each, device) for each in cast("Sequence[Any]", value))
        case _:
            return value


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with {', '.join(map(str, cast('Mapping[str, Any]', value)))}"
    return f"a tensor of {value.ndim} dimensions" if isinstance(value, Tensor) else f"a {type(value).__name__}"
