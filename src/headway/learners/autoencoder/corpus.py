"""The windows of one side of a split, as an evaluation reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Array, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Windows one after the other: window i is ids[starts[i]:starts[i+1]], a part of document documents[i]."""

    ids: Array
    starts: Ints
    owned: NDArray[np.bool_]
    """Of each token: False where it is context that another window owns."""
    documents: Ints

    def __post_init__(self) -> None:
        windows = len(self.starts) - 1
        if windows < 0 or len(self.documents) != windows or len(self.owned) != len(self.ids):
            raise ValueError(
                f"{len(self.starts)} starts, {len(self.documents)} documents, {len(self.ids)} ids and "
                f"{len(self.owned)} marks do not describe the same windows"
            )
        if self.starts[0] != 0 or self.starts[-1] != len(self.ids) or (windows and self.lengths.min() < 1):
            raise ValueError(f"the starts of {windows} windows must rise from 0 to {len(self.ids)}")

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def tokens(self) -> int:
        """How many there are, context included."""
        return len(self.ids)

    @property
    def lengths(self) -> Ints:
        """Tokens of each window."""
        return np.diff(self.starts)

    @property
    def positions(self) -> Ints:
        """Of each token: its place in its window."""
        return np.arange(self.tokens, dtype=np.int64) - np.repeat(self.starts[:-1], self.lengths)

    @property
    def counted(self) -> Array:
        """The ids that windows own: each token of the documents once."""
        return self.ids[self.owned]

    def batches(self, tokens: int) -> Iterator[slice]:
        """Windows in order, so many at once that they hold at most `tokens`; a longer one goes alone."""
        low = 0
        while low < len(self):
            fitting = int(np.searchsorted(self.starts, self.starts[low] + tokens, side="right")) - 1
            high = max(low + 1, fitting)
            yield slice(low, high)
            low = high

    def part(self, windows: slice | Ints) -> Corpus:
        """Some of the windows; neighbours without a copy."""
        if isinstance(windows, slice):
            low, high, _ = windows.indices(len(self))
            first, last = int(self.starts[low]), int(self.starts[high])
            starts = self.starts[low : high + 1] - first
            return Corpus(self.ids[first:last], starts, self.owned[first:last], self.documents[low:high])
        starts = np.zeros(len(windows) + 1, np.int64)
        np.cumsum(self.lengths[windows], out=starts[1:])
        where = np.arange(starts[-1]) + np.repeat(self.starts[windows] - starts[:-1], np.diff(starts))
        return Corpus(self.ids[where], starts, self.owned[where], self.documents[windows])
