"""What is done to the words an encoder reads while it trains; what it has to write stays as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from headway.learners.autoencoder.config import NoiseSection
from headway.learners.autoencoder.draws import Draws

UNKNOWN = 1
MASK = 2
# Marks of the verse tokenizer below this id keep their places: noise is on words.
FIRST_WORD = 7

Kind = Literal["none", "gaussian", "dropout", "words", "swap", "mask"]


@dataclass(frozen=True, slots=True)
class Noise:
    """One kind of noise in one amount."""

    kind: Kind
    amount: float

    @classmethod
    def at(cls, section: NoiseSection, epoch: float) -> Noise:
        """The noise of a plan after so many epochs, fractions of one included."""
        if section.from_amount is None or epoch >= section.ramp:
            return cls(section.kind, section.amount)
        grown = epoch / section.ramp * (section.amount - section.from_amount)
        return cls(section.kind, section.from_amount + grown)

    def on_words(self, ids: Tensor, lengths: Tensor, draws: Draws) -> Tensor:
        """Ids of the same windows with some words dropped, masked or changed with their neighbours."""
        if self.kind not in ("words", "mask", "swap") or not self.amount:
            return ids
        drawn = draws.uniform(tuple(ids.shape), ids.device) < self.amount
        inside = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        words = inside & (ids >= FIRST_WORD)
        if self.kind == "swap":
            return _swapped(ids, drawn, words)
        return torch.where(drawn & words, UNKNOWN if self.kind == "words" else MASK, ids)

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
