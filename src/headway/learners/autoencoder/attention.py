"""Positions as numbers, and blocks of networks that attend."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.learners.autoencoder.draws import Draws, Dropout
from headway.learners.autoencoder.initial import Addition

WAVES = 64
_SINES = 16
POSITION_NUMBERS = WAVES + 2 * _SINES
_FEED = 2


def inside(lengths: Tensor, most: int) -> Tensor:
    """bool[B, most]: which positions are no padding."""
    return torch.arange(most, device=lengths.device) < lengths[:, None]


def positions(lengths: Tensor, most: int) -> Tensor:
    """Numbers for each place of each window: how far through its own window it is, and how far from the start.

    The first WAVES are cosines that fit a whole window, however long it is: few of them describe its slow course, all
    of them every word. The others are sines and cosines of the place alone.
    """
    place = torch.arange(most, device=lengths.device, dtype=torch.float32)
    wave = torch.arange(WAVES, device=lengths.device, dtype=torch.float32)
    share = (place[None, :, None] + 0.5) / lengths[:, None, None]
    fits = wave < lengths[:, None, None]
    relative = torch.cos(math.pi * share * wave) * fits
    return torch.cat([relative, _sinusoids(place, _SINES).expand(len(lengths), -1, -1)], dim=-1)


def sinusoidal(length: int, width: int, like: Tensor) -> Tensor:
    """float[length, width]: sines and cosines of ever longer waves."""
    place = torch.arange(length, device=like.device, dtype=torch.float32)
    return _sinusoids(place, (width + 1) // 2)[:, :width].to(like.dtype)


def _sinusoids(place: Tensor, waves: int) -> Tensor:
    rates = torch.exp(torch.arange(waves, device=place.device) * (-math.log(1e4) / waves))
    angles = place[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Attention(nn.Module):
    """Each of some states asks what others hold."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.memory = nn.Linear(width, 2 * width)
        self.output = Addition(width, width)

    def forward(self, states: Tensor, others: Tensor, valid: Tensor | None) -> Tensor:
        """What [B, T, H] find in [B, S, H], of which only `valid` [B, S] can be asked; zeros before training."""
        query, (keys, values) = self._split(self.query(states)), self.memory(others).chunk(2, dim=-1)
        mask = None if valid is None else valid[:, None, None, :]
        found = F.scaled_dot_product_attention(query, self._split(keys), self._split(values), attn_mask=mask)
        return self.output(found.transpose(1, 2).flatten(2))

    def _split(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class SelfBlock(nn.Module):
    """States look at each other, then each is worked on by itself; norms come first."""

    def __init__(self, width: int, heads: int, dropout: float, draws: Draws) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.dropout = Dropout(dropout, draws)
        self.feed = Feed(width, dropout, draws)

    def forward(self, states: Tensor, valid: Tensor) -> Tensor:
        """[B, T, H] to the same."""
        normed = self.norm(states)
        return self.feed(states + self.dropout(self.attention(normed, normed, valid)))


class Feed(nn.Module):
    """Each state is worked on by itself."""

    def __init__(self, width: int, dropout: float, draws: Draws) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, _FEED * width)
        self.narrow = Addition(_FEED * width, width)
        self.dropout = Dropout(dropout, draws)

    def forward(self, states: Tensor) -> Tensor:
        """[..., H] to the same."""
        return states + self.dropout(self.narrow(F.gelu(self.wide(self.norm(states)))))


class Slots(nn.Module):
    """A code unfolded to some states that can be attended to."""

    def __init__(self, code: int, slots: int, width: int) -> None:
        super().__init__()
        self.slots = slots
        self.unfold = nn.Linear(code, slots * width)

    def forward(self, z: Tensor) -> Tensor:
        """[B, Z] to [B, S, H], each slot with its own position in it."""
        states = self.unfold(z).unflatten(-1, (self.slots, -1))
        return states + sinusoidal(self.slots, states.shape[-1], states)


class Memory(nn.Module):
    """What a decoder looks up: slots of the code, or the encoder's states past it."""

    def __init__(self, source: Slots | nn.Linear, width: int, heads: int) -> None:
        super().__init__()
        self.source = source
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)

    def hold(self, z: Tensor, states: Tensor | None) -> Tensor:
        """What can be looked up for these codes; computed once for all steps."""
        if isinstance(self.source, Slots):
            return self.source(z)
        if states is None:
            raise ValueError("a decoder that goes past the code needs the encoder's states")
        return self.source(states)

    def forward(self, states: Tensor, held: Tensor, lengths: Tensor) -> Tensor:
        """[B, T, H] with what each found added."""
        valid = None if isinstance(self.source, Slots) else inside(lengths, held.shape[1])
        return states + self.attention(self.norm(states), held, valid)
