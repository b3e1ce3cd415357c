"""What is done to the words an encoder reads while it trains; what it has to write stays as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from headway.learners.autoencoder.config import NoiseSection
from headway.learners.autoencoder.draws import Draws

UNKNOWN = 1
MASK = 2
# Marks of the verse tokenizer below this id keep their places: noise is on words.
FIRST_WORD = 7

Kind = Literal["none", "gaussian", "dropout", "semantic", "words", "swap", "mask", "synonym"]


@dataclass(frozen=True, slots=True)
class Noise:
    """One kind of noise in one amount."""

    kind: Kind
    amount: float
    near: Tensor | None = field(default=None, compare=False)
    """int64[V, K]: the words nearest to each, for the kinds that ask for them; a word without any is its own."""

    @classmethod
    def at(cls, section: NoiseSection, epoch: float, near: Tensor | None = None) -> Noise:
        """The noise of a plan after so many epochs, fractions of one included."""
        since = epoch - section.begins
        if since < 0:
            return cls(section.kind, 0.0)
        if section.from_amount is None or since >= section.ramp:
            return cls(section.kind, section.amount, near)
        grown = since / section.ramp * (section.amount - section.from_amount)
        return cls(section.kind, section.from_amount + grown, near)

    def on_words(self, ids: Tensor, lengths: Tensor, draws: Draws) -> Tensor:
        """Ids of the same windows with some words dropped, masked, or changed: in their order, or for near ones."""
        if self.kind not in ("words", "mask", "swap", "synonym") or not self.amount:
            return ids
        drawn = draws.uniform(tuple(ids.shape), ids.device) < self.amount
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        words = inside & (ids >= FIRST_WORD)
        if self.kind == "swap":
            return _swapped(ids, drawn, words)
        if self.kind == "synonym":
            return torch.where(drawn & words, self._one_near(ids, draws), ids)
        return torch.where(drawn & words, UNKNOWN if self.kind == "words" else MASK, ids)

    def along_meaning(self, vectors: Tensor, ids: Tensor, unit: Tensor, draws: Draws) -> Tensor:
        """Vectors of words, moved towards and away from the nearest ones by `unit`, as far as `gaussian` moves them."""
        if self.kind != "semantic" or not self.amount:
            return vectors
        assert self.near is not None
        # Where a word is its own neighbour there is no direction, and it stays.
        ways = F.normalize(F.embedding(self.near[ids], unit) - F.embedding(ids, unit)[:, :, None], dim=-1)
        lengths = draws.normal(ways[..., :1]) * (ways.shape[-1] / ways.shape[-2]) ** 0.5
        return vectors + self.amount * (lengths * ways).sum(dim=2)

    def _one_near(self, ids: Tensor, draws: Draws) -> Tensor:
        """For each word one of the nearest."""
        assert self.near is not None
        which = (draws.uniform(tuple(ids.shape), ids.device) * self.near.shape[1]).long()
        return self.near[ids, which]

    def on_numbers(self, vectors: Tensor, draws: Draws) -> Tensor:
        """Vectors, whose numbers have a mean square of 1, with some noise on each number."""
        if not self.amount:
            return vectors
        match self.kind:
            case "gaussian":
                return vectors + self.amount * draws.normal(vectors)
            case "dropout":
                return torch.zeros_like(vectors) if self.amount == 1 else vectors * draws.kept(vectors, self.amount)
            case _:
                return vectors


def _swapped(ids: Tensor, drawn: Tensor, words: Tensor) -> Tensor:
    """Neighbours changed with each other where drawn; no word moves by more than one place."""
    length = ids.shape[1]
    first = torch.zeros_like(drawn)
    first[:, :-1] = drawn[:, :-1] & words[:, :-1] & words[:, 1:]
    # Of pairs that overlap, one after the other gets its chance: even places first, then odd ones that are free.
    even = torch.arange(length, device=ids.device) % 2 == 0
    chosen = first & even
    taken = chosen | chosen.roll(1, dims=1)
    odd = first & ~even & ~taken
    odd[:, :-1] &= ~taken[:, 1:]
    chosen = chosen | odd
    order = torch.arange(length, device=ids.device).expand_as(ids)
    order = torch.where(chosen, order + 1, torch.where(chosen.roll(1, dims=1), order - 1, order))
    return ids.gather(1, order)
