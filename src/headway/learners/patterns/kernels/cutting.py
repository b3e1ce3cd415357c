"""Cutting documents into patterns, and copying sequences: the loops of the pattern learner, compiled.

A table of patterns is (starts, lengths) into a flat array of symbols, and `bounds`, where the patterns of each document
begin in the table (one more than there are documents).
"""

from typing import Any

import numpy as np

from headway.native.compiled import inlined, kernel
from headway.native.moves import move8, prefetch

_U64 = np.uint64
_AHEAD = 12


@kernel
def _pieces(segment: Any, token: int, width: int, table: Any, at: int) -> Any:
    """Cut a segment from a token on into pieces of `width` while there is room; how many there are, and where next.

    One or two tokens left over join the piece before them. A token within a segment is where a piece begins.
    """
    starts, lengths = table
    start, end = segment
    if token == start and end - start < min(3, width + 1):
        return at, end
    while token < end and at < starts.size:
        rest = end - token
        size = rest if rest <= width + 2 else width
        if size > 1:
            starts[at] = token
            lengths[at] = size
            at += 1
        token += size
    return at, token


@kernel
def _sentences(ids: Any, end: int, token: int, rule: Any, table: Any, at: int) -> Any:
    """The same after each token that ends a sentence; marks bit 0: may end one, bit 1: may follow an end."""
    starts, lengths = table
    marks, least = rule
    begin = token
    while token < end and at < starts.size:
        last = token + 1 == end
        if last or ((marks[ids[token]] & 1) and (marks[ids[token + 1]] & 2)):
            if token + 1 - begin >= least:
                starts[at] = begin
                lengths[at] = token + 1 - begin
                at += 1
            begin = token + 1
        token += 1
    return at, begin if token < end else end


@kernel
def _room(segments: Any, place: Any, rule: Any, most: int) -> int:
    """Enough for what is left from a place on, but not more than `most`."""
    width, marks, least = rule
    _, s, token = place
    room = 1
    while s < segments.size - 1 and room < most:
        room += (segments[s + 1] - max(token, segments[s])) // (least if marks.size else max(width, 2)) + 1
        s += 1
    return min(room, most)


@kernel
def cut(ids: Any, documents: Any, segments: Any, rule: Any, place: Any, most: int) -> Any:
    """The level-0 table of documents from a place on, at most so many patterns, and the place to go on from.

    A rule is (width, marks, least): sentences of `least` tokens if there are `marks`, else pieces of `width`. A place
    is (document, segment, token). A document is divided only where it has more than `most` patterns: after each `most`.
    """
    width, marks, least = rule
    room = _room(segments, place, rule, most)
    table = np.empty(room, np.int64), np.empty(room, np.int32)
    d, s, token = place
    bounds = np.zeros(documents.size - d, np.int64)
    at, done = 0, 0
    while d < documents.size - 1:
        before = at, s, token
        while s < segments.size - 1 and segments[s] < documents[d + 1]:
            if marks.size:
                at, token = _sentences(ids, segments[s + 1], token, (marks, least), table, at)
            else:
                at, token = _pieces((segments[s], segments[s + 1]), token, width, table, at)
            if token < segments[s + 1]:
                break
            s += 1
        if s < segments.size - 1 and segments[s] < documents[d + 1]:
            # No room for all of it: it is cut later, or, where it is the first, goes on later.
            if done:
                at, s, token = before
            else:
                done, bounds[1] = 1, at
            break
        d, done = d + 1, done + 1
        bounds[done] = at
    return table[0][:at], table[1][:at], bounds[: done + 1], (d, s, token)


@kernel
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


@inlined
def _mix(state: Any, value: Any) -> Any:
    x = (state ^ value) * _U64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U64(32))) * _U64(0xD6E8FEB86659FD93)
    return x ^ (x >> _U64(29))


@kernel
def internal_keys(symbols: Any, starts: Any, lengths: Any) -> Any:
    """64-bit keys of symbol sequences: fast, and without meaning outside a memory."""
    keys = np.empty(starts.size, np.uint64)
    for i in range(starts.size):
        key = _mix(_U64(0x243F6A8885A308D3), _U64(lengths[i]))
        for t in range(starts[i], starts[i] + lengths[i]):
            key = _mix(key, _U64(symbols[t]))
        keys[i] = key
    return keys


@kernel
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
