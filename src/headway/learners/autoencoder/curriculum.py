"""What an epoch of a curriculum asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.learners.autoencoder.config import PhaseSection, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How the windows of an epoch are learned."""

    epoch: int
    phase: int | None
    """Which phase of the curriculum it is; None without one."""
    teacher_forcing: float
    rate: float
    longest: int | None


def demand(section: Section, epoch: int) -> Demand:
    """What the section asks for in an epoch, counted from 0; past the last phase, what that ended with."""
    if not section.curriculum:
        return Demand(epoch=epoch, phase=None, teacher_forcing=section.teacher_forcing, rate=1.0, longest=None)
    number, place = _phase(section.curriculum, epoch)
    phase = section.curriculum[number]
    until = phase.teacher_forcing if phase.until is None else phase.until
    share = place / (phase.epochs - 1) if phase.epochs > 1 else 0.0
    forcing = phase.teacher_forcing + (until - phase.teacher_forcing) * min(share, 1.0)
    return Demand(epoch=epoch, phase=number, teacher_forcing=forcing, rate=phase.rate, longest=phase.longest)


def last_phase(section: Section) -> int:
    """The epoch, counted from 0, in which the last phase begins; 0 without a curriculum."""
    return sum(phase.epochs for phase in section.curriculum[:-1])


def _phase(phases: Sequence[PhaseSection], epoch: int) -> tuple[int, int]:
    """The phase of an epoch and how many of its epochs are over."""
    for number, phase in enumerate(phases):
        if epoch < phase.epochs:
            return number, epoch
        epoch -= phase.epochs
    return len(phases) - 1, phases[-1].epochs - 1
