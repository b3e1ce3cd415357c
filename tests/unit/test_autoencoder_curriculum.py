"""What each epoch of a curriculum asks for."""

import pytest
from made_learners import section

from headway.learners.autoencoder.config import PhaseSection
from headway.learners.autoencoder.curriculum import demand

PHASES = (
    PhaseSection(epochs=3, teacher_forcing=0.9, until=0.7, longest=20),
    PhaseSection(epochs=1, teacher_forcing=0.5, until=0.1, rate=0.8),
    PhaseSection(epochs=2, teacher_forcing=0.3, rate=0.6),
)


def test_without_a_curriculum_every_epoch_is_alike() -> None:
    plan = section(teacher_forcing=0.4)

    found = {
        (demand(plan, epoch).teacher_forcing, demand(plan, epoch).rate, demand(plan, epoch).longest)
        for epoch in range(9)
    }

    assert found == {(0.4, 1.0, None)}
    assert demand(plan, 3).phase is None


def test_an_epoch_belongs_to_the_phase_that_its_number_falls_in() -> None:
    found = [demand(section(curriculum=PHASES), epoch) for epoch in range(6)]

    assert [each.phase for each in found] == [0, 0, 0, 1, 2, 2]
    assert [each.epoch for each in found] == list(range(6))
    assert [each.rate for each in found] == [1.0, 1.0, 1.0, 0.8, 0.6, 0.6]
    assert [each.longest for each in found] == [20, 20, 20, None, None, None]


def test_the_share_of_true_words_goes_from_one_end_of_a_phase_to_the_other() -> None:
    found = [demand(section(curriculum=PHASES), epoch).teacher_forcing for epoch in range(6)]

    # A phase of one epoch has a beginning only.
    assert found == pytest.approx([0.9, 0.8, 0.7, 0.5, 0.3, 0.3])


def test_past_the_last_phase_it_stays_as_it_ended() -> None:
    plan = section(curriculum=PHASES[:1])

    assert demand(plan, 99).teacher_forcing == pytest.approx(0.7)
    assert demand(plan, 99).phase == 0
