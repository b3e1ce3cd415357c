"""Rows of a vector file as words and numbers: the common row by compiled code, every other one slowly and exactly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import xxhash
from numpy.typing import NDArray

from headway.data.vectors.blocks import Block, blocks
from headway.data.vectors.kernels import scan
from headway.data.vectors.table import Bad
from headway.errors import DataError

Singles = NDArray[np.float32]

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# The numbers that a row ends in, each with the space before it, read backwards.
_NUMBERS_BACKWARDS = re.compile(rb"(?:(?:\d+[+-]?[eE])?(?:\d*\.?\d+|\d+\.)[+-]? )++")
_DECIMAL = re.compile(rb"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_BOM = b"\xef\xbb\xbf"
_TRIED_ROWS = 1000
_AT_ONCE = 4096
_THREADS = 2


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a file, in its order: word i is `text[offsets[i]:offsets[i + 1]]`, its vector `numbers[i]`."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    numbers: Singles

    def words(self) -> list[bytes]:
        """The words."""
        flat = self.text.tobytes()
        return [flat[low:high] for low, high in pairwise(self.offsets.tolist())]


@dataclass(slots=True)
class Reading:
    """What a file turned out to hold; complete when its rows are."""

    name: str
    dimensions: int | None = None
    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    checksum: str | None = None


def read_rows(
    file: BinaryIO, reading: Reading, *, wanted: Collection[str] | None = None, bad: Bad = "error"
) -> Iterator[Rows]:
    """Rows of a GloVe, word2vec or fastText text file; those of `wanted` words alone where that is given.

    A row that is not a word and its numbers is a DataError, or skipped and counted.
    """
    digest = xxhash.xxh3_128()
    sought = None if wanted is None else _Sought.of(wanted)
    parser = _Parser(reading, sought, bad)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="vectors") as threads:
        for number, block in enumerate(blocks(file, seen=digest.update)):
            text, end = (block.text, block.end) if number else _begun(block, reading)
            yield from parser.rows(text, end, threads)
    if not parser.number:
        raise _no_rows(reading)
    reading.rows = parser.number
    reading.checksum = digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Sought:
    words: frozenset[bytes]
    slots: NDArray[np.uint64]

    @classmethod
    def of(cls, words: Collection[str]) -> _Sought:
        """Words that may hold spaces are found by what stands before the first one, then compared whole."""
        whole = frozenset(word.encode() for word in words)
        firsts = sorted({word.partition(b" ")[0] for word in whole})
        bounds = np.cumsum([0, *map(len, firsts)])
        text = np.frombuffer(b"".join(firsts) + bytes(scan.SPARE), np.uint8)
        return cls(whole, scan.table(scan.hashes(text, bounds)))


class _Parser:
    def __init__(self, reading: Reading, sought: _Sought | None, bad: Bad) -> None:
        self._reading = reading
        self._sought = sought
        self._slots = np.zeros(0, np.uint64) if sought is None else sought.slots
        self._bad: Bad = bad
        self.number = 0

    def rows(self, text: NDArray[np.uint8], end: int, threads: ThreadPoolExecutor) -> Iterator[Rows]:
        """The rows of one block; rows are found here, and their numbers read in threads."""
        jobs: list[Any] = []
        at = 0
        while at < end:
            found = np.empty((_AT_ONCE, 3), np.int64)
            here = text[at:]
            count, moved, self.number = scan.rows(here, end - at, self._slots, self.number, found)
            if count:
                jobs.append(threads.submit(self._parsed, here, found[:count]))
            at += moved
        for job in jobs:
            part: Rows | None = job.result()
            if part is not None:
                yield part

    def _parsed(self, text: NDArray[np.uint8], found: NDArray[np.int64]) -> Rows | None:
        assert self._reading.dimensions is not None
        ends = scan.first_spaces(text, found)
        numbers = np.empty((len(found), self._reading.dimensions), np.float32)
        kinds = np.empty(len(found), np.uint8)
        scan.numbers(text, np.column_stack([ends[:, 0] + 1, ends[:, 1]]), np.uint8(0x20), numbers, kinds)
        spans = np.column_stack([found[:, 1], ends[:, 0]])
        kept = np.ones(len(found), bool)
        for i in np.flatnonzero(kinds != scan.PLAIN).tolist():
            row = text[found[i, 1] : ends[i, 1]].tobytes()
            size = self._slow(row, int(found[i, 0]), numbers[i])
            kept[i] = size is not None
            spans[i, 1] = spans[i, 0] + (size or 0)
        if self._sought is not None:
            wanted = self._sought.words
            kept &= [text[low:high].tobytes() in wanted for low, high in spans.tolist()]
        if not kept.all():
            spans, numbers = spans[kept], numbers[kept]
        if not len(spans):
            return None
        offsets = np.empty(len(spans) + 1, np.int64)
        return Rows(scan.words(text, np.ascontiguousarray(spans), offsets), offsets, numbers)

    def _slow(self, row: bytes, number: int, into: Singles) -> int | None:
        """Read one row with care; how long its word is, or None where the row is skipped."""
        width = len(into)
        fields = row.split(b" ")
        size = len(row) - sum(map(len, fields[-width:])) - width
        # Where its numbers are too few or too many, the word is what stands before them.
        word = fields[0] if all(map(_DECIMAL.fullmatch, fields[1:-width])) else row[:size]
        if self._sought is not None and word not in self._sought.words:
            # Its first field alone was looked for: it is not asked for, whatever is wrong with it.
            return None
        problem = _problem(fields, width)
        if problem is None:
            with np.errstate(over="ignore"):
                into[:] = np.array([float(each) for each in fields[-width:]])
            if np.isfinite(into).all():
                return size
            problem = "a number too large for 32 bits"
        if self._bad == "error" and problem != "no word":
            raise DataError(
                f"{self._reading.name}, row {number + 1} ({row[:40].decode('utf-8', 'replace')!r}...): {problem}; "
                "repair the file, or skip such rows with: --bad-rows skip"
            )
        self._reading.skipped[problem] += 1
        return None


def _problem(fields: Sequence[bytes], width: int) -> str | None:
    """What keeps a row from being a word and its numbers."""
    if not any(fields):
        return "no word"
    if len(fields) <= width:
        return "fewer numbers than others"
    if any(_DECIMAL.fullmatch(each) for each in fields[1:-width]):
        return "more numbers than others"
    for each in fields[-width:]:
        if _NOT_FINITE.fullmatch(each):
            return "a number that is not finite"
        if not _NUMBER.fullmatch(each):
            return "something that is no number"
    return None


def _begun(block: Block, reading: Reading) -> tuple[NDArray[np.uint8], int]:
    """The first block without byte order mark and header; from now on the number of dimensions is known."""
    text, end = block.text, block.end
    if text[:3].tobytes() == _BOM:
        text, end = text[3:], end - 3
    lines = text[: min(end, 1 << 20)].tobytes().split(b"\n")[:_TRIED_ROWS]
    header = lines[0].split()
    said = int(header[1]) if len(header) == 2 and all(map(bytes.isdigit, header)) else None
    if said is not None:
        text, end = text[len(lines[0]) + 1 :], end - len(lines[0]) - 1
        lines = lines[1:]
    found = said or _dimensions(lines)
    if not found:
        raise _no_rows(reading)
    if reading.dimensions is not None and reading.dimensions != found:
        asked = f"not {reading.dimensions}, as was asked for; ask for {found}, or for whatever there is"
        raise DataError(f"{reading.name} has vectors of {found} numbers, {asked}")
    reading.dimensions = found
    return text, end


def _no_rows(reading: Reading) -> DataError:
    return DataError(f"{reading.name} holds no row of a word and its numbers; is it a file of word vectors?")


def _dimensions(lines: Sequence[bytes]) -> int:
    """How many numbers most rows end in, the first field being a word whatever it looks like."""
    ends = (_NUMBERS_BACKWARDS.match(line.rstrip(b"\r ")[::-1]) for line in lines)
    counts = Counter(end[0].count(b" ") for end in ends if end is not None)
    return counts.most_common(1)[0][0] if counts else 0
