"""What an autoencoder learns from and what is kept apart: documents divided first, then cut into windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from headway.data.dataset import Dataset
from headway.data.npy import Array, Ints
from headway.data.split import Grouping, Overlap, Split, divide, group, overlap
from headway.feed.rows import WindowRows
from headway.feed.windows import Windows, coverage, cut
from headway.learners.autoencoder.config import Section, SplitSection, WindowSection

_ENDS = {"line": frozenset({"<LINE_BREAK>", "<STANZA_BREAK>"}), "stanza": frozenset({"<STANZA_BREAK>"})}
_SENTENCE_ENDS = frozenset({".", "!", "?", "…", "..."})


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The three sides of a dataset and what is known of how they were made."""

    split: Split
    grouping: Grouping
    overlap: Overlap
    train: WindowRows
    valid: WindowRows
    test: WindowRows

    @property
    def coverage(self) -> float:
        """Tokens that a window owns, of all tokens; anything but 1 is a fault."""
        lengths = self.train.dataset.document_lengths()
        sides = (self.train, self.valid, self.test)
        owned = sum(coverage(rows.windows, lengths) for rows in sides)
        return float(owned)


def material(section: Section, dataset: Dataset) -> Material:
    """The sides of a dataset; the same section and dataset always give the same."""
    return _made(dataset.folder, dataset.key, section.split, section.window, _Held(dataset))


def windows_of(dataset: Dataset, section: WindowSection, documents: Ints) -> WindowRows:
    """Windows of some documents."""
    lengths = np.zeros(dataset.documents, np.int64)
    lengths[documents] = dataset.document_lengths()[documents]
    ends = None
    if section.ends != "anywhere":
        ends = _ends(dataset.read(slice(0, dataset.documents)).ids, dataset.vocabulary.symbols, section)
    return WindowRows(dataset, _cut(lengths, section, ends, dataset.offsets))


def windows_in(ids: Ints, offsets: Ints, symbols: Sequence[str], section: WindowSection) -> Windows:
    """Windows of texts in memory; an id below 0 is a word without a symbol."""
    ends = None if section.ends == "anywhere" else _ends(np.maximum(ids, 0), symbols, section)
    return _cut(np.diff(offsets), section, ends, offsets)


def _cut(lengths: Ints, section: WindowSection, ends: Ints | None, offsets: Ints) -> Windows:
    return cut(
        lengths,
        size=section.size,
        overlap=section.overlap,
        shortest=section.shortest,
        ends=ends,
        offsets=None if ends is None else offsets,
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """A dataset that plays no part in comparing arguments."""

    dataset: Dataset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _made(folder: Path, key: str, split: SplitSection, window: WindowSection, held: _Held) -> Material:
    del folder, key
    dataset = held.dataset
    grouping = group(dataset, alike=split.alike)
    sides = divide(
        grouping,
        tokens=dataset.document_lengths(),
        train=split.train,
        valid=split.valid,
        test=split.test,
        seed=split.seed,
    )
    found = overlap(dataset, sides, alike=split.alike)
    train, valid, test = (windows_of(dataset, window, side) for side in (sides.train, sides.valid, sides.test))
    return Material(sides, grouping, found, train, valid, test)


def _ends(ids: Array, symbols: Sequence[str], section: WindowSection) -> Ints:
    wanted = _ENDS.get(section.ends, _SENTENCE_ENDS)
    closing = np.array([symbol in wanted for symbol in symbols], bool)
    return np.flatnonzero(closing[ids]) + 1
