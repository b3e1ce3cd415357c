"""The autoencoder of a run: a network between the words of a frozen table and their reconstruction."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.draws import Draws
from headway.learners.autoencoder.encoders import TransformerEncoder
from headway.learners.autoencoder.initial import Scores, initialise
from headway.learners.autoencoder.network import (
    Encoded,
    Network,
    count_parameters,
    interpolate,
    step_weights,
)
from headway.learners.autoencoder.noise import Noise

__all__ = ["Autoencoder", "Encoded", "doubts"]

PAD = 0
_USUAL = range(8, 129)


class Autoencoder(nn.Module):
    """Windows of words to codes, and codes to vectors; the table itself is frozen and not part of the state.

    Encoder and decoder read directions: unit vectors, whose numbers are scaled to a mean square of 1.
    """

    table: Tensor
    unit: Tensor

    def __init__(self, section: ModelSection, table: Tensor, *, generator: torch.Generator) -> None:
        super().__init__()
        self.section = section
        self.draws = Draws()
        self.network = Network(section, table.shape[1], generator=generator, draws=self.draws)
        self.register_buffer("table", table.float(), persistent=False)
        self.register_buffer("unit", F.normalize(table.float(), dim=1), persistent=False)
        if isinstance(self.network.encoder, TransformerEncoder):
            known = self.unit.any(dim=1).sum().clamp_min(1)
            self.network.encoder.centre(self._readable(self.unit.sum(dim=0) / known))
        self.vectors = nn.Parameter(self._readable(self.unit)) if section.trainable_vectors else None
        self.head = _head(section, table)
        if self.head is not None:
            initialise(self.head, generator)

    def expect(self, counts: Tensor) -> None:
        """Have the mean direction of words that are met so often be what is written at first."""
        shares = counts.to(self.unit.dtype) / counts.sum().clamp_min(1)
        self.network.expect(shares.to(self.unit.device) @ self.unit)

    @property
    def is_bottleneck(self) -> bool:
        """Whether a decoder knows nothing of a window but its code."""
        return self.network.is_bottleneck

    @property
    def takes_previous(self) -> bool:
        """Whether the decoder reads previous words, so that teacher forcing means something."""
        return self.network.takes_previous

    def read(self, ids: Tensor, lengths: Tensor, noise: Noise | None = None) -> Encoded:
        """The codes of windows [B, T] that are padded on the right, with what goes past them if anything does."""
        if noise is not None:
            ids = noise.on_words(ids, lengths, self.draws)
        vectors = self._readable(F.embedding(ids, self.unit)) if self.vectors is None else self._trained(ids)
        if noise is not None:
            vectors = noise.on_numbers(noise.along_meaning(vectors, ids, self.unit, self.draws), self.draws)
        return self.network.read(vectors, lengths)

    def encode(self, ids: Tensor, lengths: Tensor, noise: Noise | None = None) -> Tensor:
        """float[B, Z]: the codes alone."""
        return self.read(ids, lengths, noise).z

    def decode(self, z: Tensor, inputs: Tensor, lengths: Tensor, states: Tensor | None = None) -> Tensor:
        """float[B, T, D] in one call: each output is a function of the code and of inputs up to its place."""
        return self.network.decode(Encoded(z, lengths, states), inputs)

    def free(self, z: Tensor, lengths: Tensor | int, states: Tensor | None = None) -> Tensor:
        """float[B, T, D] from the codes alone; T is the longest of these lengths."""
        if isinstance(lengths, int):
            lengths = torch.full((len(z),), lengths, device=z.device)
        return self.network.free(Encoded(z, lengths, states))

    def previous(self, ids: Tensor) -> Tensor:
        """float[B, T, D]: what the decoder reads where every true word is given: the start, then all but the last."""
        return self.network.previous(F.embedding(ids, self.unit))

    def logits(self, output: Tensor) -> Tensor | None:
        """float[..., V]: the scores of all words; None without a token head."""
        return None if self.head is None else self.head(output, self.unit)

    def reseed(self, seed: int, step: int, part: int = 0, rank: int = 0) -> None:
        """Let everything random in the next pass depend on these numbers alone."""
        self.draws.reseed(seed, step, part, rank)

    def interpolate(self, first: Tensor, last: Tensor, steps: int = 10) -> Tensor:
        """[steps, Z]: codes on the straight line from one to another."""
        return interpolate(first, last, steps)

    def count_parameters(self) -> int:
        """Numbers that are trained."""
        return count_parameters(self)

    def compression(self, window: int) -> float:
        """Numbers of a window of so many tokens for each number of its code."""
        return window * self.table.shape[1] / self.section.code

    def flops_per_token(self, *, two_pass: bool = False) -> int:
        """Floating-point operations to train on a token: 6 for each weight, 2 more for a pass without gradient.

        What is done once for a window, and products of states with states, are left out.
        """
        encoder, decoder = step_weights(self.network.encoder), step_weights(self.network.decoder)
        head = 0 if self.head is None else self.table.numel()
        return 6 * (encoder + decoder + head) + (2 * decoder if two_pass and self.takes_previous else 0)

    def summary(self, window: int = 50) -> str:
        """What the model is, in a few lines; one without a bottleneck says so first."""
        section, dimensions = self.section, self.table.shape[1]
        lines = [
            f"{section.encoder} encoder, {section.decoder} decoder, {section.layers} x {section.hidden}",
            f"{dimensions} numbers a word, {section.code} a window of {window}: {self.compression(window):.1f} to 1, "
            f"{dimensions / section.code:.2f} numbers of a vector for each of the code",
            f"{self.count_parameters():,} parameters: encoder {count_parameters(self.network.encoder):,}, "
            f"decoder {count_parameters(self.network.decoder):,}",
            f"{self.flops_per_token() / 1e6:.1f} MFLOP to train on a token",
        ]
        if not self.is_bottleneck:
            lines.insert(0, "NO BOTTLENECK: the decoder attends to the encoder's states; this compresses nothing")
        return "\n".join(lines)

    def _readable(self, unit: Tensor) -> Tensor:
        return unit * unit.shape[-1] ** 0.5

    def _trained(self, ids: Tensor) -> Tensor:
        assert self.vectors is not None
        return F.embedding(ids, self.vectors, padding_idx=PAD)


class FreeHead(nn.Module):
    """Scores words by weights of its own."""

    def __init__(self, words: int, dimensions: int) -> None:
        super().__init__()
        self.words = nn.Linear(dimensions, words)

    def forward(self, output: Tensor, unit: Tensor) -> Tensor:
        """[..., D] to [..., V]."""
        del unit
        return self.words(output)


class TiedHead(nn.Module):
    """Scores words by their own vectors: what is trained is how much that counts, and how usual each word is."""

    def __init__(self, words: int, dimensions: int) -> None:
        super().__init__()
        self.scores = Scores(words, dimensions**0.5)

    def forward(self, output: Tensor, unit: Tensor) -> Tensor:
        """[..., D] to [..., V]."""
        return F.linear(output * self.scores.scale, unit.to(output.dtype)) + self.scores.bias


def doubts(section: ModelSection) -> list[str]:
    """What a user should look at, though it can be built."""
    found: list[str] = []
    if section.code not in _USUAL:
        found.append(
            f"model.code: {section.code} is outside {_USUAL.start} to {_USUAL.stop - 1}, where codes were tried"
        )
    if section.code_norm == "batch":
        found.append("model.code_norm: with batch, a code depends on the other windows of its batch while training")
    if section.attention == "bypass":
        found.append("model.attention: with bypass, the decoder sees the encoder's states: nothing is compressed")
    return found


def _head(section: ModelSection, table: Tensor) -> FreeHead | TiedHead | None:
    words, dimensions = table.shape
    if section.token_head == "none":
        return None
    kind = FreeHead if section.token_head == "free" else TiedHead
    with torch.device("meta"):
        head = kind(words, dimensions)
    return head.to_empty(device="cpu")
