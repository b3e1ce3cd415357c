"""The pattern learner: counts nested patterns exactly, alone or as one of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headway.data.vocabulary import Vocabulary
from headway.durable import replace_json, sync_folder, write_errors
from headway.errors import MemoryDamage, RunError
from headway.feed.batch import Batch
from headway.learners.base import Metrics, Part, Setup
from headway.learners.patterns.compactor import Compactor, Ears
from headway.learners.patterns.config import Section
from headway.learners.patterns.hierarchy import Hierarchy
from headway.learners.patterns.inspection import Inspection
from headway.learners.patterns.maintain import orphans
from headway.learners.patterns.manifest import (
    NAME,
    RUNS,
    VOCABULARY,
    Identity,
    Manifest,
    read_manifest,
    read_vocabulary,
)
from headway.learners.patterns.naming import UNICODE_VERSION
from headway.learners.patterns.runs import RunFile, check_size
from headway.learners.patterns.spool import KEPT, Spool
from headway.learners.patterns.tally import add_up
from headway.lock import Lock
from headway.plan.values import Position

FOLDER = "memory"
# Tables, digests, sorting and the sums of one unit, per level-0 pattern and with the levels above it.
_BYTES_PER_PATTERN = 200
# What a unit of so many works with stays in a core's own cache, and several cores do not wait for memory.
_CACHED_PATTERNS = 1 << 15


class PatternLearner:
    """Learns batches into run files below `<run>/memory`; parts from any number of learners add up exactly."""

    parallel: Literal["merge", "lockstep", "single"] = "merge"

    def __init__(self, setup: Setup) -> None:
        section: Section = setup.section
        dataset = setup.dataset
        self._folder = setup.folder / FOLDER
        self._vocabulary = dataset.vocabulary
        self._manifest = Manifest(
            identity_of(
                section,
                self._vocabulary,
                tokenizer=dataset.tokenizer["name"],
                split=dataset.split,
                max_tokens=dataset.max_tokens,
            )
        )
        self._levels = len(section.widths)
        self._lock: Lock | None = None
        self._inspection: Inspection | None = None
        self._setup = setup
        with write_errors(self._folder, kept="nothing was learned yet"):
            (self._folder / RUNS).mkdir(parents=True, exist_ok=True)
        self._spool = Spool(
            self._folder / RUNS,
            levels=self._levels,
            limit=max(1 << 20, min(32 << 20, setup.memory // 8)),
            notes=section.metadata == "documents",
        )
        self._compactor = Compactor(
            self._folder / RUNS,
            after=section.compact_after,
            memory=setup.memory // 4,
            ears=Ears(warn=setup.warn, note=setup.note),
        )

    @cached_property
    def _hierarchy(self) -> Hierarchy:
        # Only who steps needs it: a learner that adopts the parts of others starts without.
        return Hierarchy(
            self._setup.section,
            self._vocabulary,
            tokenizer=self._setup.dataset.tokenizer["name"],
            unit_patterns=min(_CACHED_PATTERNS, max(1 << 12, self._setup.memory // 4 // _BYTES_PER_PATTERN)),
        )

    def step(self, batch: Batch) -> Metrics:
        """Learn the documents of a batch."""
        numbers = np.arange(batch.rows.start, batch.rows.stop) if isinstance(batch.rows, slice) else batch.rows
        breaks = batch.starts if batch.breaks is None else batch.breaks
        stem = f"{batch.position.epoch:03d}-{batch.position.batch:08d}"
        learned = [0] * self._levels
        for unit in self._hierarchy.learn(batch.ids, batch.starts, breaks, numbers=numbers):
            self._spool.add(unit, stem=stem)
            learned = [a + len(level.keys) for a, level in zip(learned, unit, strict=True)]
        self._spool.count(documents=batch.documents, tokens=batch.tokens)
        return {f"level{level} observed": float(count) for level, count in enumerate(learned)}

    def flush(self) -> Part:
        """Make what was learned since the last flush durable, and describe it."""
        return self._spool.flush()

    def adopt(self, parts: Sequence[Part]) -> None:
        """Count flushed parts as learned here; durable with the next save."""
        self._manifest = self._manifest.with_parts(parts)

    def save(self, folder: Path, position: Position) -> Position:
        """Replace the manifest: runs and position become durable together."""
        del folder
        if self._inspection is not None:
            self._inspection.complain()
        self.adopt([self._spool.flush()])
        self._manifest = replace(self._compactor.take(self._manifest), position=position)
        with write_errors(self._folder, kept=KEPT):
            self._write_vocabulary()
            self._manifest.write(self._folder)
        self._compactor.discard()
        self._compactor.consider(self._manifest)
        return position

    def settle(self) -> None:
        """Nothing to wait for: a save is durable when it returns."""

    def restore(self, folder: Path) -> Position | None:
        """Take up the saved state and remove files that no manifest names."""
        del folder
        if self._lock is None:
            self._lock = Lock(self._folder, doing="training")
        with write_errors(self._folder, kept=KEPT):
            saved = read_manifest(self._folder) or self._begin()
            _check(saved.identity, self._manifest.identity, self._folder)
            if saved.position is None:
                self._write_vocabulary()
            read_vocabulary(self._folder, saved.identity)
            for run in (*saved.runs, *saved.notes):
                check_size(self._folder / RUNS / run.file, run)
            # Their content beside the training: how long it takes to continue must not depend on how much was learned.
            self._inspection = Inspection(self._folder / RUNS, (*saved.runs, *saved.notes))
            self._manifest = saved
            for path in orphans(self._folder, saved):
                path.unlink()
        self._compactor.consider(saved)
        return saved.position

    def _begin(self) -> Manifest:
        """A manifest of nothing, written before all else: a memory without one has lost it, and is not begun anew."""
        if (self._folder / VOCABULARY).exists():
            raise MemoryDamage(
                f"{self._folder / NAME} is missing, but there was a memory; "
                "restore it from a copy, or start a new run with --new"
            )
        # The folder's own name first: what is saved in a folder that is gone after a power failure is lost.
        sync_folder(self._folder.parent)
        nothing = self._manifest.with_parts([])
        nothing.write(self._folder)
        return nothing

    def _write_vocabulary(self) -> None:
        if not (self._folder / VOCABULARY).exists():
            replace_json(self._folder / VOCABULARY, self._vocabulary.to_json())

    def finish(self) -> None:
        """Adopt the rest, and wait until all that was restored is checked; what has piled up stays for another session.

        Merging it here would take as long as the training did, and a memory is as good with many runs as with few.
        """
        self.adopt([self._spool.flush()])
        self._compactor.rest()
        if self._inspection is not None:
            self._inspection.wait()

    def close(self) -> None:
        """Stop the threads; what was not saved is lost."""
        self._spool.close()
        self._compactor.close()
        if self._inspection is not None:
            self._inspection.close()
        if self._lock is not None:
            self._lock.close()

    def totals(self) -> dict[str, Any]:
        """What the memory holds as of the last save or adoption."""
        manifest = self._manifest
        levels = [
            {
                "level": level,
                "width": width,
                "observed": manifest.observed(level),
                "patterns": _patterns(manifest.level(level)),
                "rows": sum(run.rows for run in manifest.level(level)),
                "runs": len(manifest.level(level)),
                "bytes": sum(run.bytes for run in manifest.level(level)),
            }
            for level, width in enumerate(manifest.identity.widths)
        ]
        return {
            "memory": str(self._folder),
            "documents": manifest.documents,
            "tokens": manifest.tokens,
            "levels": levels,
        }


def make(setup: Setup) -> PatternLearner:
    """The learner of a plan's section."""
    return PatternLearner(setup)


def prepare(section: Section, dtype: Any = None) -> None:
    """Compile every kernel that learning tokens of a type needs, or load it from the cache of an earlier process.

    Before the type is known, most vocabularies fit 16 bits.
    """
    vocabulary = Vocabulary([*"abcdefgh", "."], "words")
    hierarchy = Hierarchy(section, vocabulary, tokenizer="words", unit_patterns=1 << 12)
    ids = np.tile(np.arange(9, dtype=np.uint16 if dtype is None else dtype), 2000)
    bounds = np.array([0, len(ids)], np.int64)
    for unit in hierarchy.learn(ids, bounds, bounds, numbers=np.zeros(1, np.int64)):
        for level in unit:
            add_up([level.rows()])


def identity_of(
    section: Section, vocabulary: Vocabulary, *, tokenizer: str, split: str, max_tokens: int | None
) -> Identity:
    """What a memory of this section has in common with all that it adds up with."""
    return Identity(
        widths=section.widths,
        mode=section.mode,
        min_sentence_tokens=section.min_sentence_tokens if section.mode == "sentences" else None,
        split=split,
        max_tokens=max_tokens,
        names=section.names,
        unicode=UNICODE_VERSION,
        metadata=section.metadata,
        vocabulary=vocabulary.digest,
        tokenizer=tokenizer,
        source=section.source,
    )


def _patterns(runs: Sequence[RunFile]) -> int | None:
    """How many different patterns some runs hold; None where only reading them would tell."""
    return sum(run.rows for run in runs) if len(runs) <= 1 else None


def _check(saved: Identity, wanted: Identity, folder: Path) -> None:
    if saved == wanted:
        return
    differing = [name for name in Identity.__slots__ if getattr(saved, name) != getattr(wanted, name)]
    raise RunError(
        f"the memory in {folder} was made with other settings: "
        + "; ".join(f"{name} was {getattr(saved, name)}, is {getattr(wanted, name)}" for name in differing)
        + "; start a new run"
    )
