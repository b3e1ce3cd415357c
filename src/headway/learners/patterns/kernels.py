"""Cutting documents into patterns, and copying sequences: the loops of the pattern learner, compiled.

A table of patterns is (starts, lengths) into a flat array of symbols, and `bounds`, where the patterns of each document
begin in the table (one more than there are documents).
"""

from typing import Any

import numpy as np
from numba import njit

from headway.learners.patterns.moves import move8, prefetch

_U64 = np.uint64
_AHEAD = 12


@njit(nogil=True, cache=True)
def _cut(start: int, end: int, width: int, starts: Any, lengths: Any, at: int) -> int:
    """Cut one segment into pieces of `width`; one or two tokens left over join the piece before them."""
    if end - start < min(3, width + 1):
        return at
    while start < end:
        rest = end - start
        size = rest if rest <= width + 2 else width
        if size > 1:
            starts[at] = start
            lengths[at] = size
            at += 1
        start += size
    return at


@njit(nogil=True, cache=True)
def _sentences(ids: Any, segment: Any, rule: Any, starts: Any, lengths: Any, at: int) -> int:
    """Cut one segment after each token that ends a sentence; marks bit 0: may end one, bit 1: may follow an end."""
    start, end = segment
    marks, least = rule
    begin = start
    for t in range(start, end):
        last = t + 1 == end
        if last or ((marks[ids[t]] & 1) and (marks[ids[t + 1]] & 2)):
            if t + 1 - begin >= least:
                starts[at] = begin
                lengths[at] = t + 1 - begin
                at += 1
            begin = t + 1
    return at


@njit(nogil=True, cache=True)
def cut(ids: Any, documents: Any, segments: Any, width: int, marks: Any, least: int) -> Any:
    """The level-0 table of documents given by token offsets: sentences if there are `marks`, else pieces of `width`."""
    room = 0
    for s in range(segments.size - 1):
        n = segments[s + 1] - segments[s]
        room += n // (least if marks.size else max(width, 2)) + 1
    starts, lengths = np.empty(room, np.int64), np.empty(room, np.int32)
    bounds = np.zeros(documents.size, np.int64)
    at, s = 0, 0
    for d in range(documents.size - 1):
        while s < segments.size - 1 and segments[s] < documents[d + 1]:
            if marks.size:
                at = _sentences(ids, (segments[s], segments[s + 1]), (marks, least), starts, lengths, at)
            else:
                at = _cut(segments[s], segments[s + 1], width, starts, lengths, at)
            s += 1
        bounds[d + 1] = at
    return starts[:at].copy(), lengths[:at].copy(), bounds


@njit(nogil=True, cache=True)
def cut_names(bounds: Any, width: int) -> Any:
    """The table one level up: each document's names in pieces of `width`; a single name left over is dropped."""
    room = 0
    for d in range(bounds.size - 1):
        room += (bounds[d + 1] - bounds[d]) // width + 1
    starts, lengths = np.empty(room, np.int64), np.empty(room, np.int32)
    above = np.zeros(bounds.size, np.int64)
    at = 0
    for d in range(bounds.size - 1):
        start, end = bounds[d], bounds[d + 1]
        while start < end:
            size = min(width, end - start)
            if size > 1 or width == 1:
                starts[at] = start
                lengths[at] = size
                at += 1
            start += size
        above[d + 1] = at
    return starts[:at].copy(), lengths[:at].copy(), above


@njit(forceinline=True)
def _mix(state: Any, value: Any) -> Any:
    x = (state ^ value) * _U64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U64(32))) * _U64(0xD6E8FEB86659FD93)
    return x ^ (x >> _U64(29))


@njit(nogil=True, cache=True)
def internal_keys(symbols: Any, starts: Any, lengths: Any) -> Any:
    """64-bit keys of symbol sequences: fast, and without meaning outside a memory."""
    keys = np.empty(starts.size, np.uint64)
    for i in range(starts.size):
        key = _mix(_U64(0x243F6A8885A308D3), _U64(lengths[i]))
        for t in range(starts[i], starts[i] + lengths[i]):
            key = _mix(key, _U64(symbols[t]))
        keys[i] = key
    return keys


@njit(nogil=True, cache=True)
def gather(rows: Any, starts: Any, lengths: Any, symbols: Any, offsets: Any, out: Any) -> None:
    """Copy the sequences of `rows` one after another; `offsets` (one more than rows) receives where each begins.

    `out` has room for eight spare bytes. Rows lie anywhere, so what they need is asked for some rows ahead.
    """
    size = np.int64(symbols.itemsize)
    source, target = symbols.view(np.uint8), out.view(np.uint8)
    n, at = rows.size, np.int64(0)
    for i in range(n):
        if i + 2 * _AHEAD < n:
            prefetch(starts, np.int64(rows[i + 2 * _AHEAD]))
            prefetch(lengths, np.int64(rows[i + 2 * _AHEAD]))
        if i + _AHEAD < n:
            prefetch(symbols, np.int64(starts[rows[i + _AHEAD]]))
        start, length = starts[rows[i]] * size, np.int64(lengths[rows[i]]) * size
        offsets[i] = at // size
        if start + length + 8 <= source.size:
            for k in range(0, length, 8):
                move8(target, at + k, source, start + k)
        else:
            for k in range(length):
                target[at + k] = source[start + k]
        at += length
    offsets[n] = at // size
