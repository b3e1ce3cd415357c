"""Random numbers of one step: decided by seed, step, part and rank alone, whatever was drawn anywhere before."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn


class Draws:
    """What everything random in a model draws from; torch's own generators are never touched."""

    def __init__(self) -> None:
        self._key = _key(0, 0, 0, 0)
        self._generators: dict[torch.device, torch.Generator] = {}
        self._silent = False

    def reseed(self, seed: int, step: int, part: int = 0, rank: int = 0) -> None:
        """Start over: what is drawn from now on depends on these numbers alone."""
        self._key = _key(seed, step, part, rank)
        for generator in self._generators.values():
            generator.manual_seed(self._key)

    def uniform(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Numbers in [0, 1)."""
        return torch.rand(shape, generator=self._on(device), device=device)

    def normal(self, like: Tensor) -> Tensor:
        """Numbers with mean 0 and deviation 1, as many as these are."""
        return torch.empty_like(like).normal_(generator=self._on(like.device))

    def kept(self, like: Tensor, dropped: float) -> Tensor:
        """Factors that drop a share of some values and make up for it in the others."""
        mask = torch.empty_like(like).bernoulli_(1 - dropped, generator=self._on(like.device))
        return mask.div_(1 - dropped)

    @contextmanager
    def silent(self) -> Generator[None]:
        """Within this nothing is dropped, and nothing drawn for it."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before

    @property
    def is_silent(self) -> bool:
        """Whether values stay as they are for now."""
        return self._silent

    def _on(self, device: torch.device) -> torch.Generator:
        if device not in self._generators:
            self._generators[device] = torch.Generator(device).manual_seed(self._key)
        return self._generators[device]


class Dropout(nn.Module):
    """Drops a share of the values while training, by the draws of its model."""

    def __init__(self, share: float, draws: Draws) -> None:
        super().__init__()
        self.share = share
        self._draws = draws

    def forward(self, values: Tensor) -> Tensor:
        """The values, some of them zero and the others larger."""
        if not self.training or not self.share or self._draws.is_silent:
            return values
        return values * self._draws.kept(values, self.share)


def _key(seed: int, step: int, part: int, rank: int) -> int:
    # Neighbouring steps must not have neighbouring seeds: torch's CPU generator starts alike for those.
    # Ranks learn other windows in the same step, and one alone draws what it would have drawn without any.
    spawned = (rank,) if rank else ()
    return int(np.random.SeedSequence([seed, step, part], spawn_key=spawned).generate_state(1, np.uint64)[0])
