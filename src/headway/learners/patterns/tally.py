"""Patterns with their counts, in order of key: what one batch, one run or a whole memory comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.learners.patterns.kernels import adding, cutting
from headway.learners.patterns.space import Space
from headway.learners.patterns.still import still

Keys = NDArray[np.uint64]
Counts = NDArray[np.uint64]
Offsets = NDArray[np.int64]
Symbols = NDArray[Any]

NO_COUNTS: Counts = np.zeros(0, np.uint64)
_MOST_BITS = 9


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


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Row i has key `keys[i]` and is `symbols[starts[i]:][:lengths[i]]`; without counts each row counts once."""

    keys: Keys
    starts: Offsets
    lengths: NDArray[Any]
    symbols: Symbols
    counts: Counts = field(default_factory=lambda: NO_COUNTS)

    def kernel(self) -> tuple[Any, ...]:
        """In the order and form that compiled code takes."""
        return (
            still(self.keys),
            still(self.counts),
            still(self.starts),
            still(self.lengths, np.int32),
            still(self.symbols),
        )


def tally(keys: Keys, starts: Offsets, lengths: NDArray[Any], symbols: Symbols, *, counts: Counts = NO_COUNTS) -> Tally:
    """Add up equal patterns given as rows."""
    return add_up([Rows(keys, starts, lengths, symbols, counts)])


def add_up(parts: Sequence[Rows], *, space: Space | None = None, result: Space | None = None) -> Tally:
    """Add up the equal patterns in all parts, either all of them with counts or none.

    `space` is memory to work in, `result` memory for what is returned: it is gone when that memory is used again.
    """
    space, result = space or Space(), result or Space()
    some = [part for part in parts if len(part.keys)]
    if not some:
        return empty(parts[0].symbols.dtype)
    given = [part.kernel() for part in some]
    low = np.uint64(min(keys.min() for keys, *_ in given))
    width = int(max(keys.max() for keys, *_ in given)) - int(low)
    shift = max(0, width.bit_length() - _bucket_bits(sum(len(part.keys) for part in some)))
    buckets = (width >> shift) + 1
    rows, room = np.zeros(buckets + 1, np.int64), np.zeros(buckets + 1, np.int64)
    for keys, _, _, lengths, _ in given:
        adding.measure(keys, lengths, low, np.uint64(shift), rows, room)
    dtype = some[0].symbols.dtype
    bounds, total = np.cumsum(rows), int(room.sum())
    # Room at the end of each bucket, since sequences are copied in whole steps.
    spare = adding.SPARE // dtype.itemsize
    begins = np.cumsum(room) + spare * np.arange(buckets + 1)
    spreaded = (
        space.array("rows", 2 * int(bounds[-1]), np.uint64).reshape(-1, 2),
        space.array("counts", int(bounds[-1]) if len(some[0].counts) else 0, np.uint64),
        space.array("symbols", int(begins[-1]) + spare, dtype),
    )
    row, at = bounds.copy(), begins.copy()
    for part in given:
        adding.spread(part, low, np.uint64(shift), (row, at), begins, spreaded)
    sums = (
        result.array("keys", int(bounds[-1]), np.uint64),
        result.array("counts", int(bounds[-1]), np.uint64),
        result.array("offsets", int(bounds[-1]) + 1, np.int64),
        result.array("symbols", total + spare, dtype),
    )
    patterns = adding.settle(bounds, begins, spreaded, low, np.uint64(shift), sums)
    keys, counts, offsets, symbols = sums
    return Tally(keys[:patterns], counts[:patterns], offsets[: patterns + 1], symbols[: offsets[patterns]])


def _bucket_bits(rows: int) -> int:
    """How many bits of a key choose its bucket: about 4,000 rows each, and no more buckets than can be open at once."""
    return min(_MOST_BITS, max(1, (rows >> 12).bit_length()))


def gather(
    rows: NDArray[np.uint32], starts: Offsets, lengths: NDArray[Any], symbols: Symbols
) -> tuple[Offsets, Symbols]:
    """The sequences of some rows, one after another, and where each begins."""
    size = int(lengths[rows].sum(dtype=np.int64))
    offsets = np.empty(len(rows) + 1, np.int64)
    out = np.empty(size + 8 // symbols.itemsize, symbols.dtype)
    cutting.gather(still(rows), still(starts), still(lengths, np.int32), still(symbols), offsets, out)
    return offsets, out[: offsets[-1]]


def empty(dtype: Any) -> Tally:
    """No pattern at all, of symbols of this type."""
    return Tally(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(1, np.int64), np.zeros(0, dtype))


def merge(parts: Sequence[Tally], *, space: Space | None = None) -> Tally:
    """The sum of tallies of one level."""
    if len(parts) == 1:
        return parts[0]
    rows = [Rows(part.keys, part.offsets[:-1], part.lengths, part.symbols, part.counts) for part in parts]
    return add_up(rows, space=space)


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
