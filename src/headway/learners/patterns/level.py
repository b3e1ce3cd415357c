"""One level of a memory: what its run files say together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.vocabulary import Vocabulary
from headway.errors import MemoryDamage
from headway.learners.patterns.compact import merged
from headway.learners.patterns.namer import Namer, blank_digests, keys_of, parent_digests
from headway.learners.patterns.runs import RunFile, RunReader, open_runs
from headway.learners.patterns.tally import Keys, Tally, empty, gather, join, merge

Digests = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Children:
    """What the symbols of some patterns stand for: symbol j is pattern `at[j]` of the level below."""

    rows: Tally
    digests: Digests
    at: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """Names of patterns; `children` is None where symbols are tokens or empty names."""

    digests: Digests
    children: Children | None


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    digest: NDArray[np.uint32]
    rows: Tally
    names: Digests


class LevelStore:
    """Sequences, counts and names of one level; the level below resolves what its symbols stand for."""

    def __init__(
        self, folder: Path, runs: Sequence[RunFile], *, below: LevelStore | None, width: int, kato: bool
    ) -> None:
        self.below = below
        self.width = width
        self.runs = list(runs)
        self._folder = folder
        self._kato = kato
        self._namer: Namer | None = None

    @classmethod
    def tokens(
        cls, folder: Path, runs: Sequence[RunFile], *, width: int, vocabulary: Vocabulary, kato: bool
    ) -> LevelStore:
        """Level 0, whose symbols are tokens."""
        store = cls(folder, runs, below=None, width=width, kato=kato)
        store._namer = Namer(vocabulary)
        return store

    @cached_property
    def readers(self) -> list[RunReader]:
        """The run files, opened and verified on first use."""
        return open_runs(self._folder, self.runs)

    @property
    def blank(self) -> bool:
        """Whether this level has no names to give upward: width 1 above level 0."""
        return self.width == 1 and self.below is not None

    def merged(self) -> Iterator[Tally]:
        """All patterns in order of key, piece by piece."""
        return merged(self.readers)

    @cached_property
    def unique(self) -> int:
        """How many different patterns there are."""
        if len(self.runs) <= 1:
            return sum(run.rows for run in self.runs)
        return sum(len(part) for part in self.merged())

    def find(self, key: int) -> Tally:
        """All patterns with this key: none, one, or more if sequences share it by chance."""
        parts = [row for reader in self.readers for row in reader.find(key)]
        return merge(parts) if parts else empty(np.uint64)

    def sequences(self, keys: Keys) -> Tally:
        """One pattern for each of these ascending, different keys; MemoryDamage when one is not there."""
        missing = np.ones(len(keys), bool)
        parts: list[Tally] = []
        order: list[NDArray[np.int64]] = []
        for reader in self.readers:
            for wanted, rows in reader.locate(keys, missing):
                parts.append(rows)
                order.append(wanted)
                missing[wanted] = False
        if missing.any():
            key = int(keys[np.argmax(missing)])
            raise MemoryDamage(
                f"a pattern above names {key:016x}..., which level {self.number} does not hold; restore from a copy"
            )
        return _in_order(join(parts), np.concatenate(order)) if parts else empty(np.uint64)

    @property
    def number(self) -> int:
        """The level, counted from the tokens."""
        return 0 if self.below is None else self.below.number + 1

    def digests(self, patterns: Tally) -> Digests:
        """The names of patterns of this level; MemoryDamage when a sequence does not hash to its key."""
        return self.named(patterns).digests

    def named(self, patterns: Tally) -> Named:
        """Patterns of this level with their names and what their symbols stand for."""
        if self.below is not None and not self.below.blank:
            return self._parents(self.below, patterns)
        if self._namer is None:
            digests = blank_digests(patterns.lengths)
        else:
            digests = self._namer.tokens(patterns.symbols, patterns.offsets[:-1], patterns.lengths)
        for i in self._misnamed(digests, patterns):
            raise self._damage(int(patterns.keys[i]))
        return Named(digests, None)

    def _parents(self, below: LevelStore, patterns: Tally) -> Named:
        keys, at = np.unique(patterns.symbols, return_inverse=True)
        rows = below.sequences(keys)
        names = below.digests(rows)
        digests = parent_digests(names[at], patterns.offsets[:-1], patterns.lengths)
        for i in self._misnamed(digests, patterns):
            right = self._resolve(below, patterns.cut(i, i + 1))
            digests[i] = right.digest
            at[patterns.offsets[i] : patterns.offsets[i + 1]] = np.arange(len(right.names)) + len(rows)
            rows, names = join([rows, right.rows]), np.concatenate([names, right.names])
        return Named(digests, Children(rows, names, at))

    def _misnamed(self, digests: Digests, patterns: Tally) -> list[int]:
        return np.flatnonzero(keys_of(digests) != patterns.keys).tolist() if self._kato else []

    def _resolve(self, below: LevelStore, pattern: Tally) -> _Choice:
        """Some children of this pattern share their keys with others: the choice that fits the pattern's own key."""
        found = [below.find(key) for key in pattern.symbols.tolist()]
        named = [below.digests(each) for each in found]
        for picks in product(*(range(len(each)) for each in found)):
            names = np.stack([each[i] for each, i in zip(named, picks, strict=True)])
            digest = parent_digests(names, pattern.offsets[:-1], pattern.lengths)
            if keys_of(digest)[0] == pattern.keys[0]:
                rows = join([each.cut(i, i + 1) for each, i in zip(found, picks, strict=True)])
                return _Choice(digest[0], rows, names)
        raise self._damage(int(pattern.keys[0]))

    def _damage(self, key: int) -> MemoryDamage:
        return MemoryDamage(
            f"level {self.number}: the sequence stored under {key:016x}... does not hash to that name; "
            "restore the memory from a copy"
        )

    def close(self) -> None:
        """Let go of the files."""
        for reader in self.__dict__.pop("readers", []):
            reader.close()


def _in_order(rows: Tally, places: NDArray[np.int64]) -> Tally:
    """Rows rearranged so that row i goes to place `places[i]`."""
    source = np.empty(len(places), np.uint32)
    source[places] = np.arange(len(places), dtype=np.uint32)
    return pick(rows, source)


def pick(rows: Tally, which: NDArray[Any]) -> Tally:
    """Some rows of a tally, in the order asked for."""
    which = which.astype(np.uint32)
    offsets, symbols = gather(which, rows.offsets[:-1], rows.lengths, rows.symbols)
    return Tally(rows.keys[which], rows.counts[which], offsets, symbols)
