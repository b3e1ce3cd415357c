"""Losses: their formulas, that parts add up to the whole, and that each trains what it should."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from made_autoencoder import DIMENSIONS, LENGTHS, model, table, windows
from torch import Tensor

from headway.errors import PlanError
from headway.learners.autoencoder.config import LossSection
from headway.learners.autoencoder.loss import Losses, Targets, losses
from headway.learners.autoencoder.model import Autoencoder

KINDS = ["cosine", "mse", "cosine+mse", "token", "hybrid"]


def _targets(weights: Tensor | None = None) -> Targets:
    ids = windows()
    valid = (torch.arange(6) < LENGTHS[:, None]).float()
    return Targets(ids, valid if weights is None else weights, table(), F.normalize(table(), dim=1))


def _outputs() -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(4)
    shapes = ((3, 6, DIMENSIONS), (3, 4), (3, 6, len(table())))
    output, z, logits = (torch.randn(shape, generator=draw) for shape in shapes)
    return output, z, logits


def _mean(found: Losses) -> float:
    return float(found.total / found.weight)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_is_what_its_formula_says(kind: Any, normalize: bool) -> None:
    targets, (output, z, logits) = _targets(), _outputs()
    section = LossSection(kind=kind, normalize_targets=normalize, code_l2=0, mse_weight=0.3, token_weight=0.6)
    valid = targets.weights.bool()
    due = (targets.unit if normalize else targets.table)[targets.ids][valid]
    away = 1 - F.cosine_similarity(output[valid], due, dim=-1)
    squared = (output[valid] - due).square().mean(dim=-1)
    words = F.cross_entropy(logits[valid], targets.ids[valid], reduction="none", label_smoothing=0.1)
    mixed = 0.7 * away + 0.3 * squared
    expected = {
        "cosine": away,
        "mse": squared,
        "cosine+mse": mixed,
        "token": words,
        "hybrid": 0.6 * words + 0.4 * mixed,
    }

    found = losses(section, output, targets, z, logits)

    assert _mean(found) == pytest.approx(float(expected[kind].mean()), rel=1e-5)
    assert float(found.weight) == int(LENGTHS.sum())
    assert float(found.parts["cosine"] / found.weight) == pytest.approx(float(1 - away.mean()), rel=1e-5)
    assert float(found.parts["squared"] / found.weight) == pytest.approx(float(squared.mean()), rel=1e-5)


def test_a_temperature_sharpens_the_cosine() -> None:
    targets, (output, z, _) = _targets(), _outputs()
    section = LossSection(kind="cosine", code_l2=0, temperature=3)
    valid = targets.weights.bool()
    cosine = F.cosine_similarity(output[valid], targets.unit[targets.ids][valid], dim=-1)

    found = losses(section, output, targets, z)

    assert _mean(found) == pytest.approx(float((1 - torch.tanh(3 * cosine)).mean()), rel=1e-5)


@pytest.mark.parametrize(("name", "norm"), [("code_l2", lambda z: z.square()), ("code_l1", lambda z: z.abs())])
def test_penalties_of_codes_count_a_window_by_its_tokens(name: str, norm: Any) -> None:
    targets, (output, z, _) = _targets(), _outputs()
    none = LossSection(code_l2=0)
    section = LossSection(**{"code_l2": 0, name: 0.5})

    more = losses(section, output, targets, z).total - losses(none, output, targets, z).total

    assert float(more) == pytest.approx(0.5 * float((LENGTHS * norm(z).mean(dim=1)).sum()), rel=1e-4)
    assert name not in losses(none, output, targets, z).parts


def test_the_mean_of_a_window_can_be_asked_for() -> None:
    targets, (output, z, _) = _targets(), _outputs()
    section = LossSection(code_l2=0, sequence_weight=2)
    valid = targets.weights[..., None]
    made, due = ((valid * each).sum(dim=1) / LENGTHS[:, None] for each in (output, targets.unit[targets.ids]))
    expected = (LENGTHS * (1 - F.cosine_similarity(made, due))).sum()

    found = losses(section, output, targets, z)

    assert float(found.parts["sequence"]) == pytest.approx(float(expected), rel=1e-5)
    plain = losses(LossSection(code_l2=0), output, targets, z)
    assert float(found.total - plain.total) == pytest.approx(2 * float(expected), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_batch_add_up_to_the_whole(kind: Any) -> None:
    targets, (output, z, logits) = _targets(), _outputs()
    section = LossSection(kind=kind, sequence_weight=0.5, code_l1=0.1)
    whole = losses(section, output, targets, z, logits)
    rows = [slice(0, 1), slice(1, 3)]
    some = [
        losses(
            section,
            output[row],
            Targets(targets.ids[row], targets.weights[row], targets.table, targets.unit),
            z[row],
            logits[row],
        )
        for row in rows
    ]

    assert float(sum(each.total for each in some)) == pytest.approx(float(whole.total), rel=1e-6)
    assert float(sum(each.weight for each in some)) == float(whole.weight)
    for name, summed in whole.parts.items():
        assert float(sum(each.parts[name] for each in some)) == pytest.approx(float(summed), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_weight_changes_nothing(kind: Any) -> None:
    (output, z, logits), targets = _outputs(), _targets()
    section = LossSection(kind=kind, sequence_weight=1)
    hidden = targets.weights == 0
    other, scores = (torch.where(hidden[..., None], 50.0, each) for each in (output, logits))

    assert torch.equal(
        losses(section, other, targets, z, scores).total, losses(section, output, targets, z, logits).total
    )


def test_context_can_count_less() -> None:
    output, z, _ = _outputs()
    weights = _targets().weights.clone()
    weights[:, 0] *= 0.25
    section = LossSection(kind="cosine", code_l2=0)
    half, full = losses(section, output, _targets(weights), z), losses(section, output, _targets(), z)

    assert float(half.weight) == float(full.weight) - 3 * 0.75
    assert float(half.total) < float(full.total)


def test_nothing_at_all_is_no_error_and_no_gradient() -> None:
    output, z, _ = _outputs()
    output.requires_grad_()
    found = losses(LossSection(), output, _targets(torch.zeros(3, 6)), z)
    found.total.backward()

    assert found.total.tolist() == found.weight.tolist() == 0
    assert output.grad is not None
    assert not output.grad.any()


@pytest.mark.parametrize("kind", ["cosine", "cosine+mse"])
def test_an_output_of_nothing_has_a_finite_gradient(kind: Any) -> None:
    output = torch.zeros(3, 6, DIMENSIONS, requires_grad=True)
    losses(LossSection(kind=kind, sequence_weight=1), output, _targets(), torch.zeros(3, 4)).total.backward()

    assert output.grad is not None
    assert output.grad.isfinite().all()


def test_losses_are_computed_in_full_precision_whatever_surrounds_them() -> None:
    targets, (output, z, logits) = _targets(), _outputs()
    output, z, logits = (each.bfloat16() for each in (output, z, logits))
    section = LossSection(kind="hybrid")
    with torch.autocast("cpu", torch.bfloat16):
        found = losses(section, output, targets, z, logits)

    assert found.total.dtype == torch.float32
    assert torch.equal(found.total, losses(section, output.float(), targets, z.float(), logits.float()).total)


@pytest.mark.parametrize("kind", ["token", "hybrid"])
def test_words_need_a_head_that_scores_them(kind: Any) -> None:
    output, z, _ = _outputs()

    with pytest.raises(PlanError, match="token_head"):
        losses(LossSection(kind=kind), output, _targets(), z)


@pytest.mark.parametrize("head", ["free", "tied"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_step_changes_every_parameter_that_a_loss_can_reach(kind: Any, head: str) -> None:
    made = model(token_head=head, trainable_vectors=True, attention="code", encoder="lstm", layers=2)
    # What starts as zero passes nothing to what lies behind it; one step before the one that counts gets it going.
    _step(made, kind)
    before = {name: each.detach().clone() for name, each in made.named_parameters()}
    _step(made, kind)

    still = {name for name, each in made.named_parameters() if torch.equal(each, before[name])}
    asks_words = kind in ("token", "hybrid")
    assert still == (set() if asks_words else {name for name in before if name.startswith("head")})


def test_training_makes_each_loss_smaller() -> None:
    for kind in KINDS:
        made = model(token_head="tied")
        first = _step(made, kind)
        for _ in range(30):
            last = _step(made, kind)

        assert last < 0.9 * first, kind


def _step(made: Autoencoder, kind: Any) -> float:
    optimizer = torch.optim.SGD(made.parameters(), lr=0.3)
    targets = Targets(windows(), _targets().weights, made.table, made.unit)
    code = made.read(targets.ids, LENGTHS)
    output = made.decode(code.z, made.previous(targets.ids), LENGTHS)
    found = losses(LossSection(kind=kind), output, targets, code.z, made.logits(output))
    loss = found.total / found.weight
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss.detach())
