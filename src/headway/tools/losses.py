"""The seeds' losses as modules: predictions, targets and a mask in, a number out.

What differs from the seeds: tokens without a direction have a cosine of 0 and a finite gradient, a batch without a
valid token has a loss of 0, and first values are drawn from a seed, not from torch's global generator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.errors import DataError, PlanError
from headway.learners.autoencoder.initial import initialise
from headway.learners.autoencoder.loss import pair_terms, sequence_cosine, sharpened, word_terms

Reduction = Literal["mean", "sum", "none"]


class MaskedMSELoss(nn.Module):
    """The mean squared difference of valid tokens; with `none`, of each token."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.reduction: Reduction = _reduction(reduction)

    def forward(self, predictions: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
        """Of [B, T, D] and [B, T, D], where the mask [B, T] says so."""
        _check(predictions.shape, targets.shape)
        mask = _weights(predictions, mask)
        return _reduced((predictions - targets).square().mean(dim=-1), mask, self.reduction)


class EnhancedCosineLoss(nn.Module):
    """One minus the cosine, with a share of squared error; of tokens, or of the means of windows."""

    def __init__(
        self,
        reduction: Reduction = "mean",
        temperature: float = 1.0,
        mse_weight: float = 0.0,
        sequence_level: bool = False,
        normalize_targets: bool = True,
    ) -> None:
        super().__init__()
        self.reduction: Reduction = _reduction(reduction)
        self.temperature = temperature
        self.mse_weight = mse_weight
        self.sequence_level = sequence_level
        self.normalize_targets = normalize_targets

    def forward(self, predictions: Tensor, targets: Tensor, mask: Tensor | None = None) -> Tensor:
        """Of [B, T, D] and [B, T, D], where the mask [B, T] says so."""
        _check(predictions.shape, targets.shape)
        mask = _weights(predictions, mask)
        unit = F.normalize(targets, dim=-1)
        cosine, squared = pair_terms(predictions, unit, None if self.normalize_targets else targets.norm(dim=-1))
        if self.sequence_level:
            due = unit if self.normalize_targets else targets
            cosine = sequence_cosine(predictions, due, mask)
            squared = (mask * squared).sum(dim=1) / mask.sum(dim=1).clamp_min(1)
            mask = mask.any(dim=1).to(mask.dtype)
        away = 1 - sharpened(cosine, self.temperature)
        return _reduced((1 - self.mse_weight) * away + self.mse_weight * squared, mask, self.reduction)


class CosineReconstructionLoss(EnhancedCosineLoss):
    """One minus the cosine of valid tokens."""

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__(reduction=reduction)


class CompositeLoss(nn.Module):
    """A weighted sum of losses, each of which is given back as well; a PlanError for a weight without a loss."""

    def __init__(
        self, loss_weights: Mapping[str, float] | None = None, losses: Mapping[str, nn.Module] | None = None
    ) -> None:
        super().__init__()
        made = {"mse": MaskedMSELoss(), "cosine": CosineReconstructionLoss()} if losses is None else dict(losses)
        self.losses = nn.ModuleDict(made)
        self.loss_weights = {"mse": 1.0, "cosine": 0.1} if loss_weights is None else dict(loss_weights)
        if without := sorted(self.losses.keys() - self.loss_weights.keys()):
            raise PlanError("CompositeLoss", [f"{name}: has no weight in loss_weights" for name in without])

    def forward(
        self,
        predictions: Tensor,
        targets: Tensor,
        mask: Tensor | None = None,
        additional_losses: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Each loss by name, and `total`; additional ones are numbers already and need a weight."""
        found = {name: loss(predictions, targets, mask) for name, loss in self.losses.items()}
        found |= dict(additional_losses or {})
        if given := sorted(self.loss_weights.keys() ^ found.keys()):
            raise PlanError("CompositeLoss", [f"{name}: has a weight or a loss, but not both" for name in given])
        weighed = [self.loss_weights[name] * loss for name, loss in found.items()]
        return found | {"total": torch.stack(weighed).sum()}


class TokenReconstructionLoss(nn.Module):
    """How surprising the words are, in nats, by scores that a map of its own makes of predicted vectors."""

    def __init__(
        self,
        vocab_size: int,
        embedding_dim: int,
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.label_smoothing = label_smoothing
        self.ignore_index = ignore_index
        self.reduction: Reduction = _reduction(reduction)
        with torch.device("meta"):
            linear = nn.Linear(embedding_dim, vocab_size)
        self.embedding_to_logits = linear.to_empty(device="cpu")
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, predicted_embeddings: Tensor, target_token_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Of [B, T, D] and ids [B, T], where the mask [B, T] says so."""
        _check(predicted_embeddings.shape[:2], target_token_ids.shape)
        mask = _weights(predicted_embeddings, mask)
        counted = target_token_ids != self.ignore_index
        ids = torch.where(counted, target_token_ids, 0)
        terms = word_terms(self.embedding_to_logits(predicted_embeddings), ids, self.label_smoothing)
        return _reduced(terms, mask * counted, self.reduction)


class HybridTokenEmbeddingLoss(nn.Module):
    """Words and vectors together; the two weights are scaled to add up to 1."""

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        vocab_size: int,
        embedding_dim: int,
        token_weight: float = 0.7,
        embedding_weight: float = 0.3,
        token_label_smoothing: float = 0.1,
        embedding_mse_weight: float = 0.1,
        temperature: float = 1.0,
        reduction: Reduction = "mean",
        seed: int = 0,
    ) -> None:
        super().__init__()
        whole = token_weight + embedding_weight
        if not (token_weight >= 0 and embedding_weight >= 0 and whole > 0):
            problem = (
                f"token_weight and embedding_weight: 0 or more, not both 0; not {token_weight}, {embedding_weight}"
            )
            raise PlanError("HybridTokenEmbeddingLoss", [problem])
        self.token_weight, self.embedding_weight = token_weight / whole, embedding_weight / whole
        self.token_loss = TokenReconstructionLoss(
            vocab_size, embedding_dim, token_label_smoothing, reduction=reduction, seed=seed
        )
        self.embedding_loss = EnhancedCosineLoss(reduction, temperature=temperature, mse_weight=embedding_mse_weight)

    def forward(
        self,
        predicted_embeddings: Tensor,
        target_embeddings: Tensor,
        target_token_ids: Tensor,
        mask: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """`total_loss`, its two parts, and the share of words that are predicted best."""
        token = self.token_loss(predicted_embeddings, target_token_ids, mask)
        vector = self.embedding_loss(predicted_embeddings, target_embeddings, mask)
        return {
            "total_loss": self.token_weight * token + self.embedding_weight * vector,
            "token_loss": token,
            "embedding_loss": vector,
            "token_accuracy": self._accuracy(predicted_embeddings, target_token_ids, mask),
        }

    @torch.no_grad()
    def _accuracy(self, predicted: Tensor, ids: Tensor, mask: Tensor | None) -> Tensor:
        valid = _weights(predicted, mask)
        hits = self.token_loss.embedding_to_logits(predicted).argmax(dim=-1) == ids
        return _reduced(hits.to(valid.dtype), valid * (ids != self.token_loss.ignore_index), "mean")


def _reduction(name: Reduction) -> Reduction:
    if name not in ("mean", "sum", "none"):
        raise PlanError("losses", [f"reduction: should be mean, sum or none, not {name!r}"])
    return name


def _check(predictions: torch.Size, targets: torch.Size) -> None:
    """A DataError for shapes that do not belong to the same tokens."""
    if predictions != targets:
        raise DataError(f"predictions are {tuple(predictions)}, targets {tuple(targets)}: they have to be alike")


def _weights(predictions: Tensor, mask: Tensor | None) -> Tensor:
    """float[B, T]: what each token counts; a DataError for a mask of other windows."""
    shape = predictions.shape[:2]
    if mask is None:
        return predictions.new_ones(shape)
    _check(shape, mask.shape)
    return mask.to(predictions.dtype)


def _reduced(terms: Tensor, mask: Tensor, reduction: Reduction) -> Tensor:
    weighed = terms * mask
    if reduction == "none":
        return weighed
    return weighed.sum() if reduction == "sum" else weighed.sum() / mask.sum().clamp_min(1)
