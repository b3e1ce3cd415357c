"""The seeds' losses as modules of their own."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.errors import DataError, PlanError
from headway.tools.losses import (
    CompositeLoss,
    CosineReconstructionLoss,
    EnhancedCosineLoss,
    HybridTokenEmbeddingLoss,
    MaskedMSELoss,
    TokenReconstructionLoss,
)

torch.set_num_threads(1)

MASK = torch.tensor([[True, True, True], [True, False, False]])
IDS = torch.tensor([[1, 4, 2], [3, 0, 0]])


def _pair(seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(2, 3, 5, generator=draw), torch.randn(2, 3, 5, generator=draw)


@pytest.mark.parametrize("loss", [MaskedMSELoss, EnhancedCosineLoss, CosineReconstructionLoss])
def test_reductions_agree_and_padding_counts_nothing(loss: Any) -> None:
    made, due = _pair()
    other = torch.where(MASK[..., None], made, 9.0)
    each = loss("none")(made, due, MASK)

    assert not each[~MASK].any()
    assert torch.isclose(loss("sum")(other, due, MASK), each.sum())
    assert torch.isclose(loss()(other, due, MASK), each.sum() / 4)
    assert torch.isclose(loss()(made, due), loss("none")(made, due).mean())


def test_the_squared_error_is_that_of_the_numbers() -> None:
    made, due = _pair()

    assert torch.isclose(MaskedMSELoss()(made, due, MASK), F.mse_loss(made[MASK], due[MASK]))


@pytest.mark.parametrize("normalize", [True, False])
def test_the_enhanced_cosine_mixes_cosine_and_squared_error(normalize: bool) -> None:
    made, due = (each[MASK] for each in _pair())
    target = F.normalize(due, dim=-1) if normalize else due
    away = (1 - torch.tanh(2 * F.cosine_similarity(made, due, dim=-1))).mean()
    loss = EnhancedCosineLoss(temperature=2, mse_weight=0.25, normalize_targets=normalize)

    assert torch.isclose(loss(*_pair(), MASK), 0.75 * away + 0.25 * F.mse_loss(made, target), atol=1e-6)


@pytest.mark.parametrize("normalize", [True, False])
def test_windows_can_be_compared_by_their_means(normalize: bool) -> None:
    made, due = _pair()
    target = F.normalize(due, dim=-1) if normalize else due
    rows = [(made[row][MASK[row]], target[row][MASK[row]]) for row in range(2)]
    away = [1 - F.cosine_similarity(a.mean(0), b.mean(0), dim=0) for a, b in rows]
    squared = [F.mse_loss(a, b) for a, b in rows]
    expected = sum(0.9 * a + 0.1 * b for a, b in zip(away, squared, strict=True)) / 2
    loss = EnhancedCosineLoss(sequence_level=True, mse_weight=0.1, normalize_targets=normalize)

    assert torch.isclose(loss(made, due, MASK), torch.as_tensor(expected), atol=1e-6)


def test_no_valid_token_is_a_loss_of_nothing() -> None:
    made, due = _pair()
    for loss in (MaskedMSELoss(), EnhancedCosineLoss(), EnhancedCosineLoss(sequence_level=True)):
        assert loss(made, due, torch.zeros_like(MASK)).item() == 0


def test_a_composite_is_the_weighted_sum_of_what_it_names() -> None:
    made, due = _pair()
    loss = CompositeLoss({"mse": 2.0, "cosine": 0.5, "code": 0.1})
    found = loss(made, due, MASK, {"code": torch.tensor(3.0)})
    plain = CompositeLoss()(made, due, MASK)

    assert torch.isclose(found["total"], 2 * found["mse"] + 0.5 * found["cosine"] + 0.3)
    assert torch.isclose(plain["total"], plain["mse"] + 0.1 * plain["cosine"])
    assert torch.isclose(found["mse"], MaskedMSELoss()(made, due, MASK))


def test_a_weight_without_a_loss_or_the_other_way_round_is_an_error() -> None:
    made, due = _pair()
    with pytest.raises(PlanError, match="cosine: has no weight"):
        CompositeLoss({"mse": 1.0})
    with pytest.raises(PlanError, match="code: has a weight or a loss"):
        CompositeLoss({"mse": 1.0, "code": 1.0}, {"mse": MaskedMSELoss()})(made, due)
    with pytest.raises(PlanError, match="extra"):
        CompositeLoss()(made, due, None, {"extra": torch.tensor(1.0)})


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_of_words_is_cross_entropy_of_those_that_count(smoothing: float) -> None:
    made, _ = _pair()
    loss = TokenReconstructionLoss(6, 5, smoothing)
    scores = loss.embedding_to_logits(made)
    mask = MASK.clone()
    ids = IDS.clone()
    ids[0, 1] = -100
    mask[0, 1] = False

    assert torch.isclose(
        loss(made, ids, MASK), F.cross_entropy(scores[mask], IDS[mask], label_smoothing=smoothing), atol=1e-6
    )


def test_the_hybrid_weighs_words_and_vectors_and_counts_hits() -> None:
    made, due = _pair()
    loss = HybridTokenEmbeddingLoss(6, 5, token_weight=6, embedding_weight=2)
    with torch.no_grad():
        loss.token_loss.embedding_to_logits.bias[3] = 1e4
    found = loss(made, due, IDS, MASK)

    assert torch.isclose(found["total_loss"], 0.75 * found["token_loss"] + 0.25 * found["embedding_loss"])
    assert torch.isclose(found["embedding_loss"], EnhancedCosineLoss(mse_weight=0.1)(made, due, MASK))
    assert found["token_accuracy"].item() == 0.25


def test_the_map_to_words_is_trained_and_drawn_from_its_seed() -> None:
    before = torch.get_rng_state()
    first, again, other = (HybridTokenEmbeddingLoss(6, 5, seed=seed) for seed in (1, 1, 2))
    made, due = _pair()
    first(made, due, IDS, MASK)["total_loss"].backward()
    weights: list[nn.Linear] = [each.token_loss.embedding_to_logits for each in (first, again, other)]

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(weights[0].weight, weights[1].weight)
    assert not torch.equal(weights[0].weight, weights[2].weight)
    assert weights[0].weight.grad is not None
    assert weights[0].weight.grad.any()


def test_what_does_not_fit_together_is_refused() -> None:
    made, due = _pair()
    with pytest.raises(DataError, match=r"\(2, 3, 5\), targets \(2, 2, 5\)"):
        MaskedMSELoss()(made, due[:, :2])
    with pytest.raises(DataError):
        EnhancedCosineLoss()(made, due, MASK[:, :2])
    with pytest.raises(DataError):
        TokenReconstructionLoss(6, 5)(made, IDS[:, :2])
    with pytest.raises(PlanError, match="avg"):
        MaskedMSELoss("avg")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="not both 0"):
        HybridTokenEmbeddingLoss(6, 5, token_weight=0, embedding_weight=0)
