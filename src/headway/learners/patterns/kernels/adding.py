"""Adding up rows of equal key and sequence, compiled: spread them over small buckets, then settle one after another.

A row is a key with its count and its sequence. Rows are moved with all they carry, in the order they come, into buckets
by the first bits of their keys; a bucket fits the processor's cache, so that no later step goes to memory row by row.
"""

from typing import Any

import numpy as np

from headway.native.compiled import inlined, kernel
from headway.native.moves import move8

_U64 = np.uint64
# Sequences are copied in steps of so many bytes, the last step may go beyond the end.
SPARE = 8
_LENGTH = _U64(0xFFFFFFFF)
_CROWD = 16


@inlined
def _copy(target: Any, at: Any, source: Any, start: Any, size: Any) -> None:
    """Copy bytes; a few that follow them in `target` are overwritten, none beyond the end of `source` is read."""
    if start + size + SPARE <= source.size:
        for k in range(0, size, 8):
            move8(target, at + k, source, start + k)
    else:
        for k in range(size):
            target[at + k] = source[start + k]


@kernel
def measure(keys: Any, lengths: Any, low: Any, shift: Any, rows: Any, room: Any) -> None:
    """Count the rows and symbols that fall into each bucket: bucket b in place b + 1."""
    for i in range(keys.size):
        b = np.int64((keys[i] - low) >> shift) + 1
        rows[b] += 1
        room[b] += lengths[i]


@kernel
def spread(part: Any, low: Any, shift: Any, next_free: Any, begins: Any, spreaded: Any) -> None:
    """Move rows into their buckets; `next_free` says where in rows and symbols the next of each goes, and is moved on.

    A sequence is noted as its length and its distance from where its bucket's symbols begin, 32 bits each: the fewer
    places a row is written to, the more buckets can be open at once.
    """
    keys, counts, starts, lengths, symbols = part
    rows, room = next_free
    to_rows, to_counts, to_symbols = spreaded
    size = np.int64(symbols.itemsize)
    source, target = symbols.view(np.uint8), to_symbols.view(np.uint8)
    for i in range(keys.size):
        b = np.int64((keys[i] - low) >> shift)
        row, at, length = rows[b], room[b], np.int64(lengths[i])
        to_rows[row, 0] = keys[i]
        to_rows[row, 1] = (_U64(at - begins[b]) << _U64(32)) | _U64(length)
        if counts.size:
            to_counts[row] = counts[i]
        _copy(target, at * size, source, starts[i] * size, length * size)
        rows[b], room[b] = row + 1, at + length


@kernel
def _sort_run(keys: Any, rows: Any, low: int, high: int, spare_keys: Any, spare_rows: Any) -> None:
    """Sort a stretch by key, stably: insertion for the usual handful, merging for more."""
    run = 16
    for base in range(low, high, run):
        for i in range(base + 1, min(base + run, high)):
            key, row, j = keys[i], rows[i], i
            while j > base and keys[j - 1] > key:
                keys[j], rows[j] = keys[j - 1], rows[j - 1]
                j -= 1
            keys[j], rows[j] = key, row
    while run < high - low:
        for base in range(low, high, 2 * run):
            middle, end = min(base + run, high), min(base + 2 * run, high)
            a, b = base, middle
            for i in range(base, end):
                if a < middle and (b >= end or keys[a] <= keys[b]):
                    spare_keys[i], spare_rows[i] = keys[a], rows[a]
                    a += 1
                else:
                    spare_keys[i], spare_rows[i] = keys[b], rows[b]
                    b += 1
        for i in range(low, high):
            keys[i], rows[i] = spare_keys[i], spare_rows[i]
        run *= 2


@kernel
def _sort(bucket: Any, base: Any, shift: Any, local: Any) -> None:
    """The keys of one bucket in ascending order, and the row of the bucket each came from."""
    ordered, rows, spare_keys, spare_rows, slots = local
    n, bits = bucket.shape[0], 0
    while (n >> bits) > 1 and _U64(bits) < shift:
        bits += 1
    # The keys of a bucket are at most `shift` bits apart; the first of these choose the slot, about one key each.
    down = shift - _U64(bits)
    slots[: (1 << bits) + 1] = 0
    for i in range(n):
        slots[np.int64((bucket[i, 0] - base) >> down) + 1] += 1
    crowded = False
    for s in range(1, (1 << bits) + 1):
        crowded = crowded or slots[s] > _CROWD
        slots[s] += slots[s - 1]
    for i in range(n):
        s = np.int64((bucket[i, 0] - base) >> down)
        at = slots[s]
        ordered[at], rows[at] = bucket[i, 0], i
        slots[s] = at + 1
    if crowded:
        begin = 0
        for s in range(1 << bits):
            if slots[s] - begin > _CROWD:
                _sort_run(ordered, rows, begin, slots[s], spare_keys, spare_rows)
            begin = slots[s]
    # Whatever is out of order now is so within its slot: one pass that hardly ever moves a key far.
    for i in range(1, n):
        key = ordered[i]
        if ordered[i - 1] > key:
            row, j = rows[i], i
            while j > 0 and ordered[j - 1] > key:
                ordered[j], rows[j] = ordered[j - 1], rows[j - 1]
                j -= 1
            ordered[j], rows[j] = key, row


@inlined
def _compare(symbols: Any, a: Any, a_size: Any, b: Any, b_size: Any) -> int:
    for i in range(min(a_size, b_size)):
        if symbols[a + i] != symbols[b + i]:
            return -1 if symbols[a + i] < symbols[b + i] else 1
    return a_size - b_size


@kernel
def _place(heads: Any, first: int, groups: int, place: Any, symbols: Any) -> Any:
    """The group of a sequence among those of its key, or where a new one belongs in order: (group, whether new)."""
    at = groups
    start, size = np.int64(place >> _U64(32)), np.int64(place & _LENGTH)
    for g in range(groups - 1, first - 1, -1):
        head, length = np.int64(heads[g] >> _U64(32)), np.int64(heads[g] & _LENGTH)
        order = _compare(symbols, start, size, head, length)
        if order == 0:
            return g, False
        if order < 0:
            at = g
    return at, True


@kernel
def _groups(bucket: Any, counts: Any, local: Any, symbols: Any, sums: Any) -> int:
    """Rows of equal key and equal sequence as one, in order of key, then sequence: the key, place and count of each.

    Two sequences may share a key by chance; they stay two patterns. Empty counts mean that every row counts once.
    """
    ordered, rows = local[0], local[1]
    keys, heads, totals = sums
    groups, first = 0, 0
    for i in range(bucket.shape[0]):
        row = rows[i]
        amount = counts[row] if counts.size else _U64(1)
        if i == 0 or ordered[i] != ordered[i - 1]:
            keys[groups], heads[groups], totals[groups] = ordered[i], bucket[row, 1], amount
            first = groups
            groups += 1
            continue
        at, is_new = _place(heads, first, groups, bucket[row, 1], symbols)
        if not is_new:
            totals[at] += amount
            continue
        for g in range(groups, at, -1):
            heads[g], totals[g] = heads[g - 1], totals[g - 1]
        keys[groups], heads[at], totals[at] = ordered[i], bucket[row, 1], amount
        groups += 1
    return groups


@kernel
def settle(bounds: Any, begins: Any, spreaded: Any, low: Any, shift: Any, sums: Any) -> int:
    """Add up every bucket, in order; how many patterns there are.

    Buckets begin at the rows `bounds` and the symbols `begins`. `sums` receives keys, counts, where each sequence
    begins (one more than patterns) and the sequences, with spare room at their end.
    """
    rows, counts, symbols = spreaded
    to_keys, to_counts, to_offsets, to_symbols = sums
    most = 0
    for b in range(bounds.size - 1):
        most = max(most, bounds[b + 1] - bounds[b])
    local = (
        np.empty(most, np.uint64), np.empty(most, np.uint32),
        np.empty(most, np.uint64), np.empty(most, np.uint32), np.empty(2 * most + 2, np.uint32),
    )  # fmt: skip
    heads = np.empty(most, np.uint64)
    size = np.int64(symbols.itemsize)
    target, patterns, at = to_symbols.view(np.uint8), 0, np.int64(0)
    for b in range(bounds.size - 1):
        begin, end = bounds[b], bounds[b + 1]
        inside = symbols[begins[b] :]
        _sort(rows[begin:end], low + (_U64(b) << shift), shift, local)
        some = counts[begin:end] if counts.size else counts
        groups = _groups(rows[begin:end], some, local, inside, (to_keys[patterns:], heads, to_counts[patterns:]))
        source = inside.view(np.uint8)
        for g in range(groups):
            to_offsets[patterns + g] = at
            length = np.int64(heads[g] & _LENGTH)
            _copy(target, at * size, source, np.int64(heads[g] >> _U64(32)) * size, length * size)
            at += length
        patterns += groups
    to_offsets[patterns] = at
    return patterns
