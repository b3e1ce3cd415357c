"""One shard: consecutive parts of the sources, tokenised and written by one worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from headway.data.config import DocumentEnd, Split
from headway.data.manifest import SHARDS, Shard, shard_path
from headway.data.npy import Array, Ints, NpyWriter, check_file, sync_file
from headway.data.read import read_part
from headway.data.segment import counts, segments
from headway.data.sources import Part, Skipped
from headway.data.tokenizers import Tokenizer
from headway.durable import checksum, read_json, replace_json, sync_folder
from headway.errors import DataError

# Enough text that a call costs nothing beside its work, little enough that it stays in the cache.
BLOCK_CHARACTERS = 1 << 20
SHARD_BYTES = 8 << 20
# Local ids of a vocabulary that is still growing, until all shards agree on one.
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Job:
    """What one shard is made of."""

    number: int
    parts: tuple[Part, ...]
    bytes: int | None
    limit: int | None = None
    """Stop after so many kept documents."""

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.number:05d}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How texts become tokens; small, it travels to every worker."""

    field: str
    split: Split
    max_tokens: int | None
    tokenizer: str
    engine: str
    folder: Path
    texts: DocumentEnd = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A shard that is complete and durable."""

    shard: Shard
    skipped: dict[str, int]
    limit: int | None
    dtype: str
    growing: bool
    engine: str
    """Which engine tokenised it; another may have been proven equal since."""
    symbols: str | None = None
    """Checksum of the symbols of a growing vocabulary."""


def plan_jobs(parts: Sequence[Part], *, shard_bytes: int) -> list[Job]:
    """The shards: parts in order, small ones together until a shard is full; the same on every machine."""
    jobs: list[Job] = []
    group: list[Part] = []
    size = 0
    for part in parts:
        # A part of unknown size is a shard of its own.
        weight = shard_bytes if part.bytes is None else part.bytes
        if group and size + weight > shard_bytes:
            jobs.append(_job(len(jobs), group))
            group, size = [], 0
        group.append(part)
        size += weight
    if group:
        jobs.append(_job(len(jobs), group))
    return jobs


def _job(number: int, parts: list[Part]) -> Job:
    unknown = any(part.bytes is None for part in parts)
    return Job(number, tuple(parts), None if unknown else sum(part.bytes or 0 for part in parts))


class ShardWriter:
    """Writes the files of one shard, block by block."""

    def __init__(
        self, folder: Path, name: str, *, dtype: npt.DTypeLike, segmented: bool, growing: bool = False
    ) -> None:
        (folder / SHARDS).mkdir(parents=True, exist_ok=True)
        self.name = name
        self._tokens = NpyWriter(shard_path(folder, name, LOCAL if growing else "tokens"), dtype)
        self._documents = NpyWriter(shard_path(folder, name, "documents"), np.int64)
        self._segments = NpyWriter(shard_path(folder, name, "segments"), np.int64) if segmented else None
        for offsets in filter(None, (self._documents, self._segments)):
            offsets.append(np.zeros(1, dtype=np.int64))

    def append(self, ids: Array, documents: Ints, segments: Ints | None = None) -> None:
        """Add documents by their lengths; the lengths of segments say where each document is divided."""
        before = self._tokens.length
        self._tokens.append(ids)
        self._documents.append(before + np.cumsum(documents))
        if self._segments is not None and segments is not None:
            self._segments.append(before + np.cumsum(segments))

    @property
    def documents(self) -> int:
        """Documents written so far."""
        return self._documents.length - 1

    @property
    def paths(self) -> list[Path]:
        """The files of this shard."""
        return [writer.path for writer in self._writers()]

    def _writers(self) -> list[NpyWriter]:
        return [writer for writer in (self._tokens, self._documents, self._segments) if writer is not None]

    def close(self) -> None:
        """Complete the files; not yet durable."""
        for writer in self._writers():
            writer.close()

    def shard(self) -> Shard:
        """What was written."""
        checksums = {"tokens": self._tokens.checksum, "documents": self._documents.checksum}
        if self._segments is not None:
            checksums["segments"] = self._segments.checksum
        return Shard(
            name=self.name,
            documents=self.documents,
            tokens=self._tokens.length,
            segments=None if self._segments is None else self._segments.length - 1,
            checksums=checksums,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@dataclass(slots=True)
class _Block:
    """Texts on their way to the tokenizer, and how many belong to each document."""

    texts: list[str]
    pieces: list[int]
    characters: int = 0


def write_documents(
    job: Job, recipe: Recipe, writer: ShardWriter, *, encoder: Tokenizer, tick: Callable[[], None]
) -> Counter[str]:
    """Tokenise the documents of a job into its shard; the skipped ones, by reason."""
    skipped: Counter[str] = Counter()
    for block in _blocks(job, recipe, skipped):
        encoded = encoder.encode(block.texts)
        _append(
            writer, encoded.ids, np.diff(encoded.offsets), block.pieces if recipe.split != "whole" else None, recipe
        )
        tick()
    return skipped


def _append(writer: ShardWriter, ids: Array, lengths: Ints, pieces: list[int] | None, recipe: Recipe) -> None:
    if recipe.max_tokens is not None:
        ids, lengths = _cut(ids, lengths, recipe.max_tokens)
    if pieces is None:
        writer.append(ids, lengths)
        return
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    edges = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum(pieces, out=edges[1:])
    # A text without tokens is no segment; its document stays.
    writer.append(ids, np.diff(ends[edges]), lengths[lengths > 0])


def _cut(ids: Array, lengths: Ints, most: int) -> tuple[Array, Ints]:
    if not (lengths > most).any():
        return ids, lengths
    begins = np.cumsum(lengths) - lengths
    places = np.arange(len(ids)) - np.repeat(begins, lengths)
    return ids[places < most], np.minimum(lengths, most)


def _blocks(job: Job, recipe: Recipe, skipped: Counter[str]) -> Iterator[_Block]:
    block, left = _Block([], []), job.limit
    for text in _texts(job, recipe, skipped):
        pieces = segments(text, recipe.split)
        if not pieces and recipe.split in ("article", "book"):
            skipped["no paragraph"] += 1
            continue
        block.texts += pieces
        block.pieces.append(len(pieces))
        block.characters += len(text)
        if left is not None and (left := left - 1) == 0:
            break
        if block.characters >= BLOCK_CHARACTERS:
            yield block
            block = _Block([], [])
    if block.pieces:
        yield block


def _texts(job: Job, recipe: Recipe, skipped: Counter[str]) -> Iterator[str]:
    split = recipe.split
    for part in job.parts:
        for record in read_part(part, recipe.field, texts=recipe.texts):
            if isinstance(record, Skipped):
                skipped[record.reason] += 1
            elif counts(record.text, split):
                yield record.text
            else:
                skipped["no text" if split == "whole" else "10 characters or fewer"] += 1


def make_durable(folder: Path, marker: Marker, paths: Sequence[Path]) -> None:
    """Put the files of a shard on disk, then the marker that says so."""
    for path in paths:
        sync_file(path)
    replace_json(marker_path(folder, marker.shard.name), asdict(marker))


def forget(folder: Path, name: str) -> None:
    """Take a shard's marker away before its files change."""
    path = marker_path(folder, name)
    if path.exists():
        path.unlink()
        sync_folder(path.parent)


def marker_path(folder: Path, name: str) -> Path:
    """Where a shard's marker lies."""
    return folder / SHARDS / f"{name}.done"


def symbols_path(folder: Path, name: str) -> Path:
    """Where a shard keeps the symbols of its local ids."""
    return folder / SHARDS / f"{name}.symbols.json"


def read_marker(folder: Path, name: str) -> Marker | None:
    """The marker of a shard whose files are all there and as written; None when it has to be made (again)."""
    path = marker_path(folder, name)
    if not path.exists():
        return None
    try:
        value = read_json(path)
        marker = Marker(**(value | {"shard": Shard(**value["shard"])}))
        _check_files(folder, marker)
    except (DataError, KeyError, TypeError):
        # Files that a power failure took, or that were damaged, are made again; nothing names them yet.
        return None
    return marker


def _check_files(folder: Path, marker: Marker) -> None:
    shard, sums = marker.shard, marker.shard.checksums
    tokens = LOCAL if marker.growing else "tokens"
    check_file(shard_path(folder, shard.name, tokens), marker.dtype, shard.tokens, checksum=sums["tokens"])
    check_file(shard_path(folder, shard.name, "documents"), np.int64, shard.documents + 1, checksum=sums["documents"])
    if shard.segments is not None:
        path = shard_path(folder, shard.name, "segments")
        check_file(path, np.int64, shard.segments + 1, checksum=sums["segments"])
    path = symbols_path(folder, shard.name)
    if marker.growing and (not path.is_file() or checksum(path) != marker.symbols):
        raise DataError(f"{path} is not as it was written")
