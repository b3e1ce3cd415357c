"""The losses on held-out windows."""

from typing import Any

import numpy as np
import pytest
import torch
from made_autoencoder import FIRST, WORDS, alive, model, table

from headway.learners.autoencoder.config import LossSection
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.loss import Targets, losses
from headway.learners.autoencoder.padded import padded
from headway.learners.autoencoder.validation import validation_losses


def corpus() -> Corpus:
    draw = np.random.default_rng(1)
    lengths = draw.integers(1, 7, size=12)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = draw.integers(FIRST, WORDS, size=starts[-1])
    return Corpus(ids, starts, draw.random(len(ids)) < 0.7, np.arange(12))


def by_hand(made: Any, section: LossSection, held: Corpus) -> tuple[float, float, float]:
    """All windows at once: the loss from codes alone, with true words given, and the weight of both."""
    part = padded(held.ids, held.starts, held.owned, device=torch.device("cpu"))
    targets = Targets(part.ids, part.weights, made.table, made.unit)
    made.eval()
    with torch.no_grad():
        seen = made.read(part.ids, part.lengths)
        free = made.free(seen.z, part.lengths, seen.states)
        given = made.decode(seen.z, made.previous(part.ids), seen.lengths, seen.states)
        found = [losses(section, each, targets, seen.z, made.logits(each)) for each in (free, given)]
    return float(found[0].total), float(found[1].total), float(found[0].weight)


@pytest.mark.parametrize("kind", ["cosine+mse", "hybrid"])
def test_losses_are_those_of_all_owned_tokens(kind: Any) -> None:
    made = alive(model(dropout=0.5, token_head="tied" if kind == "hybrid" else "none")).train()
    section, held = LossSection(kind=kind), corpus()

    found = validation_losses(made, section, held)

    free, given, weight = by_hand(made, section, held)
    assert weight == held.owned.sum()
    assert found["valid_loss"].value == pytest.approx(free / weight, rel=1e-5)
    assert found["valid_forced_loss"].value == pytest.approx(given / weight, rel=1e-5)
    assert free != pytest.approx(given, rel=1e-3)


def test_a_decoder_that_reads_no_words_has_no_forced_loss() -> None:
    found = validation_losses(alive(model(decoder="parallel")), LossSection(), corpus())

    assert set(found) == {"valid_loss"}


def test_words_without_a_direction_weigh_nothing() -> None:
    held, made = corpus(), alive(model())
    gone = int(held.ids[held.owned][0])
    vectors = table()
    vectors[gone] = 0
    made.table.copy_(vectors)
    made.unit.copy_(torch.nn.functional.normalize(vectors, dim=1))

    found = validation_losses(made, LossSection(), held)

    assert found["valid_loss"].weight == (held.ids[held.owned] != gone).sum()


def test_looking_leaves_the_model_as_it_was() -> None:
    made = alive(model(code_norm="batch")).train()
    before = {name: each.clone() for name, each in made.state_dict().items()}

    validation_losses(made, LossSection(), corpus())

    assert made.training
    assert all(torch.equal(each, before[name]) for name, each in made.state_dict().items())
