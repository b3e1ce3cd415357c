"""Finding rows in a block of text, and reading their numbers, compiled.

A row ends at byte 0x0A and at no other. Numbers are decimal -> double -> float32, each step rounded correctly: where
this code cannot be sure of that, or a row is not simply a word and its numbers, it says so and the row is read slowly.
"""

from typing import Any

import numpy as np

from headway.native.compiled import inlined, kernel
from headway.native.moves import bits_of, lowest, matches64, take8

# Text has so many spare bytes at its end.
SPARE = 64
PLAIN, ODD = np.uint8(0), np.uint8(1)
_U64 = np.uint64
_NEWLINE, _SPACE, _RETURN = np.uint8(0x0A), np.uint8(0x20), np.uint8(0x0D)
_POWERS = np.array([10.0**n for n in range(23)])
_PARTS = 1 / _POWERS
_TENS = np.array([10**n for n in range(9)], np.uint64)
# Halfway between two float32 that follow each other, in the bits of a double below those of a float32.
_HALF, _BELOW, _UNSURE = 1 << 28, _U64((1 << 29) - 1), 8
_SMALLEST, _LARGEST = 2.0**-126, 3.4e38


@inlined
def _find(text: Any, at: Any, end: Any, byte: Any) -> int:
    """The first place from `at` on with this byte; `end` where there is none before it."""
    while at < end:
        hits = matches64(text, at, byte)
        if hits:
            return min(end, at + lowest(hits))
        at += 64
    return end


@inlined
def _hash(text: Any, start: Any, stop: Any) -> Any:
    """A hash of some bytes, never 0."""
    state = _U64(stop - start) * _U64(0x9E3779B97F4A7C15)
    at = start
    while at < stop:
        word = take8(text, at)
        if stop - at < 8:
            word &= (_U64(1) << _U64(8 * (stop - at))) - _U64(1)
        state = (state ^ word) * _U64(0xD6E8FEB86659FD93)
        state ^= state >> _U64(32)
        at += 8
    return state | _U64(1)


@kernel
def hashes(text: Any, starts: Any) -> Any:
    """The hash of each stretch of a text between two starts."""
    found = np.empty(starts.size - 1, np.uint64)
    for i in range(found.size):
        found[i] = _hash(text, starts[i], starts[i + 1])
    return found


@kernel
def table(keys: Any) -> Any:
    """An open table of hashes, at most a quarter full; 0 is an empty slot."""
    size = 4
    while size < 4 * keys.size:
        size *= 2
    slots = np.zeros(size, np.uint64)
    for key in keys:
        at = np.int64(key & _U64(size - 1))
        while slots[at] != 0 and slots[at] != key:
            at = (at + 1) & (size - 1)
        slots[at] = key
    return slots


@inlined
def _holds(slots: Any, key: Any) -> bool:
    at = np.int64(key & _U64(slots.size - 1))
    while slots[at] != 0:
        if slots[at] == key:
            return True
        at = (at + 1) & (slots.size - 1)
    return False


@kernel
def rows(text: Any, end: int, slots: Any, number: int, found: Any) -> Any:
    """Rows that begin with a word of the table, or all rows where it is empty: number, start and end of each.

    Returns how many were found, where it stopped for lack of room, a newline, or the end, and the next row's number.
    """
    count, at = 0, 0
    while at < end and count < found.shape[0]:
        if slots.size:
            # Most words are short: the space is in the first bytes, and the newline is looked for only behind it.
            space = _find(text, at, end, _SPACE)
            if space < end and not _holds(slots, _hash(text, at, space)):
                stop = _find(text, at, space, _NEWLINE)
                stop = _find(text, space, end, _NEWLINE) if stop == space else stop
                if stop == end:
                    break
                at, number = stop + 1, number + 1
                continue
        stop = _find(text, at, end, _NEWLINE)
        if stop == end:
            break
        found[count, 0], found[count, 1], found[count, 2] = number, at, stop
        count += 1
        at, number = stop + 1, number + 1
    return count, at, number


@inlined
def _digits(text: Any, at: Any) -> Any:
    """The number that up to eight digits spell, and how many there are."""
    word = take8(text, at) ^ _U64(0x3030303030303030)
    others = ((word + _U64(0x0606060606060606)) | word) & _U64(0xF0F0F0F0F0F0F0F0)
    count = lowest(others) >> 3
    if count == 0:
        return _U64(0), count
    # Digits before the first are zeros; then two, four and eight of them join at once.
    word = (word << _U64(64 - 8 * count)) & _U64(0x0F0F0F0F0F0F0F0F)
    word = (word * _U64(2561)) >> _U64(8)
    word = ((word & _U64(0x00FF00FF00FF00FF)) * _U64(6553601)) >> _U64(16)
    word = ((word & _U64(0x0000FFFF0000FFFF)) * _U64(42949672960001)) >> _U64(32)
    return word, count


@inlined
def _run(text: Any, at: Any, value: Any) -> Any:
    """A number with all digits from `at` on put behind it, and where they end."""
    more, count = _digits(text, at)
    value, at = value * _TENS[count] + more, at + count
    while count == 8:
        more, count = _digits(text, at)
        value, at = value * _TENS[count] + more, at + count
    return value, at


@inlined
def _exponent(text: Any, at: Any) -> Any:
    """The power of ten behind an e, and where it ends; the place of the e where there is none."""
    start, at = at, at + 1
    negative = text[at] == 0x2D
    if negative or text[at] == 0x2B:
        at += 1
    power, count = _digits(text, at)
    if count == 0 or count == 8:
        return np.int64(0), start
    return (-np.int64(power) if negative else np.int64(power)), at + count


@inlined
def _single(mantissa: Any, exponent: Any, negative: Any) -> Any:
    """A decimal number as float32, and whether the last bit is sure."""
    if mantissa == 0:
        return np.float32(-0.0) if negative else np.float32(0.0), True
    if exponent < -22 or exponent > 22:
        return np.float32(0.0), False
    exact = np.float64(mantissa)
    # A product is faster than a quotient, and off by some of the last bits of a double: near halfway that matters.
    value = exact * _PARTS[-exponent] if exponent < 0 else exact * _POWERS[exponent]
    sure = True
    if np.int64(abs(np.int64(bits_of(value) & _BELOW) - _HALF)) < _UNSURE:
        value = exact / _POWERS[-exponent] if exponent < 0 else value
        sure = mantissa < _U64(1 << 53)
    sure = sure and _SMALLEST <= value < _LARGEST
    return np.float32(-value if negative else value), sure


@inlined
def _number(text: Any, at: Any) -> Any:
    """The number at a place as float32, where it ends, and whether it is one and sure to the last bit."""
    negative = text[at] == 0x2D
    at += np.int64(negative)
    first = at
    lead = np.uint8(text[at] - np.uint8(0x30))
    if lead < 10 and text[at + 1] == 0x2E:
        # Nearly all numbers of nearly all files: one digit, a point, up to eight digits.
        more, count = _digits(text, at + 2)
        mantissa, exponent, at = _U64(lead) * _TENS[count] + more, -count, at + 2 + count
        if count == 8:
            mantissa, at = _run(text, at, mantissa)
            exponent = first + 2 - at
        digits = 1 - exponent
    else:
        mantissa, at = _run(text, at, _U64(0))
        digits, exponent = at - first, np.int64(0)
        if text[at] == 0x2E:
            point = at + 1
            mantissa, at = _run(text, point, mantissa)
            exponent = point - at
            digits += at - point
    if (text[at] | 0x20) == 0x65:
        power, end = _exponent(text, at)
        exponent, at = exponent + power, end
    value, sure = _single(mantissa, exponent, negative)
    return value, at, sure and 0 < digits < 20


@inlined
def _ends(text: Any, at: Any, stop: Any, separator: Any, ends: Any) -> int:
    """Where each field between two places ends, as many as `ends` has room for; how many there are, or one too many."""
    count, room = 0, ends.size
    while at < stop:
        hits = matches64(text, at, separator)
        if stop - at < 64:
            hits &= (_U64(1) << _U64(stop - at)) - _U64(1)
        while hits:
            if count == room:
                return room + 1
            ends[count] = at + lowest(hits)
            count += 1
            hits &= hits - _U64(1)
        at += 64
    if count == room:
        return room + 1
    ends[count] = stop
    return count + 1


@kernel
def numbers(text: Any, spans: Any, separator: Any, into: Any, kinds: Any) -> None:
    """The numbers between the places of each span, as many as `into` has columns, separated by one byte.

    A row that has another form, or a number that is not surely right to the last bit, is marked as odd. Fields are
    found before they are read: where a number begins must not wait for the end of the one before.
    """
    width = into.shape[1]
    ends = np.empty(width, np.int64)
    for i in range(spans.shape[0]):
        kinds[i] = ODD
        if _ends(text, spans[i, 0], spans[i, 1], separator, ends) != width:
            continue
        plain, start = True, spans[i, 0]
        for column in range(width):
            value, at, sure = _number(text, start)
            into[i, column] = value
            plain = plain and sure and at == ends[column]
            start = ends[column] + 1
        if plain:
            kinds[i] = PLAIN


@kernel
def first_spaces(text: Any, spans: Any) -> Any:
    """Where each row's first field ends, and where the row ends without spaces and a return behind the last number."""
    found = np.empty((spans.shape[0], 2), np.int64)
    for i in range(spans.shape[0]):
        start, stop = spans[i, 1], spans[i, 2]
        while stop > start and (text[stop - 1] == _RETURN or text[stop - 1] == _SPACE):
            stop -= 1
        found[i, 0] = _find(text, start, stop, _SPACE)
        found[i, 1] = stop
    return found


@kernel
def words(text: Any, spans: Any, offsets: Any) -> Any:
    """The bytes of each span one after another; `offsets` (one more than spans) receives where each begins."""
    size = np.int64(0)
    for i in range(spans.shape[0]):
        offsets[i] = size
        size += spans[i, 1] - spans[i, 0]
    offsets[spans.shape[0]] = size
    flat, at = np.empty(size, np.uint8), np.int64(0)
    for i in range(spans.shape[0]):
        for k in range(spans[i, 0], spans[i, 1]):
            flat[at] = text[k]
            at += 1
    return flat
