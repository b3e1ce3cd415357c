"""Learning a few books together, as kato-lm's single pass over a corpus does: a name left over joins the next book.

That ties every book to the one before it, so a corpus is learned at once, in memory, by one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway.data.vocabulary import Vocabulary
from headway.durable import replace_json, write_errors
from headway.learners.patterns.config import Section
from headway.learners.patterns.hierarchy import Hierarchy
from headway.learners.patterns.learner import VOCABULARY, identity_of
from headway.learners.patterns.manifest import MIXED, RUNS, Manifest, Origin
from headway.learners.patterns.notes import own_origins
from headway.learners.patterns.spool import Spool
from headway.learners.patterns.tally import Offsets, Symbols

_ONE_UNIT = 1 << 40
_SPOOL_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class Corpus:
    """Token ids of some books: book i lies between two `books`, and a segment of it between two `segments`."""

    ids: Symbols
    books: Offsets
    segments: Offsets
    vocabulary: Vocabulary
    tokenizer: str
    max_tokens: int
    origins: tuple[Origin, ...]
    """What the notes say of each book."""


def learn_books(corpus: Corpus, section: Section, folder: Path) -> Manifest:
    """A new memory in `folder` of what the books of a corpus teach."""
    hierarchy = _Books(section, corpus.vocabulary, tokenizer=corpus.tokenizer, unit_patterns=_ONE_UNIT)
    numbers = own_origins(len(corpus.origins))
    with write_errors(folder, kept="nothing was learned"):
        (folder / RUNS).mkdir(parents=True)
        replace_json(folder / VOCABULARY, corpus.vocabulary.to_json())
        spool = Spool(
            folder / RUNS, levels=len(section.widths), limit=_SPOOL_BYTES, notes=section.metadata == "documents"
        )
        try:
            for unit in hierarchy.learn(corpus.ids, corpus.books, corpus.segments, numbers=numbers):
                spool.add(unit, stem="books")
            spool.count(documents=len(numbers), tokens=len(corpus.ids))
            identity = identity_of(
                section, corpus.vocabulary, tokenizer=corpus.tokenizer, split=MIXED, max_tokens=corpus.max_tokens
            )
            manifest = Manifest(identity, origins=corpus.origins).with_parts([spool.flush()])
        finally:
            spool.close()
        manifest.write(folder)
    return manifest


class _Books(Hierarchy):
    """Cuts names so that one left over at the end of a book is the first of the next."""

    def _joined(self, bounds: Offsets, width: int) -> Offsets:
        return left_to_next(bounds, width)


def left_to_next(bounds: Sequence[int] | Offsets, width: int) -> Offsets:
    """The bounds moved so that no book leaves a single name, except the last, whose single name stays unlearned."""
    moved = np.array(bounds, np.int64)
    if width > 1:
        for book in range(1, len(moved)):
            moved[book] -= (moved[book] - moved[book - 1]) % width == 1
    return moved
