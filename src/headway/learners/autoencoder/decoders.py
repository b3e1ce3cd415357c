"""What writes a window again: a code in, one vector for each of its tokens out."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.learners.autoencoder.attention import POSITION_NUMBERS, Feed, Memory, Slots, positions, sinusoidal
from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.draws import Draws, Dropout
from headway.learners.autoencoder.encoders import recurrent
from headway.learners.autoencoder.initial import Addition, Gate, Vector

State = list[tuple[Tensor, ...]]


class RecurrentDecoder(nn.Module):
    """Writes token by token: what it reads at a step is the token before, as a direction of fixed length.

    Its own outputs and true words are read alike, so that a wrong length cannot tell them apart.
    """

    takes_previous = True

    def __init__(self, section: ModelSection, dimensions: int, seen: int, draws: Draws) -> None:
        super().__init__()
        self.kind = _cell(section)
        self.parts = 2 if self.kind == "lstm" else 1
        self.residual = section.residual
        self.initial = nn.Linear(section.code, section.layers * self.parts * section.hidden)
        self.start = Vector(dimensions)
        inputs = [dimensions] + [section.hidden] * (section.layers - 1)
        self.layers = nn.ModuleList(recurrent(self.kind, size, section.hidden) for size in inputs)
        self.dropout = Dropout(section.dropout, draws)
        self.memory = _memory(section, seen)
        self.output = nn.Linear(section.hidden, dimensions)

    def forward(self, z: Tensor, inputs: Tensor, lengths: Tensor, states: Tensor | None) -> Tensor:
        """All steps in one call: the output at a step depends on the code and on inputs up to it."""
        written, _ = self._advance(inputs, self.begin(z))
        return self._finish(written, 0, self.held(z, states), lengths)

    def free(self, z: Tensor, lengths: Tensor, most: int, states: Tensor | None) -> Tensor:
        """Step by step from the code alone: every input is the output before it."""
        state, held = self.begin(z), self.held(z, states)
        given = self.start.values.expand(len(z), -1)
        outputs: list[Tensor] = []
        for place in range(most):
            given, state = self.step(given, state, place, held, lengths)
            outputs.append(given)
        return torch.stack(outputs, dim=1)

    def begin(self, z: Tensor) -> State:
        """The state before the first step."""
        parts = torch.tanh(self.initial(z)).unflatten(-1, (len(self.layers), self.parts, -1))
        return [tuple(part[None].contiguous() for part in layer.unbind(1)) for layer in parts.unbind(1)]

    def held(self, z: Tensor, states: Tensor | None) -> Tensor | None:
        """What steps can look up; None where there is no attention."""
        return None if self.memory is None else self.memory.hold(z, states)

    def step(
        self, given: Tensor, state: State, place: int, held: Tensor | None, lengths: Tensor
    ) -> tuple[Tensor, State]:
        """The output [B, D] after reading one vector [B, D], and the state after it."""
        written, state = self._advance(given[:, None], state)
        return self._finish(written, place, held, lengths)[:, 0], state

    def _advance(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        states = F.normalize(inputs.float(), dim=-1) * inputs.shape[-1] ** 0.5
        after: State = []
        for depth, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            given = self.dropout(states) if depth else states
            written, ended = layer(given, before if self.parts == 2 else before[0])
            states = written + states if self.residual and depth else written
            after.append(ended if self.parts == 2 else (ended,))
        return states, after

    def _finish(self, written: Tensor, place: int, held: Tensor | None, lengths: Tensor) -> Tensor:
        if self.memory is not None and held is not None:
            codes = sinusoidal(place + written.shape[1], written.shape[2], written)[place:]
            written = self.memory(written + codes, held, lengths)
        return self.output(written)


class ParallelDecoder(nn.Module):
    """Writes all tokens at once from the code and their places alone: no word can tell it another.

    Without its blocks it is linear in the code; each number of the code has its own course along windows of any length.
    It starts by writing nothing: outputs that are noise would teach it first to leave the code alone.
    """

    takes_previous = False

    def __init__(self, section: ModelSection, dimensions: int, seen: int, draws: Draws) -> None:
        super().__init__()
        self.input = nn.Linear(section.code, section.hidden)
        self.gate = Gate(POSITION_NUMBERS, section.hidden)
        self.place = Addition(POSITION_NUMBERS, section.hidden)
        self.memory = _memory(section, seen)
        self.blocks = nn.ModuleList(Feed(section.hidden, section.dropout, draws) for _ in range(section.layers))
        self.output = Addition(section.hidden, dimensions)

    def forward(self, z: Tensor, inputs: Tensor, lengths: Tensor, states: Tensor | None) -> Tensor:
        """As many vectors as there are inputs, which are not looked at."""
        return self.free(z, lengths, inputs.shape[1], states)

    def free(self, z: Tensor, lengths: Tensor, most: int, states: Tensor | None) -> Tensor:
        """All vectors in one pass."""
        codes = positions(lengths, most)
        written = self.input(z)[:, None] * self.gate(codes) + self.place(codes)
        if self.memory is not None:
            written = self.memory(written, self.memory.hold(z, states), lengths)
        for block in self.blocks:
            written = block(written)
        return self.output(written)


def make_decoder(section: ModelSection, dimensions: int, seen: int, draws: Draws) -> RecurrentDecoder | ParallelDecoder:
    """The decoder of a plan; `seen` is the width of the encoder's states."""
    kind = RecurrentDecoder if section.decoder == "recurrent" else ParallelDecoder
    return kind(section, dimensions, seen, draws)


def _cell(section: ModelSection) -> str:
    """A recurrent decoder has the encoder's cells, and those of an LSTM after a transformer."""
    return section.encoder if section.encoder in ("lstm", "gru", "rnn") else "lstm"


def _memory(section: ModelSection, seen: int) -> Memory | None:
    match section.attention:
        case "none":
            return None
        case "code":
            source = Slots(section.code, section.slots, section.hidden)
        case "bypass":
            source = nn.Linear(seen, section.hidden)
    return Memory(source, section.hidden, section.heads)
