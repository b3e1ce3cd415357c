"""New text from a code: word after word, each drawn by how near it is to what the decoder writes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from headway.errors import RunError
from headway.learners.autoencoder.decoders import RecurrentDecoder, State
from headway.learners.autoencoder.generation import GenerationSettings
from headway.learners.autoencoder.model import Autoencoder

__all__ = ["Codes", "GenerationSettings", "generate"]

LINE_BREAK, STANZA_BREAK, POEM_START, POEM_END = 3, 4, 5, 6
# Padding, unknown words, masks and beginnings are no text.
BANNED = (0, 1, 2, POEM_START)
# The shape of a poem is repetition.
_REPEATABLE = (LINE_BREAK, STANZA_BREAK)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Where codes of training windows lie: a normal distribution."""

    mean: Tensor
    """float[Z]."""
    spread: Tensor
    """float[Z, Z], a covariance, or float[Z], a standard deviation for each number."""

    def draw(self, generator: torch.Generator) -> Tensor:
        """float[1, Z]: a code such as training windows have."""
        noise = torch.randn(self.mean.shape, generator=generator, dtype=torch.float64)
        spread = self.spread.double()
        if spread.ndim == 2:
            # Not Cholesky's: numbers of codes depend on each other, and a covariance is then singular.
            sizes, directions = torch.linalg.eigh(spread)
            noise = directions @ (sizes.clamp_min(0).sqrt() * noise)
        else:
            noise = spread * noise
        return (self.mean.double() + noise).to(self.mean.dtype)[None]


@torch.no_grad()
def generate(
    model: Autoencoder,
    z: Tensor,
    settings: GenerationSettings,
    generator: torch.Generator,
    *,
    learned: Tensor | None = None,
) -> list[int]:
    """Ids of new text for one code [1, Z], up to the poem's end or `length`; same generator, same text.

    `learned` says of each id whether it was ever learned: no other is written; absent: all were.
    A RunError where the decoder needs more than a code, or no word can be chosen.
    """
    if not model.is_bottleneck:
        raise RunError("attention = 'bypass' writes from the encoder's states, which new text does not have")
    was_training = model.training
    model.eval()
    try:
        return _write(_writer(model, z, settings.length), _Choice(model, settings, generator, learned), settings.length)
    finally:
        model.train(was_training)


def _write(writer: _Steps | _Rows, choice: _Choice, length: int) -> list[int]:
    ids: list[int] = []
    while len(ids) < length:
        word = choice.next(writer.write(ids), ids)
        if word == POEM_END:
            break
        ids.append(word)
    return ids


class _Steps:
    """A decoder that reads the word chosen last."""

    def __init__(self, decoder: RecurrentDecoder, unit: Tensor, z: Tensor, length: int) -> None:
        self._decoder = decoder
        self._unit = unit
        self._state: State = decoder.begin(z)
        self._held = decoder.held(z, None)
        self._lengths = torch.tensor([length], device=z.device)

    def write(self, ids: list[int]) -> Tensor:
        """float[D]: the vector after these words, the last of which is new."""
        given = self._unit[ids[-1]] if ids else self._decoder.start.values
        output, self._state = self._decoder.step(given[None], self._state, len(ids), self._held, self._lengths)
        return output[0]


class _Rows:
    """A decoder that wrote everything before any word was chosen."""

    def __init__(self, rows: Tensor) -> None:
        self._rows = rows

    def write(self, ids: list[int]) -> Tensor:
        """float[D]: the vector at the place after these words."""
        return self._rows[len(ids)]


def _writer(model: Autoencoder, z: Tensor, length: int) -> _Steps | _Rows:
    decoder = model.network.decoder
    if isinstance(decoder, RecurrentDecoder):
        return _Steps(decoder, model.unit, z, length)
    return _Rows(model.free(z, length)[0])


class _Choice:
    """Draws words by their scores."""

    def __init__(
        self, model: Autoencoder, settings: GenerationSettings, generator: torch.Generator, learned: Tensor | None
    ) -> None:
        self._model = model
        self._settings = settings
        self._generator = generator
        self._allowed = model.unit.any(dim=1) if model.head is None else torch.ones(len(model.unit), dtype=torch.bool)
        self._allowed = self._allowed.cpu().clone()
        self._allowed[list(BANNED)] = False
        if learned is not None:
            self._allowed &= learned
        if not self._allowed.any():
            raise RunError("no word can be chosen: every id is a mark, has no vector or was never learned")

    def next(self, output: Tensor, ids: list[int]) -> int:
        """The word after these, for a vector [D]."""
        scores = self._scores(output, ids)
        if not self._settings.temperature:
            return int(scores.argmax())
        likely, words = (scores / self._settings.temperature).softmax(dim=0).sort(descending=True, stable=True)
        likely = likely[: self._settings.top_k]
        # The word that crosses the limit still belongs to those that reach it.
        before = likely.cumsum(dim=0) / likely.sum() - likely / likely.sum()
        kept = likely[before < self._settings.top_p]
        return int(words[torch.multinomial(kept, 1, generator=self._generator)])

    def _scores(self, output: Tensor, ids: list[int]) -> Tensor:
        scores = self._model.logits(output)
        if scores is None:
            scores = self._settings.sharpness * (self._model.unit @ F.normalize(output, dim=0))
        scores = scores.double().cpu()
        again = sorted(set(ids) - set(_REPEATABLE))
        scores[again] = _less(scores[again], self._settings.repetition_penalty)
        scores[POEM_END] = _less(scores[POEM_END], self._settings.length_penalty)
        return scores.masked_fill(~self._allowed, -torch.inf)


def _less(scores: Tensor, penalty: float) -> Tensor:
    return torch.where(scores > 0, scores / penalty, scores * penalty)
