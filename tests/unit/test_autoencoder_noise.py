"""Noise on what an encoder reads."""

from collections import Counter
from typing import get_args

import pytest
import torch
from made_autoencoder import FIRST, LENGTHS, WORDS, alive, model, windows

from headway.learners.autoencoder.config import NoiseSection
from headway.learners.autoencoder.draws import Draws
from headway.learners.autoencoder.noise import Kind, Noise

ROWS = 300
ID_KINDS: list[Kind] = ["words", "mask", "swap", "synonym"]
# Two neighbours each: the next word and the one after it.
NEAR = torch.stack([(torch.arange(WORDS) + step) % WORDS for step in (1, 2)], dim=1)


def _ids() -> torch.Tensor:
    return torch.randint(FIRST, WORDS, (ROWS, 20), generator=torch.Generator().manual_seed(1))


def _lengths() -> torch.Tensor:
    return torch.full((ROWS,), 15)


@pytest.mark.parametrize(("epoch", "amount"), [(0.0, 0.05), (2.5, 0.0875), (5.0, 0.125), (10.0, 0.2), (99.0, 0.2)])
def test_noise_grows_over_the_epochs_of_its_ramp(epoch: float, amount: float) -> None:
    section = NoiseSection(kind="mask", amount=0.2, from_amount=0.05, ramp=10)

    assert Noise.at(section, epoch) == Noise("mask", pytest.approx(amount))


def test_noise_without_a_start_or_a_ramp_is_all_there_from_the_beginning() -> None:
    assert Noise.at(NoiseSection(kind="swap", amount=0.2), 0).amount == 0.2
    assert Noise.at(NoiseSection(kind="swap", amount=0.2, from_amount=0.1, ramp=0), 0).amount == 0.2


def test_noise_that_begins_later_grows_from_there() -> None:
    section = NoiseSection(kind="mask", amount=0.2, from_amount=0.1, ramp=10, begins=80)

    amounts = [Noise.at(section, epoch).amount for epoch in (0, 79, 80, 85, 90, 99)]

    assert amounts == pytest.approx([0, 0, 0.1, 0.15, 0.2, 0.2])


def test_a_share_of_the_words_becomes_one_of_the_nearest() -> None:
    ids = _ids()
    noisy = Noise("synonym", 0.3, NEAR).on_words(ids, _lengths(), Draws())
    steps = (noisy - ids) % WORDS

    assert steps.unique().tolist() == [0, 1, 2]
    assert abs(float((steps > 0)[:, :15].float().mean()) - 0.3) < 0.03
    assert abs(float((steps == 1).sum() / (steps > 0).sum()) - 0.5) < 0.05
    assert not steps[:, 15:].any()


def test_semantic_noise_goes_no_way_but_to_and_from_the_nearest_words() -> None:
    unit = torch.nn.functional.normalize(torch.randn(WORDS, 12, generator=torch.Generator().manual_seed(2)), dim=1)
    ids, near = _ids(), NEAR.clone()
    # This word has no neighbours.
    near[FIRST] = FIRST
    vectors = unit[ids] * 12**0.5

    moved = Noise("semantic", 0.25, near).along_meaning(vectors, ids, unit, Draws()) - vectors

    assert not moved[ids == FIRST].any()
    some = ids != FIRST
    assert abs(float(moved[some].square().mean().sqrt()) - 0.25) < 0.03
    ways = unit[near[ids[some]]] - unit[ids[some]][:, None]
    beside = torch.linalg.lstsq(ways.mT, moved[some][..., None]).solution
    assert torch.allclose(ways.mT @ beside, moved[some][..., None], atol=1e-5)


@pytest.mark.parametrize(("kind", "sign"), [("words", 1), ("mask", 2)])
def test_a_share_of_the_words_becomes_a_sign(kind: Kind, sign: int) -> None:
    ids = _ids()
    noisy = Noise(kind, 0.3).on_words(ids, _lengths(), Draws())
    changed = noisy != ids

    assert noisy[changed].unique().tolist() == [sign]
    assert abs(float(changed[:, :15].float().mean()) - 0.3) < 0.03
    assert not changed[:, 15:].any()


def test_swapped_words_are_all_still_there_and_no_further_than_one_place() -> None:
    ids = torch.arange(FIRST, FIRST + 20).expand(ROWS, -1)
    noisy = Noise("swap", 0.3).on_words(ids, _lengths(), Draws())

    assert noisy.sort(dim=1).values.tolist() == ids.tolist()
    assert (noisy - ids).abs().max() == 1
    assert torch.equal(noisy[:, 15:], ids[:, 15:])
    at = Counter((noisy != ids).any(dim=0).tolist())
    assert at[True] == 15
    assert 0.2 < float((noisy != ids)[:, :15].float().mean()) < 0.6


def test_signs_keep_their_places() -> None:
    ids = torch.full((50, 20), 3)
    ids[:, ::2] = FIRST
    for kind in ID_KINDS:
        noisy = Noise(kind, 0.9, NEAR).on_words(ids, torch.full((50,), 20), Draws())

        assert torch.equal(noisy[:, 1::2], ids[:, 1::2])


def test_noise_on_numbers_has_the_amount_it_is_given() -> None:
    vectors = torch.ones(100, 20, 10)
    gaussian = Noise("gaussian", 0.25).on_numbers(vectors, Draws()) - vectors
    dropped = Noise("dropout", 0.25).on_numbers(vectors, Draws())

    assert abs(float(gaussian.std()) - 0.25) < 0.01
    assert abs(float((dropped == 0).float().mean()) - 0.25) < 0.02
    assert abs(float(dropped.mean()) - 1) < 0.02
    assert not Noise("dropout", 1.0).on_numbers(vectors, Draws()).any()


@pytest.mark.parametrize("kind", get_args(Kind))
def test_no_amount_is_no_noise_and_draws_nothing(kind: Kind) -> None:
    draws, ids, vectors = Draws(), _ids(), torch.ones(2, 3, 4)
    amount = 0.5 if kind == "none" else 0.0
    noise = Noise(kind, amount, NEAR)

    assert noise.on_words(ids, _lengths(), draws) is ids
    assert noise.on_numbers(vectors, draws) is vectors
    assert noise.along_meaning(vectors, ids, torch.ones(WORDS, 4), draws) is vectors
    assert torch.equal(draws.uniform((3,), ids.device), Draws().uniform((3,), ids.device))


@pytest.mark.parametrize("kind", [kind for kind in get_args(Kind) if kind != "none"])
def test_each_kind_changes_what_is_read_and_leaves_the_words_alone(kind: Kind) -> None:
    made, ids = alive(model()), windows()
    kept = ids.clone()
    made.reseed(0, 1)
    noisy = made.encode(ids, LENGTHS, Noise(kind, 0.9, NEAR))

    assert not torch.allclose(noisy, made.encode(ids, LENGTHS))
    assert torch.equal(ids, kept)
