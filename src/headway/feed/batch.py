"""One batch: some documents of a Dataset, or windows of them, read when they are first looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.data.dataset import Rows
from headway.data.npy import Array, Ints
from headway.plan.values import Position


class Reader(Protocol):
    """What can read the tokens of rows."""

    def read(self, rows: slice | Ints) -> Rows:
        """The tokens of the rows with these indices."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Ragged tokens: row i is ids[starts[i]:starts[i+1]]; counts are known before anything is read.

    A row is a document, or a window of one: `documents` counts those that begin here.
    """

    position: Position
    rows: slice | Ints
    documents: int
    tokens: int
    reader: Reader = field(repr=False)

    @cached_property
    def _read(self) -> Rows:
        return self.reader.read(self.rows)

    @property
    def ids(self) -> Array:
        """The token ids of all rows, one after the other."""
        return self._read.ids

    @property
    def starts(self) -> Ints:
        """int64[rows + 1]: where each row starts in `ids`."""
        return self._read.starts

    @property
    def breaks(self) -> Ints | None:
        """int64[segments + 1]: where each segment starts in `ids`; None when every row is one segment."""
        return self._read.breaks

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """Which tokens are a row's own and no context; None: all of them."""
        return self._read.mask


@dataclass(frozen=True)
class Held:
    """Documents that are already in memory."""

    ids: Array
    starts: Ints
    breaks: Ints | None = None

    def read(self, rows: slice | Ints) -> Rows:
        """All of them: a batch of held documents has no other."""
        del rows
        return Rows(self.ids, self.starts, self.breaks)

    def batch(self, position: Position = Position.START) -> Batch:
        """These documents as one batch."""
        documents = len(self.starts) - 1
        return Batch(position, slice(0, documents), documents, len(self.ids), self)


def held(documents: list[list[int]], *, dtype: type[np.uint16] | type[np.uint32] = np.uint16) -> Held:
    """Lists of token ids as documents in memory."""
    starts = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum([len(document) for document in documents], out=starts[1:])
    return Held(np.array([token for document in documents for token in document], dtype=dtype), starts)
