"""What is made small, as sums over tokens: the parts of a step add up to the whole, whatever they are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from headway.errors import PlanError
from headway.learners.autoencoder.config import LossSection

# Below this the length of an output counts as this, so that nothing is divided by zero.
_SHORTEST_SQUARE = 1e-16


@dataclass(frozen=True, slots=True)
class Targets:
    """What has to come out: words of a table, and what each counts."""

    ids: Tensor
    """int64[B, T]."""
    weights: Tensor
    """float[B, T]: 0 for padding and for words without a direction or left out."""
    table: Tensor
    """float[V, D]: the vectors as they are."""
    unit: Tensor
    """float[V, D]: the same at length 1, zero where there is no direction."""


@dataclass(frozen=True, slots=True)
class Losses:
    """Sums over the tokens of a batch or of a part of one; divided by all their weights they are means."""

    total: Tensor
    """What a gradient is taken of."""
    weight: Tensor
    """The sum of the weights."""
    parts: dict[str, Tensor]
    """What it is made of, without a gradient; cosines and squared errors are there even where nothing asks for them."""


def losses(section: LossSection, output: Tensor, targets: Targets, z: Tensor, logits: Tensor | None = None) -> Losses:
    """The loss of outputs [B, T, D] and codes [B, Z], in fp32 whatever computed them.

    Penalties of a window's code, and of its mean, count as often as its tokens do: so parts of a batch add up.
    """
    with torch.autocast(output.device.type, enabled=False):
        output, z, weights = output.float(), z.float(), targets.weights.float()
        cosine, squared = vector_terms(section, output, targets)
        parts = {"cosine": cosine, "squared": squared}
        total = _of_vectors(section, cosine, squared)
        if section.kind in ("token", "hybrid"):
            parts["token"] = word_terms(_needed(logits), targets.ids, section.label_smoothing)
            total = _with_words(section, total, parts["token"])
        sums = {name: (weights * term).sum() for name, term in parts.items()}
        summed = (weights * total).sum()
        rows = weights.sum(dim=1)
        for name, weight, term in _row_terms(section, output, targets, z):
            sums[name] = (rows * term).sum()
            summed = summed + weight * sums[name]
        return Losses(summed, weights.sum(), {name: each.detach() for name, each in sums.items()})


def vector_terms(section: LossSection, output: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    """[B, T] each: the cosine between output and target, and the mean squared difference of their numbers."""
    unit = F.embedding(targets.ids, targets.unit)
    length = None if section.normalize_targets else targets.table.norm(dim=1)[targets.ids]
    return pair_terms(output, unit, length)


def pair_terms(output: Tensor, unit: Tensor, length: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Cosine and mean squared difference of outputs [..., D] and targets: unit vectors times a length."""
    along, square = (output * unit).sum(dim=-1), output.square().sum(dim=-1)
    cosine = along * square.clamp_min(_SHORTEST_SQUARE).rsqrt()
    if length is None:
        size, along_target = unit.square().sum(dim=-1), along
    else:
        size, along_target = length.square(), along * length
    return cosine, (square - 2 * along_target + size) / output.shape[-1]


def word_terms(logits: Tensor, ids: Tensor, smoothing: float) -> Tensor:
    """[B, T]: how surprising each word is, in nats."""
    flat = F.cross_entropy(logits.float().flatten(0, 1), ids.flatten(), reduction="none", label_smoothing=smoothing)
    return flat.view(ids.shape)


def sharpened(cosine: Tensor, temperature: float) -> Tensor:
    """The cosine, or its tanh after multiplying where the temperature is not 1."""
    return cosine if temperature == 1 else torch.tanh(temperature * cosine)


def sequence_cosine(output: Tensor, unit: Tensor, weights: Tensor) -> Tensor:
    """[B]: the cosine between the weighted means of a window's outputs and targets."""
    made, due = ((weights[..., None] * each).sum(dim=1) for each in (output, unit))
    lengths = made.square().sum(dim=-1).clamp_min(_SHORTEST_SQUARE) * due.square().sum(dim=-1).clamp_min(
        _SHORTEST_SQUARE
    )
    return (made * due).sum(dim=-1) * lengths.rsqrt()


def _of_vectors(section: LossSection, cosine: Tensor, squared: Tensor) -> Tensor:
    away = 1 - sharpened(cosine, section.temperature)
    match section.kind:
        case "cosine":
            return away
        case "mse":
            return squared
        case _:
            return (1 - section.mse_weight) * away + section.mse_weight * squared


def _with_words(section: LossSection, vectors: Tensor, words: Tensor) -> Tensor:
    if section.kind == "token":
        return words
    return section.token_weight * words + (1 - section.token_weight) * vectors


def _row_terms(section: LossSection, output: Tensor, targets: Targets, z: Tensor) -> list[tuple[str, float, Tensor]]:
    terms: list[tuple[str, float, Tensor]] = [
        ("code_l2", section.code_l2, z.square().mean(dim=-1)),
        ("code_l1", section.code_l1, z.abs().mean(dim=-1)),
    ]
    if section.sequence_weight:
        unit = F.embedding(targets.ids, targets.unit)
        away = 1 - sequence_cosine(output, unit, targets.weights.float())
        terms.append(("sequence", section.sequence_weight, away))
    return [(name, weight, term) for name, weight, term in terms if weight]


def _needed(logits: Tensor | None) -> Tensor:
    if logits is None:
        raise PlanError("loss.kind", ["token and hybrid score words: set model.token_head to free or tied"])
    return logits
