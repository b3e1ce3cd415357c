"""Names of many patterns at once: write each pattern's text as KATO hashes it, then hash sixteen texts together.

The text of a level-0 pattern is its tokens' pieces (`[repr], `, made once per vocabulary) one after another; above
level 0 a piece is `['PTRN|<40 hex>'], `. Patterns are taken in order of their number of SHA-1 blocks, so that the
sixteen lanes of a group finish together.
"""

from typing import Any

import numpy as np
from numba import njit

from headway.learners.patterns.moves import move8, put8
from headway.learners.patterns.sha1 import LANES, sha1_lanes

_BLOCK = 64
_SPAN = 0xFFFF
CHILD_BYTES = 51
_U64 = np.uint64
_OPEN = np.frombuffer(b"['PTRN|\0", np.uint64)[0]
_CLOSE = np.frombuffer(b"'], \0\0\0\0", np.uint64)[0]
EMPTY_PIECE = np.frombuffer(b"[''], \0\0", np.uint64)[0]


@njit(forceinline=True)
def _swap(word: Any) -> Any:
    """A 32-bit word with its bytes in the other order."""
    x = _U64(word)
    return (
        ((x >> _U64(24)) & _U64(0xFF))
        | ((x >> _U64(8)) & _U64(0xFF00))
        | ((x & _U64(0xFF00)) << _U64(8))
        | ((x & _U64(0xFF)) << _U64(24))
    )


@njit(forceinline=True)
def _hex(word: Any) -> Any:
    """Eight lower-case hex digits of a 32-bit word, the highest digit in the lowest byte."""
    swapped = _swap(word)
    pairs = (swapped | (swapped << _U64(16))) & _U64(0x0000FFFF0000FFFF)
    pairs = (pairs | (pairs << _U64(8))) & _U64(0x00FF00FF00FF00FF)
    nibbles = ((pairs >> _U64(4)) & _U64(0x000F000F000F000F)) | ((pairs & _U64(0x000F000F000F000F)) << _U64(8))
    letters = ((nibbles + _U64(0x0606060606060606)) >> _U64(4)) & _U64(0x0101010101010101)
    return nibbles + _U64(0x3030303030303030) + letters * _U64(39)


@njit(forceinline=True)
def _blocks(size: int) -> int:
    """SHA-1 blocks of a message of `size` bytes, padding included."""
    return (size + 8) // _BLOCK + 1


@njit(forceinline=True)
def _pad(text: Any, at: int, size: int) -> None:
    """SHA-1's padding after a message of `size` bytes at `at`."""
    end = at + _blocks(size) * _BLOCK
    put8(text, at + size, _U64(0x80))
    for i in range(at + size + 8, end - 8, 8):
        put8(text, i, _U64(0))
    bits = _U64(size * 8)
    put8(text, end - 8, (_swap(bits) << _U64(32)) | _swap(bits >> _U64(32)))


@njit(nogil=True, cache=True)
def _by_blocks(sizes: Any) -> Any:
    """Message numbers, those with fewer blocks first, otherwise in order."""
    most = 1
    for size in sizes:
        most = max(most, _blocks(size))
    slots = np.zeros(most + 2, np.int64)
    for size in sizes:
        slots[_blocks(size) + 1] += 1
    for b in range(1, most + 2):
        slots[b] += slots[b - 1]
    order = np.empty(sizes.size, np.int64)
    for i in range(sizes.size):
        b = _blocks(sizes[i])
        order[slots[b]] = i
        slots[b] += 1
    return order


@njit(nogil=True, cache=True)
def _lanes(order: Any, sizes: Any, first: int) -> int:
    """How many messages from `first` on can be hashed together."""
    blocks, lanes = _blocks(sizes[order[first]]), 1
    while lanes < LANES and first + lanes < order.size and _blocks(sizes[order[first + lanes]]) == blocks:
        lanes += 1
    return lanes


@njit(nogil=True, cache=True)
def _buffers(most: int) -> Any:
    """Text, transposed words and state for sixteen messages of up to `most` blocks; the text has spare room at its end."""
    text = np.zeros((LANES * most + 2) * _BLOCK, np.uint8)
    return text, np.zeros((most, 16, LANES), np.uint32), np.empty((5, LANES), np.uint32)


@njit(nogil=True, cache=True)
def _hash_group(buffers: Any, blocks: int, group: Any, digests: Any) -> None:
    """Hash the padded texts of a group, `blocks` blocks each, and hand out their digests."""
    text, words, state = buffers
    view = text.view(np.uint32)
    for lane in range(group.size):
        base = lane * blocks * 16
        for b in range(blocks):
            for i in range(16):
                words[b, i, lane] = _swap(view[base + b * 16 + i])
    sha1_lanes(words, blocks, state)
    for lane in range(group.size):
        for row in range(5):
            digests[group[lane], row] = state[row, lane]


@njit(nogil=True, cache=True)
def token_names(ids: Any, starts: Any, lengths: Any, pieces: Any, spans: Any) -> Any:
    """SHA-1 digests `uint32[n, 5]` of level-0 patterns; `pieces` and `spans` as `piece_table` makes them."""
    sizes = np.zeros(starts.size, np.int64)
    for i in range(starts.size):
        size = 0
        for t in range(starts[i], starts[i] + lengths[i]):
            size += spans[ids[t]] & _SPAN
        sizes[i] = size
    digests = np.empty((starts.size, 5), np.uint32)
    if starts.size == 0:
        return digests
    order = _by_blocks(sizes)
    buffers = _buffers(_blocks(sizes[order[-1]]))
    text, first = buffers[0], 0
    while first < order.size:
        lanes, blocks = _lanes(order, sizes, first), _blocks(sizes[order[first]])
        for lane in range(lanes):
            i, base = order[first + lane], lane * blocks * _BLOCK
            text[base] = 91
            at = base + 1
            for t in range(starts[i], starts[i] + lengths[i]):
                low, size = spans[ids[t]] >> 16, spans[ids[t]] & _SPAN
                move8(text, at, pieces, low)
                move8(text, at + 8, pieces, low + 8)
                for k in range(16, size, 8):
                    move8(text, at + k, pieces, low + k)
                at += size
            text[at - 2] = 93
            _pad(text, base, sizes[i])
        _hash_group(buffers, blocks, order[first : first + lanes], digests)
        first += lanes
    return digests


@njit(nogil=True, cache=True)
def parent_names(children: Any, starts: Any, lengths: Any) -> Any:
    """SHA-1 digests `uint32[n, 5]` of patterns whose symbols are the names `children[m, 5]`."""
    sizes = lengths * np.int64(CHILD_BYTES)
    digests = np.empty((starts.size, 5), np.uint32)
    if starts.size == 0:
        return digests
    order = _by_blocks(sizes)
    buffers = _buffers(_blocks(sizes[order[-1]]))
    text, first = buffers[0], 0
    while first < order.size:
        lanes, blocks = _lanes(order, sizes, first), _blocks(sizes[order[first]])
        for lane in range(lanes):
            i, base = order[first + lane], lane * blocks * _BLOCK
            text[base] = 91
            at = base + 1
            for child in range(starts[i], starts[i] + lengths[i]):
                put8(text, at, _OPEN)
                for row in range(5):
                    put8(text, at + 7 + 8 * row, _hex(children[child, row]))
                put8(text, at + 47, _CLOSE)
                at += CHILD_BYTES
            text[at - 2] = 93
            _pad(text, base, sizes[i])
        _hash_group(buffers, blocks, order[first : first + lanes], digests)
        first += lanes
    return digests


@njit(nogil=True, cache=True)
def keys_of(digests: Any) -> Any:
    """The first 64 bits of each name: the order of keys is the order of names."""
    keys = np.empty(digests.shape[0], np.uint64)
    for i in range(keys.size):
        keys[i] = (_U64(digests[i, 0]) << _U64(32)) | _U64(digests[i, 1])
    return keys
