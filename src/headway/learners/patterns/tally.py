"""Patterns with their counts, in order of key: what one batch, one run or a whole memory comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.learners.patterns import kernels
from headway.learners.patterns.still import still

Keys = NDArray[np.uint64]
Counts = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Symbols = NDArray[Any]

NO_COUNTS: Counts = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Pattern i has key `keys[i]`, was learned `counts[i]` times and is `symbols[offsets[i]:offsets[i + 1]]`."""

    keys: Keys
    counts: Counts
    offsets: Offsets
    symbols: Symbols

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def bytes(self) -> int:
        """Memory that the arrays take."""
        return self.keys.nbytes + self.counts.nbytes + self.offsets.nbytes + self.symbols.nbytes

    @property
    def lengths(self) -> Offsets:
        """How many symbols each pattern has."""
        return np.diff(self.offsets)

    def cut(self, low: int, high: int) -> Tally:
        """Patterns `low` to `high` as views."""
        offsets = self.offsets[low : high + 1]
        first, last = (int(offsets[0]), int(offsets[-1])) if high > low else (0, 0)
        return Tally(self.keys[low:high], self.counts[low:high], offsets - first, self.symbols[first:last])


def tally(keys: Keys, starts: Offsets, lengths: NDArray[Any], symbols: Symbols, *, counts: Counts = NO_COUNTS) -> Tally:
    """Add up equal patterns given as sequences `symbols[starts[i]:][:lengths[i]]`; without counts each counts once."""
    ordered, rows = kernels.sort_keys(still(keys))
    heads, distinct, totals = kernels.count(
        ordered, rows, still(counts), still(starts), still(lengths, np.int32), still(symbols)
    )
    # An upper bound of the room is cheaper than the exact sum over rows that lie anywhere.
    offsets, out = gather(heads, starts, lengths, symbols, room=int(lengths.sum(dtype=np.int64)))
    return Tally(distinct, totals, offsets, out)


def gather(
    rows: NDArray[np.uint32], starts: Offsets, lengths: NDArray[Any], symbols: Symbols, *, room: int | None = None
) -> tuple[Offsets, Symbols]:
    """The sequences of some rows, one after another, and where each begins; they take at most `room` symbols."""
    size = int(lengths[rows].sum(dtype=np.int64)) if room is None else room
    offsets = np.empty(len(rows) + 1, np.int64)
    out = np.empty(size + 8 // symbols.itemsize, symbols.dtype)
    kernels.gather(still(rows), still(starts), still(lengths, np.int32), still(symbols), offsets, out)
    return offsets, out[: offsets[-1]]


def empty(dtype: Any) -> Tally:
    """No pattern at all, of symbols of this type."""
    return Tally(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, dtype))


def merge(parts: Sequence[Tally]) -> Tally:
    """The sum of tallies of one level."""
    if len(parts) == 1:
        return parts[0]
    joined = join(parts)
    return tally(joined.keys, joined.offsets[:-1], joined.lengths, joined.symbols, counts=joined.counts)


def join(parts: Sequence[Tally]) -> Tally:
    """Tallies one after another, nothing added up."""
    if len(parts) == 1:
        return parts[0]
    bases = np.cumsum([0, *(len(part.symbols) for part in parts)])
    offsets = [part.offsets[:-1] + base for part, base in zip(parts, bases, strict=False)]
    return Tally(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([*offsets, bases[-1:]]),
        np.concatenate([part.symbols for part in parts]),
    )
