"""What batches are made of: whole documents, or windows of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from headway.data.dataset import Dataset, Rows
from headway.data.npy import Ints
from headway.feed.windows import Windows


class Table(Protocol):
    """Rows of tokens, numbered; where each begins is known before any is read."""

    @property
    def offsets(self) -> Ints:
        """int64[rows + 1]: the tokens before each row, in the natural order."""
        ...

    @property
    def firsts(self) -> Ints | None:
        """1 for each row that begins a document, else 0; None: every row is a document."""
        ...

    def read(self, rows: slice | Ints) -> Rows:
        """The tokens of the rows with these numbers."""
        ...


@dataclass(frozen=True, eq=False)
class Documents:
    """Every document of a Dataset as one row."""

    dataset: Dataset

    @property
    def offsets(self) -> Ints:
        return self.dataset.offsets

    @property
    def firsts(self) -> None:
        return None

    def read(self, rows: slice | Ints) -> Rows:
        return self.dataset.read(rows)


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Windows of some documents of a Dataset; a token that an earlier window owns is masked."""

    dataset: Dataset
    windows: Windows
    """Documents are numbered as in the Dataset."""

    @property
    def offsets(self) -> Ints:
        return self._offsets

    @property
    def firsts(self) -> Ints:
        return self._firsts

    @cached_property
    def _offsets(self) -> Ints:
        offsets = np.zeros(len(self.windows.starts) + 1, np.int64)
        np.cumsum(self.windows.lengths, out=offsets[1:])
        return offsets

    @cached_property
    def _firsts(self) -> Ints:
        return (self.windows.owned == 0).astype(np.int64)

    def read(self, rows: slice | Ints) -> Rows:
        windows = self.windows
        starts, lengths = windows.starts[rows], windows.lengths[rows]
        begins = self.dataset.offsets[windows.documents[rows]] + starts
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        mask = places >= np.repeat(windows.owned[rows] - starts, lengths)
        return Rows(self.dataset.spans(begins, lengths), offsets, None, mask)
