"""A pattern memory, opened: look up, iterate, rank, decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from headway.data.vocabulary import Vocabulary
from headway.errors import MemoryDamage, RunError
from headway.learners.patterns import arrow, maintain, notes
from headway.learners.patterns.learner import FOLDER
from headway.learners.patterns.level import Children, LevelStore, pick
from headway.learners.patterns.manifest import NAME, RUNS, Manifest, read_manifest, read_vocabulary
from headway.learners.patterns.namer import PREFIX, keys_of, names_of
from headway.learners.patterns.runs import check_size
from headway.learners.patterns.tally import Tally, join
from headway.lock import holder

if TYPE_CHECKING:
    import pyarrow as pa

    from headway.learners.patterns.verify import Report


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern: its name, how often it was learned, and its symbols: token strings, or names of the level below."""

    name: str
    frequency: int
    length: int
    symbols: tuple[str, ...]
    level: int
    raw: tuple[int, ...] = field(repr=False, compare=False)
    key: int = field(repr=False, compare=False)


class Level:
    """All patterns of one level."""

    def __init__(self, memory: Memory, store: LevelStore, manifest: Manifest) -> None:
        self._memory = memory
        self.store = store
        self.number = store.number
        self.width = store.width
        self.observed = manifest.observed(store.number)
        self.bytes = sum(run.bytes for run in store.runs)
        self.runs = len(store.runs)

    @property
    def unique(self) -> int:
        """How many different patterns there are."""
        return self.store.unique

    @property
    def repeats(self) -> float | None:
        """The share of what was learned that had been learned before; None when nothing was."""
        return 1 - self.unique / self.observed if self.observed else None

    def __len__(self) -> int:
        return self.unique

    def __iter__(self) -> Iterator[Pattern]:
        for part in self.store.merged():
            yield from self.patterns(part)

    def to_arrow(self) -> pa.Table:  # pyright: ignore[reportUnknownParameterType] # untyped
        """A table with the columns name, frequency, length and symbols, in order of key (of name, for KATO's)."""
        return arrow.table(self.store, self._memory.vocabulary)

    def top(self, number: int) -> list[Pattern]:
        """The most frequent patterns, the first by key among equals, which is the order of KATO's names."""
        if number < 0:
            raise RunError(f"the {number} most frequent patterns cannot be shown; ask for 0 or more")
        best: Tally | None = None
        for part in self.store.merged():
            rows = join([best, part]) if best is not None else part
            order = np.lexsort((rows.keys, ~rows.counts))[:number]
            best = pick(rows, order)
        return [] if best is None else list(self.patterns(best))

    def patterns(self, rows: Tally) -> Iterator[Pattern]:
        """Rows of this level as patterns."""
        if not len(rows):
            return
        named = self.store.named(rows)
        names = names_of(named.digests)
        bounds, raw, keys = rows.offsets.tolist(), rows.symbols.tolist(), rows.keys.tolist()
        shown = self._shown(named.children, raw)
        for i, name in enumerate(names):
            low, high = bounds[i], bounds[i + 1]
            symbols, ids = tuple(shown[low:high]), tuple(raw[low:high])
            yield Pattern(name, int(rows.counts[i]), high - low, symbols, self.number, ids, keys[i])

    def __repr__(self) -> str:
        return f"Level({self.number}, width={self.width}, observed={self.observed}, runs={self.runs})"

    def _shown(self, children: Children | None, raw: list[int]) -> list[str]:
        """Symbols as strings."""
        if children is not None:
            names = names_of(children.digests)
            return [names[i] for i in children.at.tolist()]
        if self.number:
            return [""] * len(raw)
        table = self._memory.vocabulary.symbols
        return [table[number] for number in raw]


class Memory:
    """A memory folder, read as its manifest was when it was opened."""

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        if manifest is None:
            raise RunError(f"{folder} holds no memory ({NAME} is missing); train one with: headway train PLAN")
        self.folder = folder
        self.manifest = manifest

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The symbols behind token ids."""
        return read_vocabulary(self.folder, self.manifest.identity)

    @cached_property
    def levels(self) -> list[Level]:
        """All levels, from the tokens upward; MemoryDamage where a file is missing or torn."""
        if holder(self.folder) is None:
            self._check_sizes()
            return self.named_levels()
        # A training at work there merges files and removes them; those that are open stay readable.
        while True:
            levels = self.named_levels()
            try:
                self._check_sizes()
                for level in levels:
                    level.store.readers  # noqa: B018
                return levels
            except MemoryDamage:
                now = read_manifest(self.folder)
                if now is None or now == self.manifest:
                    raise
                self.manifest = now

    def _check_sizes(self) -> None:
        for run in (*self.manifest.runs, *self.manifest.notes):
            check_size(self.folder / RUNS / run.file, run)

    def named_levels(self) -> list[Level]:
        """All levels as the manifest names them, whether or not their files are as it says."""
        identity, runs = self.manifest.identity, self.folder / RUNS
        kato = identity.names == "kato"
        store: LevelStore | None = None
        levels: list[Level] = []
        for number, width in enumerate(identity.widths):
            files = self.manifest.level(number)
            if store is None:
                store = LevelStore.tokens(runs, files, width=width, vocabulary=self.vocabulary, kato=kato)
            else:
                store = LevelStore(runs, files, below=store, width=width, kato=kato)
            levels.append(Level(self, store, self.manifest))
        return levels

    def level(self, number: int) -> Level:
        """One level; an error that says which there are when there is no such one."""
        if not 0 <= number < len(self.levels):
            raise RunError(f"{self.folder} has levels 0 to {len(self.levels) - 1}, not {number}")
        return self.levels[number]

    def __len__(self) -> int:
        return sum(level.unique for level in self.levels)

    def __iter__(self) -> Iterator[Pattern]:
        return self.patterns()

    def patterns(self, level: int | None = None) -> Iterator[Pattern]:
        """All patterns of one level, or of every level, in order of key, which is that of KATO's names."""
        for each in self.levels if level is None else [self.level(level)]:
            yield from each

    def get(self, name: str) -> Pattern | None:
        """The pattern with this name, with or without `PTRN|`; None when it was never learned.

        In a memory trained with `names = "internal"` this makes the name of every pattern, until it is found.
        """
        if not _is_name(name):
            raise RunError(f"{name!r} is not a pattern name; a name is PTRN| and 40 hex digits in lower case")
        text = name.removeprefix(PREFIX)
        for level in self.levels:
            for rows in self._candidates(level, text):
                for pattern in level.patterns(rows):
                    if pattern.name == PREFIX + text:
                        return pattern
        return None

    def _candidates(self, level: Level, digits: str) -> Iterator[Tally]:
        """The patterns that may have a name."""
        if self.manifest.identity.names == "kato":
            yield level.store.find(int(digits[:16], 16))
            return
        wanted = np.frombuffer(bytes.fromhex(digits), ">u4")
        for part in level.store.merged():
            yield pick(part, np.flatnonzero((level.store.digests(part) == wanted).all(axis=1)))

    def __getitem__(self, name: str) -> Pattern:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _is_name(name) and self.get(name) is not None

    def __repr__(self) -> str:
        identity = self.manifest.identity
        return f"Memory({str(self.folder)!r}, widths={identity.widths}, documents={self.manifest.documents})"

    def top(self, number: int, level: int = 0) -> list[Pattern]:
        """The most frequent patterns of a level."""
        return self.level(level).top(number)

    def text(self, pattern: Pattern | str) -> str:
        """The text that a pattern of any level, or a name, stands for."""
        return self.vocabulary.decode(self.tokens(self[pattern] if isinstance(pattern, str) else pattern))

    def tokens(self, pattern: Pattern) -> list[int]:
        """The token ids a pattern of any level stands for; none where a level of width 1 lost them."""
        key, ends = np.array([pattern.key], np.uint64), np.array([0, pattern.length], np.int64)
        dtype = np.uint32 if pattern.level == 0 else np.uint64
        rows = Tally(key, np.ones(1, np.uint64), ends, np.array(pattern.raw, dtype))
        for number in range(pattern.level, 0, -1):
            children = self.levels[number].store.named(rows).children
            if children is None:
                return []
            rows = pick(children.rows, children.at)
        return rows.symbols.tolist()

    def metadata(self, pattern: Pattern) -> dict[str, list[str]]:
        """What KATO's trainer notes of the documents that began with this pattern; empty when none was noted."""
        return self._notes.metadata(pattern.level, pattern.key)

    @cached_property
    def _notes(self) -> notes.Notes:
        return notes.Notes(self.folder / RUNS, self.manifest)

    def stats(self) -> dict[str, Any]:
        """Counts and sizes, ready for JSON."""
        return {
            "folder": str(self.folder),
            "documents": self.manifest.documents,
            "tokens": self.manifest.tokens,
            "names": self.manifest.identity.names,
            "bytes": sum(level.bytes for level in self.levels),
            "levels": [
                {
                    "level": level.number,
                    "width": level.width,
                    "unique": level.unique,
                    "observed": level.observed,
                    "repeats": level.repeats,
                    "runs": level.runs,
                    "bytes": level.bytes,
                    "bytes_per_pattern": level.bytes / level.unique if level.unique else None,
                }
                for level in self.levels
            ],
        }

    def verify(self) -> Report:
        """Check every invariant; the report lists what is wrong."""
        from headway.learners.patterns.verify import verify

        return verify(self)

    def repair(self) -> list[str]:
        """Remove files that the manifest does not name; their names."""
        return maintain.remove_orphans(self.folder)

    def add(self, other: Memory | Path | str, *, once: str | None = None) -> None:
        """Add all that another memory of the same settings has learned: as if this one had learned it, too.

        Under one `once` this happens only the first time; killed at any moment, everything was added or nothing.
        """
        from headway.learners.patterns.union import merge_into

        folder = (other if isinstance(other, Memory) else open_memory(other)).folder
        self.close()
        self.manifest = merge_into(self.folder, folder, once=once)

    def compact(self) -> dict[str, Any]:
        """Merge all runs of each level into one; bytes and runs before and after."""
        before = self._sizes()
        self.close()
        self.manifest = maintain.compact_all(self.folder)
        return {"before": before, "after": self.stats()}

    def _sizes(self) -> dict[str, Any]:
        """What the manifest says; no file is opened for it."""
        levels = [self.manifest.level(number) for number in range(len(self.manifest.identity.widths))]
        return {
            "bytes": sum(run.bytes for runs in levels for run in runs),
            "levels": [
                {"level": number, "runs": len(runs), "bytes": sum(run.bytes for run in runs)}
                for number, runs in enumerate(levels)
            ],
        }

    def export(self, path: Path | str, *, format: Literal["parquet", "jsonl", "csv"], level: int | None = None) -> int:
        """Write all patterns (of one level) to a file; how many."""
        from headway.learners.patterns.export import export

        return export(self, Path(path), format=format, level=level)

    def close(self) -> None:
        """Let go of the files."""
        for level in self.__dict__.pop("levels", []):
            level.store.close()
        if "_notes" in self.__dict__:
            self.__dict__.pop("_notes").close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _is_name(text: object) -> bool:
    digits = text.removeprefix(PREFIX) if isinstance(text, str) else ""
    return len(digits) == 40 and not set(digits) - set("0123456789abcdef")


def open_memory(path: Path | str) -> Memory:
    """The memory in a memory folder or in a run folder."""
    folder = Path(path)
    if not folder.exists():
        raise RunError(f"{folder} does not exist; list runs with: headway runs list")
    return Memory(folder / FOLDER if (folder / FOLDER).is_dir() else folder)


__all__ = ["Level", "Memory", "Pattern", "keys_of", "open_memory"]
