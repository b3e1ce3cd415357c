"""Names of many patterns at once: write each pattern's text as KATO hashes it, then hash sixteen texts together.

The text of a level-0 pattern is its tokens' pieces (`[repr], `, made once per vocabulary) one after another; above
level 0 a piece is `['PTRN|<40 hex>'], `. Patterns are taken in order of their number of SHA-1 blocks, so that the
sixteen lanes of a group finish together.
"""

from typing import Any

import numpy as np

from headway.learners.patterns.kernels.sha1 import INITIAL, LANES, sha1_block
from headway.native.compiled import inlined, kernel
from headway.native.moves import clear64, move8, move16, put8

_BLOCK = 64
HEAD_BYTES = 16
CHILD_BYTES = 51
_U64 = np.uint64
_OPEN = np.frombuffer(b"['PTRN|\0", np.uint64)[0]
_CLOSE = np.frombuffer(b"'], \0\0\0\0", np.uint64)[0]
EMPTY_PIECE = np.frombuffer(b"[''], \0\0", np.uint64)[0]


def piece_table(flat: Any, offsets: Any) -> Any:
    """Pieces with spare room at their end, where each begins, the first sixteen bytes of each, and how long each is.

    Most pieces are no longer than that, and beginnings side by side take one look at memory instead of two.
    """
    pieces = np.concatenate((flat, np.zeros(HEAD_BYTES, np.uint8)))
    heads = pieces[offsets[:-1, None] + np.arange(HEAD_BYTES)].ravel()
    return pieces, offsets, heads, np.diff(offsets).astype(np.uint32)


@inlined
def _swap(word: Any) -> Any:
    """A 32-bit word with its bytes in the other order."""
    x = _U64(word)
    return (
        ((x >> _U64(24)) & _U64(0xFF))
        | ((x >> _U64(8)) & _U64(0xFF00))
        | ((x & _U64(0xFF00)) << _U64(8))
        | ((x & _U64(0xFF)) << _U64(24))
    )


@inlined
def _hex(word: Any) -> Any:
    """Eight lower-case hex digits of a 32-bit word, the highest digit in the lowest byte."""
    swapped = _swap(word)
    pairs = (swapped | (swapped << _U64(16))) & _U64(0x0000FFFF0000FFFF)
    pairs = (pairs | (pairs << _U64(8))) & _U64(0x00FF00FF00FF00FF)
    nibbles = ((pairs >> _U64(4)) & _U64(0x000F000F000F000F)) | ((pairs & _U64(0x000F000F000F000F)) << _U64(8))
    letters = ((nibbles + _U64(0x0606060606060606)) >> _U64(4)) & _U64(0x0101010101010101)
    return nibbles + _U64(0x3030303030303030) + letters * _U64(39)


@inlined
def _blocks(size: Any) -> int:
    """SHA-1 blocks of a message of `size` bytes, padding included."""
    return (size + 8) // _BLOCK + 1


@inlined
def _open(text: Any, base: Any, end: Any) -> None:
    """Clear where SHA-1's padding may lie, then begin a message: always two blocks, a varying loop is mispredicted."""
    clear64(text, max(base, end - 2 * _BLOCK))
    clear64(text, end - _BLOCK)
    text[base] = 91


@inlined
def _close(text: Any, base: Any, end: Any, size: Any) -> None:
    """End a message of `size` bytes: a bracket over the last comma, padding over what the last piece left behind."""
    text[base + size - 1] = 93
    put8(text, base + size, _U64(0x80))
    put8(text, base + size + 8, _U64(0))
    put8(text, base + size + 16, _U64(0))
    bits = _U64(size * 8)
    put8(text, end - 8, (_swap(bits) << _U64(32)) | _swap(bits >> _U64(32)))


@kernel
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
    order = np.empty(sizes.size, np.uint32)
    for i in range(sizes.size):
        b = _blocks(sizes[i])
        order[slots[b]] = i
        slots[b] += 1
    return order


@kernel
def _lanes(order: Any, sizes: Any, first: int) -> int:
    """How many messages from `first` on can be hashed together."""
    blocks, lanes = _blocks(sizes[order[first]]), 1
    while lanes < LANES and first + lanes < order.size and _blocks(sizes[order[first + lanes]]) == blocks:
        lanes += 1
    return lanes


@kernel
def _buffers(most: int) -> Any:
    """Text and state for sixteen messages of up to `most` blocks; the text has spare room at its end."""
    return np.zeros((LANES * most + 2) * _BLOCK, np.uint8), np.empty((5, LANES), np.uint32)


@kernel
def _hash_group(buffers: Any, blocks: int, group: Any, digests: Any) -> None:
    """Hash the padded texts of a group, `blocks` blocks each, and hand out their digests."""
    text, state = buffers
    for row in range(5):
        for lane in range(LANES):
            state[row, lane] = INITIAL[row]
    for b in range(blocks):
        sha1_block(text, b * _BLOCK, blocks * _BLOCK, state)
    for lane in range(group.size):
        for row in range(5):
            digests[group[lane], row] = state[row, lane]


@kernel
def token_names(ids: Any, starts: Any, lengths: Any, table: Any) -> Any:
    """SHA-1 digests `uint32[n, 5]` of level-0 patterns; `table` as `piece_table` makes it."""
    pieces, offsets, heads, spans = table
    sizes = np.empty(starts.size, np.int64)
    for i in range(starts.size):
        size = np.int64(0)
        for t in range(starts[i], starts[i] + lengths[i]):
            size += spans[ids[t]]
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
            end = base + blocks * _BLOCK
            _open(text, base, end)
            at = base + 1
            for t in range(starts[i], starts[i] + lengths[i]):
                token = np.int64(ids[t])
                move16(text, at, heads, token * HEAD_BYTES)
                size = np.int64(spans[token])
                for k in range(HEAD_BYTES, size, 8):
                    move8(text, at + k, pieces, offsets[token] + k)
                at += size
            _close(text, base, end, sizes[i])
        _hash_group(buffers, blocks, order[first : first + lanes], digests)
        first += lanes
    return digests


@kernel
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
            end = base + blocks * _BLOCK
            _open(text, base, end)
            at = base + 1
            for child in range(starts[i], starts[i] + lengths[i]):
                put8(text, at, _OPEN)
                for row in range(5):
                    put8(text, at + 7 + 8 * row, _hex(children[child, row]))
                put8(text, at + 47, _CLOSE)
                at += CHILD_BYTES
            _close(text, base, end, sizes[i])
        _hash_group(buffers, blocks, order[first : first + lanes], digests)
        first += lanes
    return digests


@kernel
def keys_of(digests: Any) -> Any:
    """The first 64 bits of each name: the order of keys is the order of names."""
    keys = np.empty(digests.shape[0], np.uint64)
    for i in range(keys.size):
        keys[i] = (_U64(digests[i, 0]) << _U64(32)) | _U64(digests[i, 1])
    return keys
