"""What steps add up to between two looks."""

import pytest
import torch

from headway.learners.autoencoder.loss import Losses
from headway.learners.autoencoder.padded import Padded
from headway.learners.autoencoder.sums import Sums
from headway.plan.values import Mean


def losses(total: float, weight: float, **parts: float) -> Losses:
    return Losses(torch.tensor(total), torch.tensor(weight), {name: torch.tensor(each) for name, each in parts.items()})


def piece(rows: int, most: int, tokens: int) -> Padded:
    ids = torch.zeros(rows, most, dtype=torch.int64)
    return Padded(ids, torch.zeros(rows), torch.zeros(rows, most), tokens)


def test_losses_are_means_over_all_targets_and_not_means_of_means() -> None:
    sums = Sums()
    sums.add(losses(2.0, 1.0, cosine=0.5), piece(1, 1, 1))
    sums.add(losses(4.0, 9.0, cosine=2.5), piece(3, 3, 9))

    found = sums.take()

    assert found == {"loss": Mean(6.0, 10.0), "cosine": Mean(3.0, 10.0)}


def test_a_look_begins_anew() -> None:
    sums = Sums()
    sums.add(losses(2.0, 1.0), piece(1, 1, 1))
    sums.take()

    assert sums.take() == {}
    sums.add(losses(3.0, 2.0), piece(1, 1, 1))
    assert sums.take() == {"loss": Mean(3.0, 2.0)}


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_no_number_is_left_out(bad: float) -> None:
    sums = Sums()
    sums.add(losses(bad, 1.0, cosine=0.5), piece(1, 1, 1))

    assert sums.take() == {"cosine": Mean(0.5, 1.0)}


def test_targets_that_weigh_nothing_have_no_mean() -> None:
    sums = Sums()
    sums.add(losses(0.0, 0.0), piece(1, 1, 1))

    assert sums.take() == {}


def test_padding_is_its_share_of_all_places_since_it_was_last_asked() -> None:
    sums = Sums()
    sums.add(losses(1.0, 1.0), piece(2, 5, 8))
    sums.add(losses(1.0, 1.0), piece(1, 5, 5))

    assert sums.padding() == Mean(2, 15)
    assert sums.padding() == Mean(0, 0)


def test_sums_survive_a_checkpoint() -> None:
    before, after = Sums(), Sums()
    before.add(losses(2.0, 1.0, cosine=0.5), piece(1, 1, 1))

    after.load(before.state())
    after.add(losses(1.0, 1.0, cosine=0.5), piece(1, 1, 1))

    assert before.take() == {"loss": Mean(2.0, 1.0), "cosine": Mean(0.5, 1.0)}
    assert after.take() == {"loss": Mean(3.0, 2.0), "cosine": Mean(1.0, 2.0)}
