"""A file in blocks of whole rows, the next one read while this one is worked on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

BLOCK = 4 << 20
# The compiled code reads whole vectors: so many bytes after the end must be there.
SPARE = 64
_ROOM = 1 << 16
_NEWLINE = 0x0A

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows `text[:end]`, each with its newline; behind them is spare room."""

    text: Bytes
    end: int


def blocks(file: BinaryIO, *, size: int = BLOCK, seen: Callable[[Any], None] = lambda _: None) -> Generator[Block]:
    """All of a file as blocks; the last row gets a newline if it has none. A block is gone when the next is asked for.

    `seen` is called with every stretch of the file as it was read, here: what reads goes on reading.
    """
    buffers = [np.zeros(_ROOM + size + SPARE, np.uint8) for _ in range(2)]
    rest: Bytes = np.zeros(0, np.uint8)

    def read(buffer: Bytes) -> int:
        filled, view = 0, buffer.data[_ROOM : _ROOM + size]
        while filled < size and (got := file.readinto(view[filled:])):  # type: ignore[attr-defined]
            filled += got
        return filled

    with ThreadPoolExecutor(1, thread_name_prefix="vectors-read") as reader:
        coming = reader.submit(read, buffers[0])
        turn = 0
        while filled := coming.result():
            buffer, turn = buffers[turn], 1 - turn
            coming = reader.submit(read, buffers[turn])
            seen(buffer.data[_ROOM : _ROOM + filled])
            text = _joined(rest, buffer, filled)
            end = _last_row(text)
            rest = text[end : len(text) - SPARE].copy()
            if end:
                yield Block(text, end)
    if len(rest):
        yield Block(np.concatenate([rest, np.array([_NEWLINE], np.uint8), np.zeros(SPARE, np.uint8)]), len(rest) + 1)


def _joined(rest: Bytes, buffer: Bytes, filled: int) -> Bytes:
    """What was left of the block before, and what was read, with spare room behind."""
    stop = _ROOM + filled + SPARE
    buffer[_ROOM + filled : stop] = 0
    if len(rest) <= _ROOM:
        buffer[_ROOM - len(rest) : _ROOM] = rest
        return buffer[_ROOM - len(rest) : stop]
    return np.concatenate([rest, buffer[_ROOM:stop]])


def _last_row(text: Bytes) -> int:
    """Where the last whole row ends."""
    return text[: len(text) - SPARE].tobytes().rfind(b"\n") + 1 if len(text) <= _ROOM else _searched(text)


def _searched(text: Bytes) -> int:
    step, stop = _ROOM, len(text) - SPARE
    while stop > 0:
        start = max(0, stop - step)
        found = text[start:stop].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
        stop = start
    return 0
