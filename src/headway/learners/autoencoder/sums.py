"""What steps add up to between two looks: sums stay on the device, since asking for one waits for all before it."""

from __future__ import annotations

from math import isfinite

import torch
from torch import Tensor

from headway.learners.autoencoder.loss import Losses
from headway.learners.autoencoder.padded import Padded
from headway.learners.gradient.state import State
from headway.plan.values import Mean, Metrics

_LOSS, _WEIGHT = "loss", "weight"


class Sums:
    """Losses, their parts and their weights since the last look; part of a checkpoint, so that none is lost."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._padding = Mean(0.0, 0.0)

    @torch.no_grad()
    def add(self, found: Losses, piece: Padded) -> None:
        """Count one part of a step."""
        for name, value in {_LOSS: found.total.detach(), _WEIGHT: found.weight, **found.parts}.items():
            self._sums[name] = self._sums[name] + value.double() if name in self._sums else value.double()
        padding = self._padding
        self._padding = Mean(padding.total + piece.places - piece.tokens, padding.weight + piece.places)

    def padding(self) -> Mean:
        """The share of padding since this was last asked."""
        padding, self._padding = self._padding, Mean(0.0, 0.0)
        return padding

    def take(self) -> Metrics:
        """Means over all targets since the last look, by the names of the loss's parts."""
        if not self._sums:
            return {}
        names = list(self._sums)
        values = dict(zip(names, torch.stack([self._sums[name] for name in names]).tolist(), strict=True))
        self._sums = {}
        weight = values.pop(_WEIGHT)
        # A step whose loss was no number is skipped and counted; there is no mean over it.
        return {name: Mean(value, weight) for name, value in values.items() if isfinite(value) and weight}

    def state(self) -> State:
        """The sums that nobody looked at yet."""
        return State(dict(self._sums), {})

    def load(self, state: State) -> None:
        """Take up what `state` gave."""
        self._sums = {name: tensor.clone() for name, tensor in state.tensors.items()}
