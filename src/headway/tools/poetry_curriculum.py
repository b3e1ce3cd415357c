"""How the share of true words that a decoder reads goes down from phase to phase."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

EPOCHS = 30
_PHASES = 4
_FIRST, _LAST = 0.9, 0.1
_DECAYS = ("linear", "exponential", "cosine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum:
    """What a user said of epochs and phases; None where nothing."""

    epochs: int | Sequence[int] | None
    ratio: float | None
    """The share of true words, where it stays."""
    phases: int | Sequence[Mapping[str, Any]] | None
    decay: str | None
    first: float | None
    last: float | None

    @property
    def total(self) -> int:
        """Epochs of the whole run."""
        listed = self._listed
        return sum(phase["epochs"] for phase in listed) if listed is not None else self._said

    def sections(self) -> list[dict[str, Any]]:
        """The phases as a plan says them; none where the share of true words stays."""
        listed = self._listed
        if listed is not None:
            return [dict(phase) for phase in listed]
        if self.ratio is not None:
            return []
        lengths = self._lengths()
        shares = decayed(self.decay or "linear", *self._ends, len(lengths))
        return [{"epochs": n, "teacher_forcing": share} for n, share in zip(lengths, shares, strict=True)]

    def problems(self) -> list[str]:
        """What does not fit together, one line each."""
        if wrong := [text for text, broken in self._kinds().items() if broken]:
            return wrong
        return [text for rules in (self._lonely(), self._counts(), self._shares()) for text in rules if rules[text]]

    @property
    def _listed(self) -> Sequence[Mapping[str, Any]] | None:
        return None if self.phases is None or isinstance(self.phases, int) else self.phases

    @property
    def _said(self) -> int:
        if self.epochs is None:
            return EPOCHS
        return self.epochs if isinstance(self.epochs, int) else sum(self.epochs)

    @property
    def _ends(self) -> tuple[float, float]:
        return _FIRST if self.first is None else self.first, _LAST if self.last is None else self.last

    def _lengths(self) -> list[int]:
        """Epochs of each phase; where they do not divide evenly, the first ones have one more."""
        if isinstance(self.epochs, Sequence):
            return list(self.epochs)
        total = self.total
        count = min(_PHASES, total) if self.phases is None else cast(int, self.phases)
        return [total // count + (i < total % count) for i in range(count)]

    def _kinds(self) -> dict[str, bool]:
        return {
            f"epochs: should be a number of 1 or more, or a list of them, not {self.epochs!r}": not (
                self.epochs is None or _is_count(self.epochs) or _are(self.epochs, _is_count)
            ),
            f"phases: should be a number of 1 or more, or a list of dicts with epochs, not {self.phases!r}": not (
                self.phases is None or _is_count(self.phases) or _are(self.phases, _is_phase)
            ),
            f"decay_type: should be one of {', '.join(_DECAYS)}, not {self.decay!r}": self.decay
            not in (None, *_DECAYS),
        }

    def _lonely(self) -> dict[str, bool]:
        """Settings of phases that are made, where there are none or they are given."""
        given = {
            "decay_type": self.decay,
            "initial_teacher_forcing": self.first,
            "final_teacher_forcing": self.last,
        }
        without = self.ratio is not None or self._listed is not None
        return {
            f"{name}: changes nothing where teacher_forcing_ratio stays, or phases say their own; leave it out": without
            and value is not None
            for name, value in given.items()
        }

    def _counts(self) -> dict[str, bool]:
        count = self.phases if isinstance(self.phases, int) else None
        by_phase = len(self.epochs) if isinstance(self.epochs, Sequence) else None
        return {
            "phases: there are none where teacher_forcing_ratio stays; give one of the two": self.phases is not None
            and self.ratio is not None,
            "epochs: a list says how long phases last; with teacher_forcing_ratio there are none": by_phase is not None
            and self.ratio is not None,
            f"phases: {count} need as many epochs or more, not {self._said}": count is not None
            and by_phase is None
            and self._said < count,
            f"epochs: are given for {by_phase} phases, not {count}": None not in (count, by_phase)
            and count != by_phase,
            f"epochs: {self._said}, but the phases last {self.total}; leave epochs out": self._listed is not None
            and self.epochs is not None
            and self._said != self.total,
        }

    def _shares(self) -> dict[str, bool]:
        ends = {"initial_teacher_forcing": self.first, "final_teacher_forcing": self.last}
        rules = {
            f"{name}: should be 0 to 1, not {value!r}": value is not None and not 0 <= value <= 1
            for name, value in ends.items()
        }
        above = "initial_teacher_forcing, final_teacher_forcing: should be above 0 where they decay exponentially"
        return rules | {above: self.decay == "exponential" and min(self._ends) <= 0}


def decayed(kind: str, first: float, last: float, count: int) -> list[float]:
    """So many shares from the first to the last."""
    places = [i / (count - 1) for i in range(count)] if count > 1 else [0.0]
    if kind == "exponential":
        return [first ** (1 - place) * last**place for place in places]
    if kind == "cosine":
        places = [(1 - math.cos(math.pi * place)) / 2 for place in places]
    return [first * (1 - place) + last * place for place in places]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_phase(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_count(cast("Mapping[str, Any]", value).get("epochs"))


def _are(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, list | tuple) and bool(values) and all(fits(each) for each in cast("list[Any]", values))
