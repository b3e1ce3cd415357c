"""From the tokens of some documents to the patterns of every level: cut, name, count.

A document never meets another one. A batch is worked off in units of bounded size; a document larger than a unit is
divided where every level begins a new pattern, so that the division leaves no trace in the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.vocabulary import Vocabulary
from headway.learners.patterns.config import Section
from headway.learners.patterns.kernels import cutting
from headway.learners.patterns.marks import sentence_marks
from headway.learners.patterns.namer import Namer, blank_digests, keys_of, parent_digests
from headway.learners.patterns.still import still
from headway.learners.patterns.tally import Keys, Offsets, Rows, Symbols

_NO_MARKS: NDArray[np.uint8] = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True)
class Firsts:
    """The first pattern each document learned at one level."""

    keys: Keys
    documents: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Learned:
    """What one unit taught one level, in the order of the text: pattern i is `symbols[starts[i]:][:lengths[i]]`.

    `taken` is how many symbols the patterns took up, or, where a level only hands names on, how many it was given.
    """

    keys: Keys
    starts: Offsets
    lengths: NDArray[Any]
    symbols: Symbols
    taken: int
    firsts: Firsts

    @property
    def bytes(self) -> int:
        """Memory held; the symbols above level 0 are the keys of the level below and cost nothing."""
        return self.keys.nbytes + self.starts.nbytes + self.lengths.nbytes

    def rows(self) -> Rows:
        """The patterns as rows to add up."""
        return Rows(self.keys, self.starts, self.lengths, self.symbols)


@dataclass(frozen=True, slots=True)
class _Table:
    starts: Offsets
    lengths: NDArray[Any]
    bounds: Offsets

    def __len__(self) -> int:
        return len(self.starts)


class Hierarchy:
    """Learns batches into tallies; holds what is the same for all of them and no counts."""

    def __init__(self, section: Section, vocabulary: Vocabulary, *, tokenizer: str, unit_patterns: int) -> None:
        self._section = section
        self._kato = section.names == "kato"
        self._namer = Namer(vocabulary)
        self._marks = sentence_marks(vocabulary, tokenizer) if section.mode == "sentences" else _NO_MARKS
        self._step = prod(section.widths[1:])
        self._unit = max(1, unit_patterns // self._step) * self._step

    def learn(
        self, ids: Symbols, documents: Offsets, segments: Offsets, *, numbers: NDArray[np.int64]
    ) -> Iterator[list[Learned]]:
        """What each unit of these documents teaches, level by level; `numbers` are those of the documents."""
        rule = (self._section.widths[0], still(self._marks), self._section.min_sentence_tokens)
        place, fresh = (0, 0, int(segments[0]) if len(segments) else 0), True
        while place[0] < len(documents) - 1:
            first = place[0]
            starts, lengths, bounds, place = cutting.cut(
                still(ids), still(documents), still(segments), rule, place, self._unit
            )
            some = numbers[first : first + len(bounds) - 1]
            yield self._levels(ids, _Table(starts, lengths, bounds), some, fresh=fresh)
            # A document that goes on in the next unit does not begin there.
            fresh = place[0] == first + len(bounds) - 1

    def _levels(self, ids: Symbols, table: _Table, numbers: NDArray[np.int64], *, fresh: bool) -> list[Learned]:
        keys, names = self._tokens(ids, table)
        levels = [_learned(keys, table, ids, numbers, fresh=fresh)]
        blank = False
        for width in self._section.widths[1:]:
            above = _Table(*cutting.cut_names(still(self._joined(table.bounds, width)), width))
            if width == 1:
                levels.append(_nothing(len(table)))
                table, blank = above, True
                continue
            symbols = np.zeros(len(table), np.uint64) if blank else keys
            keys, names = self._parents(names, symbols, above, blank=blank)
            levels.append(_learned(keys, above, symbols, numbers, fresh=fresh))
            table, blank = above, False
        return levels

    def _joined(self, bounds: Offsets, width: int) -> Offsets:
        """Where the names of each document begin that a level of this width cuts together."""
        del width
        return bounds

    def _tokens(self, ids: Symbols, table: _Table) -> tuple[Keys, NDArray[np.uint32] | None]:
        if not self._kato:
            return cutting.internal_keys(still(ids), still(table.starts), still(table.lengths)), None
        names = self._namer.tokens(ids, table.starts, table.lengths)
        return keys_of(names), names

    def _parents(
        self, children: NDArray[np.uint32] | None, symbols: Keys, table: _Table, *, blank: bool
    ) -> tuple[Keys, NDArray[np.uint32] | None]:
        if blank and self._kato:
            names = blank_digests(table.lengths)
        elif children is not None:
            names = parent_digests(children, table.starts, table.lengths)
        else:
            return cutting.internal_keys(still(symbols), still(table.starts), still(table.lengths)), None
        return keys_of(names), names


def _learned(keys: Keys, table: _Table, symbols: Symbols, numbers: NDArray[np.int64], *, fresh: bool) -> Learned:
    some = table.bounds[1:] > table.bounds[:-1]
    if len(some) and not fresh:
        some[0] = False
    firsts = Firsts(keys[table.bounds[:-1][some]], numbers[some])
    low, high = (int(table.starts[0]), int(table.starts[-1] + table.lengths[-1])) if len(table) else (0, 0)
    return Learned(keys, table.starts - low, table.lengths, symbols[low:high], int(table.lengths.sum()), firsts)


def _nothing(names: int) -> Learned:
    """What a level of width 1 above level 0 learns: nothing, from one name at a time."""
    none, places = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    return Learned(none, places, np.zeros(0, np.int32), none, names, Firsts(none, places))
