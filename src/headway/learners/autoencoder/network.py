"""Encoder, code and decoder over vectors, whatever words they belong to."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.errors import PlanError
from headway.learners.autoencoder.attention import Slots
from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.decoders import ParallelDecoder, RecurrentDecoder, make_decoder
from headway.learners.autoencoder.draws import Draws, Dropout
from headway.learners.autoencoder.encoders import RecurrentEncoder, TransformerEncoder, make_encoder
from headway.learners.autoencoder.initial import Code, initialise, spread_spans


@dataclass(frozen=True, slots=True)
class Encoded:
    """Some windows after the encoder."""

    z: Tensor
    """[B, Z]: all that the decoder is given, unless `states` go past it."""
    lengths: Tensor
    """int64[B]: tokens of each window."""
    states: Tensor | None = None
    """[B, T, F] for a decoder that attends to the encoder itself; no code then holds the window."""


class Network(nn.Module):
    """Vectors to codes and back; inputs have numbers with a mean square of about 1."""

    def __init__(
        self, section: ModelSection, dimensions: int, *, generator: torch.Generator, draws: Draws | None = None
    ) -> None:
        super().__init__()
        if problems := misfits(section):
            raise PlanError("model", problems)
        self.section = section
        self.draws = Draws() if draws is None else draws
        # On no device nothing is drawn: torch's layers would take their first values from its global generator.
        with torch.device("meta"):
            self.encoder = make_encoder(section, dimensions, self.draws)
            self.dropout = Dropout(section.dropout, self.draws)
            self.code = Code(self.encoder.width, section.code)
            self.norm = _norm(section)
            self.decoder = make_decoder(section, dimensions, self.encoder.width, self.draws)
        self.to_empty(device="cpu")
        initialise(self, generator)
        if section.span is not None:
            spread_spans(self, section.span, generator)

    @property
    def is_bottleneck(self) -> bool:
        """Whether a decoder knows nothing of a window but its code."""
        return self.section.attention != "bypass"

    @property
    def takes_previous(self) -> bool:
        """Whether a decoder reads previous words, so that teacher forcing means something."""
        return self.decoder.takes_previous

    @torch.no_grad()
    def expect(self, usual: Tensor) -> None:
        """Have this vector be all that is written at first: the best answer there is before a code says anything."""
        self.decoder.output.weight.zero_()
        self.decoder.output.bias.copy_(usual)

    def read(self, vectors: Tensor, lengths: Tensor) -> Encoded:
        """The codes of windows [B, T, D] that are padded on the right."""
        seen = self.encoder(vectors, lengths)
        z = self.norm(self.code(self.dropout(seen.final)))
        return Encoded(z, lengths, None if self.is_bottleneck else seen.states)

    def decode(self, code: Encoded, inputs: Tensor) -> Tensor:
        """Outputs [B, T, D] in one call: of each step a function of the code and of inputs up to it."""
        return self.decoder(code.z, inputs, code.lengths, code.states)

    def free(self, code: Encoded, most: int | None = None) -> Tensor:
        """Outputs [B, most, D] from the code alone; as many as the longest window has, unless told."""
        steps = int(code.lengths.max()) if most is None else most
        return self.decoder.free(code.z, code.lengths, steps, code.states)

    def previous(self, vectors: Tensor) -> Tensor:
        """What a decoder reads under full teacher forcing: the learned start, then all vectors but the last."""
        if not isinstance(self.decoder, RecurrentDecoder):
            return vectors
        start = self.decoder.start.values.to(vectors.dtype).expand(len(vectors), 1, -1)
        return torch.cat([start, vectors[:, :-1]], dim=1)

    def unread(self, vectors: Tensor) -> Tensor:
        """In place of these vectors what is written of nothing: free running begins with much the same."""
        return self.decoder.output.bias.detach().to(vectors.dtype).expand_as(vectors)

    def reseed(self, seed: int, step: int, part: int = 0, rank: int = 0) -> None:
        """Let everything random in the next pass depend on these numbers alone."""
        self.draws.reseed(seed, step, part, rank)

    def silent(self) -> AbstractContextManager[None]:
        """Within this nothing is dropped."""
        return self.draws.silent()


class BatchNorm(nn.BatchNorm1d):
    """Batch norm that takes a batch of one window, which has no spread of its own, by what it saw before."""

    def forward(self, input: Tensor) -> Tensor:
        """[B, Z] to the same."""
        if self.training and len(input) == 1:
            return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(input)


def interpolate(first: Tensor, last: Tensor, steps: int = 10) -> Tensor:
    """[steps, Z]: codes on the straight line from one to another, both included."""
    if steps < 2:
        raise ValueError(f"a line has 2 points or more, not {steps}")
    share = torch.linspace(0, 1, steps, device=first.device, dtype=first.dtype)
    return torch.lerp(first.expand(steps, -1), last.expand(steps, -1), share[:, None])


def count_parameters(module: nn.Module) -> int:
    """Numbers that are trained."""
    return sum(each.numel() for each in module.parameters() if each.requires_grad)


def misfits(section: ModelSection) -> list[str]:
    """What in a section cannot be built, one line each."""
    found: list[str] = []
    if section.encoder == "pca":
        found.append("encoder: pca is the linear code and has no network; build a LinearCodec")
    if section.encoder == "transformer" and section.bidirectional:
        found.append("bidirectional: a transformer reads in no direction; leave it out")
    attends = section.encoder == "transformer" or section.attention != "none"
    if attends and section.hidden % section.heads:
        found.append(f"heads: {section.hidden} numbers (hidden) cannot be shared by {section.heads} heads evenly")
    return found


def step_weights(part: RecurrentEncoder | TransformerEncoder | RecurrentDecoder | ParallelDecoder) -> int:
    """Weights that every token is multiplied by; those that work once for a window do not count."""
    matrices = ((name, each.numel()) for name, each in part.named_parameters() if each.ndim == 2)
    return sum(numbers for name, numbers in matrices if not name.startswith(_once(part)))


def _once(part: nn.Module) -> tuple[str, ...]:
    """How the names of weights begin that work once for a window."""
    if not isinstance(part, RecurrentDecoder | ParallelDecoder):
        return ()
    first = "initial." if isinstance(part, RecurrentDecoder) else "input."
    slots = part.memory is not None and isinstance(part.memory.source, Slots)
    return (first, "memory.source.", "memory.attention.memory.") if slots else (first,)


def _norm(section: ModelSection) -> nn.Module:
    match section.code_norm:
        case "none":
            return nn.Identity()
        case "layer":
            return nn.LayerNorm(section.code)
        case "batch":
            return BatchNorm(section.code)
