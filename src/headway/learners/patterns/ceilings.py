"""What a machine does for pattern memories: learning, writing what is learned durably, and finding it again.

The material is made up: words as frequent as Zipf's law has them, so that some patterns repeat and most do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from headway.data.vocabulary import Vocabulary
from headway.durable import replace_json, sync_folder
from headway.learners.ceilings import Ceiling, Workshop
from headway.learners.patterns.config import Section
from headway.learners.patterns.hierarchy import Hierarchy, Learned
from headway.learners.patterns.learner import identity_of
from headway.learners.patterns.manifest import RUNS, VOCABULARY, Manifest
from headway.learners.patterns.memory import Memory
from headway.learners.patterns.spool import Spool
from headway.plan.values import Position

_WORDS, _TOKENS, _DOCUMENT = 20_000, 500_000, 500
_FOUND = 100
_LIMIT = 64 << 20
_TOKENIZER = "words"


def ceilings(workshop: Workshop) -> Iterator[Ceiling]:
    """The pace of an embedded pattern memory on the workshop's disk, with one core."""
    material = _Material(workshop)
    told = "widths 5, 7 and 9, KATO's names, one core"
    yield Ceiling("patterns.learn", "patterns/s", "more", 0.15, material.learn, f"learned in memory, {told}")
    yield Ceiling("store.write", "patterns/s", "more", 0.3, material.write, f"learned and made durable, {told}")
    yield Ceiling("store.commit", "ms", "less", 0.5, material.commit, "one more document made durable")
    yield Ceiling("store.read", "lookups/s", "more", 0.2, material.read, "patterns by name, one by one")
    yield Ceiling("store.bytes", "bytes/pattern", "less", 0.01, material.size, "on disk, per learned pattern")


class _Material:
    """Documents to learn, and a memory that has learned them."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        section = Section()
        self._vocabulary = Vocabulary([f"w{number}" for number in range(_WORDS)], "words")
        self._hierarchy = Hierarchy(section, self._vocabulary, tokenizer=_TOKENIZER, unit_patterns=1 << 15)
        self._identity = identity_of(section, self._vocabulary, tokenizer=_TOKENIZER, split="simple", max_tokens=None)
        self._ids = _zipf(_TOKENS)
        self._starts = np.arange(0, _TOKENS + 1, _DOCUMENT, dtype=np.int64)
        self._learned = sum(len(level.keys) for unit in self._units() for level in unit)
        # The first writing compiles what it needs; the memory it leaves is the one that is read.
        self._folder = self._prepared("memory")
        self._save(self._folder)
        self._bytes = sum(path.stat().st_size for path in (self._folder / RUNS).iterdir())
        self._open = workshop.stack.enter_context(Memory(self._folder))
        names = [pattern.name for pattern in self._open.top(_FOUND, level=0)]
        self._names = [names[i] for i in np.random.default_rng(2).permutation(len(names))]
        self._other = self._prepared("written")

    def learn(self) -> float:
        """Patterns a second, before anything is written."""
        return self._learned / self._workshop.paced(lambda: [None for _ in self._units()])

    def write(self) -> float:
        """Patterns a second, until all of them are durable."""
        return self._learned / self._saving()

    def commit(self) -> float:
        """Milliseconds until one document is part of a memory for good."""
        return 1000 * self._saving(documents=1)

    def read(self) -> float:
        """Patterns a second, found by their names."""
        return len(self._names) / self._workshop.paced(lambda: [self._open[name] for name in self._names])

    def size(self) -> float:
        """Bytes of the run files for each pattern that was learned."""
        return self._bytes / self._learned

    def _saving(self, documents: int | None = None) -> float:
        """Seconds of a save; what it leaves is removed outside of that time."""
        seconds = self._workshop.paced(lambda: self._save(self._other, documents))
        for path in (self._other / RUNS).iterdir():
            path.unlink()
        # Removing goes on after the call; whoever is measured next should not wait for it.
        sync_folder(self._other / RUNS)
        return seconds

    def _units(self, documents: int | None = None) -> Iterator[list[Learned]]:
        starts = self._starts if documents is None else self._starts[: documents + 1]
        ids = self._ids[: starts[-1]]
        return self._hierarchy.learn(ids, starts, starts, numbers=np.arange(len(starts) - 1))

    def _prepared(self, name: str) -> Path:
        """A folder for a memory, with its vocabulary."""
        folder = self._workshop.folder / name
        (folder / RUNS).mkdir(parents=True)
        replace_json(folder / VOCABULARY, self._vocabulary.to_json())
        return folder

    def _save(self, folder: Path, documents: int | None = None) -> None:
        """Learn documents and save them as a training does: run files, then the manifest that names them."""
        spool = Spool(folder / RUNS, levels=len(self._identity.widths), limit=_LIMIT, notes=False)
        try:
            for unit in self._units(documents):
                spool.add(unit, stem="bench")
            spool.count(documents=documents or len(self._starts) - 1, tokens=_TOKENS)
            part = spool.flush()
        finally:
            spool.close()
        Manifest(self._identity, position=Position(0, 1)).with_parts([part]).write(folder)


def _zipf(tokens: int) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """Token ids of which the n-th most frequent is as frequent as 1/n, always the same ones."""
    weights = 1 / np.arange(1, _WORDS + 1)
    drawn = np.random.default_rng(1).choice(_WORDS, size=tokens, p=weights / weights.sum())
    return drawn.astype(np.uint16)
