"""What reads a window: vectors in, one state for all of it out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from headway.learners.autoencoder.attention import POSITION_NUMBERS, SelfBlock, inside, positions
from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.draws import Draws, Dropout
from headway.learners.autoencoder.initial import Addition, Gate


class Seen(NamedTuple):
    """What an encoder made of some windows."""

    final: Tensor
    """[B, F]: one state for the whole window."""
    states: Tensor
    """[B, T, F]: one for each of its tokens."""


class RecurrentEncoder(nn.Module):
    """Reads a window token by token; the state after the last one stands for all.

    Padding comes after a window's end, so that reading forwards never meets it; backwards it is read from its own end.
    """

    def __init__(self, section: ModelSection, dimensions: int, draws: Draws) -> None:
        super().__init__()
        self.directions = 2 if section.bidirectional else 1
        self.width = self.directions * section.hidden
        self.residual = section.residual
        inputs = [dimensions] + [self.width] * (section.layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(recurrent(section.encoder, size, section.hidden) for _ in range(self.directions))
            for size in inputs
        )
        self.dropout = Dropout(section.dropout, draws)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Seen:
        """The states of windows padded on the right."""
        states = vectors
        for depth, layer in enumerate(self.layers):
            given = self.dropout(states) if depth else states
            read = _read(layer, given, lengths)
            states = read + states if self.residual and depth else read
        return Seen(self._ends(states, lengths), states)

    def _ends(self, states: Tensor, lengths: Tensor) -> Tensor:
        rows = torch.arange(len(states), device=states.device)
        last = states[rows, lengths - 1]
        if self.directions == 1:
            return last
        half = self.width // 2
        return torch.cat([last[:, :half], states[:, 0, half:]], dim=-1)


class TransformerEncoder(nn.Module):
    """Reads all tokens at once; each number of the result weighs the places of a window in its own way.

    Without its blocks it is a linear code that fits windows of any length, and it starts as one.
    """

    def __init__(self, section: ModelSection, dimensions: int, draws: Draws) -> None:
        super().__init__()
        self.width = section.hidden
        self.input = nn.Linear(dimensions, section.hidden)
        self.place = Addition(POSITION_NUMBERS, section.hidden)
        self.blocks = nn.ModuleList(
            SelfBlock(section.hidden, section.heads, section.dropout, draws) for _ in range(section.layers)
        )
        self.gate = Gate(POSITION_NUMBERS, section.hidden)

    @torch.no_grad()
    def centre(self, mean: Tensor) -> None:
        """Have this vector start as nothing: what all windows share would drown what tells them apart."""
        self.input.bias.copy_(-self.input.weight @ mean)

    def forward(self, vectors: Tensor, lengths: Tensor) -> Seen:
        """The states of windows padded on the right."""
        most = vectors.shape[1]
        valid, codes = inside(lengths, most), positions(lengths, most)
        states = self.input(vectors) + self.place(codes)
        for block in self.blocks:
            states = block(states, valid)
        weighed = states * self.gate(codes) * valid[..., None]
        # The sum of n independent terms grows with the root of n.
        return Seen(weighed.sum(dim=1) / lengths[:, None].sqrt(), states)


def make_encoder(section: ModelSection, dimensions: int, draws: Draws) -> RecurrentEncoder | TransformerEncoder:
    """The encoder of a plan."""
    if section.encoder == "transformer":
        return TransformerEncoder(section, dimensions, draws)
    return RecurrentEncoder(section, dimensions, draws)


def recurrent(kind: str, inputs: int, hidden: int) -> nn.RNNBase:
    """One layer in one direction: torch's own layers above each other would drop values by its global generator."""
    match kind:
        case "lstm":
            return nn.LSTM(inputs, hidden, batch_first=True)
        case "gru":
            return nn.GRU(inputs, hidden, batch_first=True)
        case _:
            return nn.RNN(inputs, hidden, batch_first=True)


def _read(layer: nn.Module, vectors: Tensor, lengths: Tensor) -> Tensor:
    forwards, *backwards = layer.children()
    states: Tensor = forwards(vectors)[0]
    if not backwards:
        return states
    turned = _turned(lengths, vectors.shape[1])
    other: Tensor = backwards[0](_take(vectors, turned))[0]
    return torch.cat([states, _take(other, turned)], dim=-1)


def _turned(lengths: Tensor, most: int) -> Tensor:
    """int[B, T]: the places of each window from its last token to its first; padding stays where it is."""
    places = torch.arange(most, device=lengths.device)
    return torch.where(inside(lengths, most), lengths[:, None] - 1 - places, places)


def _take(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))
