"""Patterns as Arrow tables with names and symbols as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headway.data.vocabulary import Vocabulary
from headway.learners.patterns.level import Digests, LevelStore, Named
from headway.learners.patterns.namer import PREFIX, hex_of
from headway.learners.patterns.tally import Tally

_NAME_BYTES = len(PREFIX) + 40
_SYMBOLS_AT_ONCE = 1 << 23
SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("frequency", pa.uint64(), nullable=False),
        pa.field("length", pa.int32(), nullable=False),
        pa.field("symbols", pa.list_(pa.string()), nullable=False),
    ]
)


def table(store: LevelStore, vocabulary: Vocabulary) -> pa.Table:  # pyright: ignore[reportUnknownParameterType] # untyped
    """A whole level."""
    return pa.Table.from_batches(list(batches(store, vocabulary)), schema=SCHEMA)


def batches(store: LevelStore, vocabulary: Vocabulary) -> Iterator[Any]:
    """A level as record batches, in order of key, which is that of KATO's names."""
    words = pa.array(vocabulary.symbols, pa.string())
    for part in store.merged():
        for rows in _pieces(part):
            named = store.named(rows)
            columns = [
                names_array(named.digests),
                pa.array(rows.counts),
                pa.array(rows.lengths.astype(np.int32)),
                pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), _symbols(store, rows, named, words)),
            ]
            yield pa.record_batch(columns, schema=SCHEMA)


def _pieces(part: Tally) -> Iterator[Tally]:
    """Cuts with a bounded number of symbols, so that the text of each stays within Arrow's 32-bit offsets."""
    longest = int(part.lengths.max(initial=1))
    step = max(1, _SYMBOLS_AT_ONCE // longest)
    for low in range(0, len(part), step):
        yield part.cut(low, min(low + step, len(part)))


def names_array(digests: Digests) -> Any:
    """Names as an Arrow string array, made without a Python object per name."""
    text = np.frombuffer(hex_of(digests).encode(), np.uint8).reshape(len(digests), 40)
    full = np.empty((len(digests), _NAME_BYTES), np.uint8)
    full[:, : len(PREFIX)] = np.frombuffer(PREFIX.encode(), np.uint8)
    full[:, len(PREFIX) :] = text
    offsets: NDArray[np.int32] = np.arange(len(digests) + 1, dtype=np.int32) * _NAME_BYTES
    return pa.StringArray.from_buffers(len(digests), pa.py_buffer(offsets), pa.py_buffer(full.tobytes()))


def _symbols(store: LevelStore, rows: Tally, named: Named, words: Any) -> Any:
    if named.children is not None:
        return names_array(named.children.digests).take(pa.array(named.children.at))
    if store.below is None:
        return words.take(pa.array(rows.symbols))
    return pa.array([""]).take(pa.array(np.zeros(len(rows.symbols), np.int32)))
