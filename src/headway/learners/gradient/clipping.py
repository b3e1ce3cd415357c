"""Shortening gradients that are too long, without asking the device for a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from headway.learners.gradient.state import State

_REMEMBERED = 200
_FEWEST = 20


@dataclass(frozen=True, slots=True)
class Clipped:
    """What one clipping found, as numbers on the device."""

    norm: Tensor
    """Of all gradients together, before clipping."""
    limit: Tensor
    """What it was shortened to, if it was longer; infinite where nothing limits."""


class Clipper:
    """Shortens the gradients of some parameters to a length, or to a percentile of their recent lengths, or both.

    `percentile` looks at the last 200 lengths once there are 20; those that are not finite are forgotten.
    """

    def __init__(self, parameters: Iterable[Tensor], *, longest: float | None, percentile: float | None) -> None:
        self._parameters = [each for each in parameters if each.requires_grad]
        self._longest = longest
        self._percentile = percentile
        device = self._parameters[0].device
        self._norms = torch.full((_REMEMBERED,), float("nan"), device=device)
        self._limit = torch.tensor(float("inf") if longest is None else longest, device=device)
        self._next = 0

    @torch.no_grad()
    def clip(self) -> Clipped:
        """Clip the gradients that the parameters have now."""
        norm = get_total_norm([each.grad for each in self._parameters if each.grad is not None]).to(self._limit.device)
        if self._percentile is None:
            if self._longest is not None:
                clip_grads_with_norm_(self._parameters, self._longest, norm)
            return Clipped(norm, self._limit)
        limit = torch.minimum(self._limit, self._usual(self._percentile))
        # By a factor of 1 over the ratio: a limit that is a tensor would have to be fetched.
        clip_grads_with_norm_(self._parameters, 1.0, norm / limit)
        self._remember(norm)
        return Clipped(norm, limit)

    def state(self) -> State:
        """The lengths it remembers."""
        return State({"norms": self._norms}, {"next": self._next})

    def load(self, state: State) -> None:
        """Remember what `state` gave."""
        self._norms.copy_(state.tensors["norms"])
        self._next = state.facts["next"]

    def _usual(self, percentile: float) -> Tensor:
        enough = (~self._norms.isnan()).sum() >= _FEWEST
        return torch.where(enough, self._norms.nanquantile(percentile / 100), float("inf"))

    def _remember(self, norm: Tensor) -> None:
        self._norms[self._next] = torch.where(norm.isfinite(), norm, float("nan"))
        self._next = (self._next + 1) % _REMEMBERED
