"""The words an evaluation can score: their directions, and which of them count where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Ints

Singles = NDArray[np.float32]


class Kind(IntEnum):
    """What a token counts for."""

    SCORED = 0
    """A word with a vector of the source: all headline figures are of these."""
    ABSENT = 1
    """A word that something made up stands in for; scored apart."""
    SPECIAL = 2
    """A mark of the tokenizer; scored apart."""
    NOTHING = 3
    """A vector without a direction: no cosine exists, it is counted and carries no weight."""


KINDS = len(Kind)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A direction for each id; ids below `special` are marks of the tokenizer, `known` have a vector of the source."""

    matrix: InitVar[Singles]
    known: NDArray[np.bool_]
    special: int
    source: str = "unnamed"
    """Where the vectors are from, as reports say it."""
    made_up: bool = False
    """Whether no vector was ever trained on text."""
    words: Sequence[str] = ()
    """What each id stands for, where reports should say it."""
    unknown: int | None = None
    """The mark that words are read as which are too rare: it counts as a word without a vector."""
    units: Singles = field(init=False)
    """The vectors at length 1; zeros where there is no direction."""
    kinds: NDArray[np.int8] = field(init=False)
    same: Ints = field(init=False)
    """The lowest id with the same direction: words that share a vector cannot be told apart by it."""

    def __post_init__(self, matrix: Singles) -> None:
        if matrix.shape[0] != len(self.known) or not np.isfinite(matrix).all():
            raise ValueError(f"{matrix.shape[0]} finite vectors are needed for {len(self.known)} ids")
        if self.unknown is not None and self.known[self.unknown]:
            raise ValueError(f"id {self.unknown} stands for words without a vector and cannot have one")
        units = _units(matrix)
        kinds = np.where(self.known, np.int8(Kind.SCORED), np.int8(Kind.ABSENT))
        kinds[: self.special] = Kind.SPECIAL
        if self.unknown is not None:
            kinds[self.unknown] = Kind.ABSENT
        kinds[~units.any(axis=1)] = Kind.NOTHING
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "same", _first_alike(units))

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self.units.shape[1]

    @property
    def candidates(self) -> Ints:
        """The ids a vector can be the nearest of: one for each direction."""
        ids = np.arange(len(self.same))
        return ids[(self.same == ids) & (self.kinds != Kind.NOTHING)]

    @property
    def marks(self) -> NDArray[np.bool_]:
        """Which ids are no words."""
        marks = np.arange(len(self.kinds)) < self.special
        if self.unknown is not None:
            marks[self.unknown] = False
        return marks

    def word(self, token: int) -> str:
        """How a report names an id."""
        return repr(self.words[token]) if self.words else f"token {token}"


def _units(matrix: Singles) -> Singles:
    units = np.zeros(matrix.shape, np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))[:, None]
    return np.divide(matrix, lengths, out=units, where=lengths > 0, casting="same_kind")


def _first_alike(units: Singles) -> Ints:
    # Adding zero makes -0.0 and 0.0 the same bytes.
    rows = np.ascontiguousarray(units + np.float32(0))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)
