"""Every invariant of a memory, checked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from headway.errors import MemoryDamage
from headway.learners.patterns.kernels.cutting import internal_keys
from headway.learners.patterns.level import LevelStore
from headway.learners.patterns.maintain import orphans
from headway.learners.patterns.manifest import RUNS
from headway.learners.patterns.notes import origin_of, origins_of
from headway.learners.patterns.runs import RunFile, RunReader
from headway.learners.patterns.still import still
from headway.learners.patterns.tally import Counts, Keys, Tally
from headway.lock import holder

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory

_USES_AT_ONCE = 1 << 23
_ORPHAN = "is named by no manifest: a leftover that counts nowhere; remove it with: headway memory repair"


@dataclass(frozen=True, slots=True)
class Report:
    """What was checked, and every problem found."""

    patterns: int
    files: int
    problems: list[str]


def verify(memory: Memory) -> Report:
    """Check files, sums, order, names and the references between levels; every damaged file is named."""
    try:
        leftovers = orphans(memory.folder, memory.manifest)
    except MemoryDamage as damage:
        return Report(0, len(memory.manifest.files()), [str(damage)])
    # Files that no manifest names yet are those of whoever is at work there.
    place = shlex.quote(str(memory.folder))
    problems = [f"{path.name} {_ORPHAN} {place}" for path in leftovers] if holder(memory.folder) is None else []
    torn = [problem for run in (*memory.manifest.runs, *memory.manifest.notes) for problem in _file(memory, run)]
    patterns = 0
    # What files say together can only be asked where each is whole.
    if not torn:
        try:
            patterns, more = _together(memory)
            problems += more
        except MemoryDamage as damage:
            problems.append(str(damage))
    return Report(patterns, len(memory.manifest.files()), [*problems, *torn, *_sums(memory)])


def _file(memory: Memory, run: RunFile) -> Iterator[str]:
    try:
        with RunReader(memory.folder / RUNS, run) as reader:
            yield from _run(reader)
    except MemoryDamage as damage:
        yield str(damage)


def _together(memory: Memory) -> tuple[int, list[str]]:
    """How many patterns there are, and where names, levels and notes do not fit each other."""
    stores = [level.store for level in memory.levels]
    patterns, problems = 0, list[str]()
    for number, store in enumerate(stores):
        for part in store.merged():
            patterns += len(part)
            store.digests(part)
            if memory.manifest.identity.names == "internal":
                problems += _misplaced(store, part)
        if number + 1 < len(stores) and not store.blank:
            problems += _references(store, stores[number + 1])
    for run in memory.manifest.notes:
        problems += _notes(memory, stores[run.level], run)
    return patterns, problems


def _misplaced(store: LevelStore, part: Tally) -> Iterator[str]:
    keys = internal_keys(still(part.symbols), still(part.offsets[:-1]), still(part.lengths, np.int32))
    for i in np.flatnonzero(keys != part.keys)[:3].tolist():
        yield (
            f"level {store.number}: the sequence stored under {int(part.keys[i]):016x}... has another key; "
            "restore the memory from a copy"
        )


def _notes(memory: Memory, store: LevelStore, run: RunFile) -> Iterator[str]:
    """Notes are of patterns that were learned, and of documents whose origin is known."""
    origins = max(1, len(origins_of(memory.manifest)))
    with RunReader(memory.folder / RUNS, run) as reader:
        for stored in reader.batches:
            keys = np.unique(stored.keys)
            if not _learned(store, keys, 0, 1 << 64).all():
                yield f"{run.file} notes documents of patterns that level {run.level} does not hold; restore it"
            if (origin_of(stored.symbols) >= origins).any():
                yield f"{run.file} notes documents of an origin that the manifest does not name; restore it"


def _run(reader: RunReader) -> Iterator[str]:
    run = reader.run
    rows = observed = symbols = largest = 0
    previous = -1
    for stored in reader.batches:
        batch = stored.cut(0, len(stored))
        if int(batch.keys[0]) < previous or (batch.keys[1:] < batch.keys[:-1]).any():
            yield f"{reader.path.name}: keys are not in order; restore it from a copy"
        previous = int(batch.keys[-1])
        rows += len(batch)
        observed += int(batch.counts.sum())
        symbols += _symbols(batch)
        largest = max(largest, int(batch.counts.max()))
    found = (rows, observed, symbols, largest)
    said = (run.rows, run.observed, run.symbols, run.largest)
    if found != said:
        yield f"{reader.path.name}: rows, observed, symbols, largest are {found}, the manifest says {said}"


def _symbols(part: Tally) -> int:
    return int((part.counts * part.lengths.astype(np.uint64)).sum())


def _references(store: LevelStore, above: LevelStore) -> Iterator[str]:
    """Each pattern was learned at least as often as the level above uses it."""
    uses = sum(run.rows for run in above.runs) * above.width
    ranges = uses // _USES_AT_ONCE + 1
    bounds = [(i << 64) // ranges for i in range(ranges + 1)]
    for low, high in pairwise(bounds):
        used, times = _uses(above, low, high)
        learned = _learned(store, used, low, high)
        for i in np.flatnonzero(learned < times)[:3].tolist():
            yield (
                f"level {store.number}: {int(used[i]):016x}... was learned {int(learned[i])} times, "
                f"but level {above.number} uses it {int(times[i])} times; restore the memory from a copy"
            )


def _uses(above: LevelStore, low: int, high: int) -> tuple[Keys, Counts]:
    """The symbols of a level within a range of keys, and how often its patterns took each."""
    keys: list[Keys] = []
    counts: list[Counts] = []
    for reader in above.readers:
        for stored in reader.batches:
            part = stored.cut(0, len(stored))
            inside = (part.symbols >= np.uint64(low)) & (part.symbols <= np.uint64(high - 1))
            keys.append(part.symbols[inside])
            counts.append(np.repeat(part.counts, part.lengths)[inside])
    if not keys:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    used, at = np.unique(np.concatenate(keys), return_inverse=True)
    times = np.zeros(len(used), np.uint64)
    np.add.at(times, at, np.concatenate(counts))
    return used, times


def _learned(store: LevelStore, used: Keys, low: int, high: int) -> Counts:
    """How often each of these keys was learned."""
    total = np.zeros(len(used), np.uint64)
    for reader in store.readers if len(used) else []:
        rows = reader.rows(*reader.at([low, high]))
        at = np.minimum(np.searchsorted(used, rows.keys), len(used) - 1)
        hit = used[at] == rows.keys
        np.add.at(total, at[hit], rows.counts[hit])
    return total


def _sums(memory: Memory) -> Iterator[str]:
    """What each level was given is what its patterns hold and what was too short to learn."""
    manifest = memory.manifest
    given, source = manifest.tokens, "the documents"
    for level, left in zip(memory.named_levels(), manifest.left, strict=True):
        held = sum(run.symbols for run in level.store.runs)
        blank = level.store.blank or (level.store.below is not None and level.store.below.blank)
        if not blank and held + left != given:
            yield (
                f"level {level.number} holds {held} symbols and left {left}, but {source} gave {given}; "
                "restore the memory from a copy"
            )
        given, source = level.observed, f"level {level.number}"
