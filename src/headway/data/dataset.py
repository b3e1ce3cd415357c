"""A Dataset: the tokens of a finite corpus on disk, read by document."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headway.data.manifest import VOCABULARY, Manifest, Shard, read_manifest, shard_files, shard_path
from headway.data.npy import REBUILD, Array, Ints, check_file, map_numbers, read_range
from headway.durable import checksum, read_json
from headway.errors import DataError

if TYPE_CHECKING:
    from headway.data.report import BuildReport
    from headway.data.vocabulary import Vocabulary

_READERS = 4


class Rows(NamedTuple):
    """The tokens of some rows: row i is ids[starts[i]:starts[i+1]], a segment lies between two breaks."""

    ids: Array
    starts: Ints
    breaks: Ints | None
    mask: NDArray[np.bool_] | None = None
    """Which tokens are the row's own; None: all of them."""


@dataclass(frozen=True)
class Dataset:
    """An opened Dataset; holds no file open, only the lengths of its documents once they were asked for."""

    folder: Path
    manifest: Manifest
    report: BuildReport | None = None

    @property
    def key(self) -> str:
        """The digest of everything the tokens depend on."""
        return self.manifest.key

    @property
    def documents(self) -> int:
        """How many documents it holds."""
        return self.manifest.documents

    @property
    def tokens(self) -> int:
        """How many tokens it holds."""
        return self.manifest.tokens

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its token ids."""
        return np.dtype(self.manifest.dtype)

    @property
    def split(self) -> str:
        """How documents were split into segments; "whole" when they were not."""
        return self.manifest.split

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of each segment were kept; None when all were."""
        return self.manifest.components["max_tokens"]

    @property
    def tokenizer(self) -> dict[str, str]:
        """Name and digest of the tokenizer."""
        return self.manifest.tokenizer

    @property
    def skipped(self) -> dict[str, int]:
        """How many documents were left out, by reason."""
        return self.manifest.skipped

    @property
    def vocabulary(self) -> Vocabulary:
        """What the token ids mean."""
        return self._vocabulary

    @cached_property
    def offsets(self) -> Ints:
        """int64[documents + 1]: where each document starts when all tokens are one long row."""
        offsets = np.zeros(self.documents + 1, dtype=np.int64)
        for shard, first, tokens in zip(self.manifest.shards, self._first_documents, self._first_tokens, strict=False):
            offsets[first + 1 : first + 1 + shard.documents] = self._document_offsets(shard)[1:] + tokens
        return offsets

    def document_lengths(self) -> Ints:
        """int64[documents]: the tokens of each document."""
        return np.diff(self.offsets)

    def read(self, rows: slice | Ints) -> Rows:
        """The tokens of consecutive documents (a slice) or of any documents in the given order (their indices)."""
        if isinstance(rows, slice):
            return self._read_run(*_bounds(rows, self.documents))
        return self._read_scattered(np.asarray(rows, dtype=np.int64))

    def spans(self, begins: Ints, lengths: Ints) -> Array:
        """The tokens of stretches that begin so far into all tokens, one after the other; none crosses a document."""
        starts = _offsets(lengths)
        ids = np.empty(int(starts[-1]), dtype=self.dtype)
        owners = np.searchsorted(self._first_tokens, begins, side="right") - 1
        for owner in np.unique(owners[lengths > 0]):
            mine = np.flatnonzero(owners == owner)
            self._gather(self.manifest.shards[owner], mine, begins[mine] - int(self._first_tokens[owner]), starts, ids)
        return ids

    def close(self) -> None:
        """Forget what was read; reading again loads it again."""
        for name in ("offsets", "_vocabulary"):
            self.__dict__.pop(name, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        from headway.data.vocabulary import Vocabulary

        return Vocabulary.from_json(read_json(self.folder / VOCABULARY))

    @cached_property
    def _first_documents(self) -> Ints:
        return _running([shard.documents for shard in self.manifest.shards])

    @cached_property
    def _first_tokens(self) -> Ints:
        return _running([shard.tokens for shard in self.manifest.shards])

    def _document_offsets(self, shard: Shard) -> Ints:
        return read_range(shard_path(self.folder, shard.name, "documents"), np.int64, 0, shard.documents + 1)

    def _segment_offsets(self, shard: Shard) -> Ints:
        return read_range(shard_path(self.folder, shard.name, "segments"), np.int64, 0, (shard.segments or 0) + 1)

    def _read_run(self, start: int, stop: int) -> Rows:
        starts = self.offsets[start : stop + 1]
        first, last = int(starts[0]), int(starts[-1])
        ids, breaks = [np.empty(0, dtype=self.dtype)], [np.zeros(1, dtype=np.int64)]
        for shard, base in self._shards_between(first, last):
            lower, upper = max(first - base, 0), min(last - base, shard.tokens)
            ids.append(read_range(shard_path(self.folder, shard.name, "tokens"), self.dtype, lower, upper))
            if shard.segments is not None:
                breaks.append(_between(self._segment_offsets(shard), lower, upper) + (base - first))
        joined = ids[-1] if len(ids) == 2 else np.concatenate(ids)
        return Rows(joined, starts - first, np.concatenate(breaks) if self.split != "whole" else None)

    def _shards_between(self, first: int, last: int) -> Iterator[tuple[Shard, int]]:
        at = int(np.searchsorted(self._first_tokens, first, side="right")) - 1
        while at < len(self.manifest.shards) and self._first_tokens[at] < last:
            yield self.manifest.shards[at], int(self._first_tokens[at])
            at += 1

    def _read_scattered(self, rows: Ints) -> Rows:
        if len(rows) and (rows.min() < 0 or rows.max() >= self.documents):
            raise IndexError(f"documents {rows.min()} to {rows.max()} asked of {self.documents}")
        begins = self.offsets[rows]
        starts = _offsets(self.offsets[rows + 1] - begins)
        ids = np.empty(int(starts[-1]), dtype=self.dtype)
        ends = [np.zeros(1, dtype=np.int64)]
        owners = np.searchsorted(self._first_documents, rows, side="right") - 1
        for owner in np.unique(owners):
            shard, base = self.manifest.shards[owner], int(self._first_tokens[owner])
            mine = np.flatnonzero(owners == owner)
            self._gather(shard, mine, begins[mine] - base, starts, ids)
            if shard.segments is not None:
                ends.append(self._segment_ends(shard, mine, begins[mine] - base, starts))
        # A segment holds at least one token, so its end is unlike every other and sorting restores the order asked for.
        return Rows(ids, starts, np.sort(np.concatenate(ends)) if self.split != "whole" else None)

    def _gather(self, shard: Shard, mine: Ints, begins: Ints, starts: Ints, ids: Array) -> None:
        lengths = starts[mine + 1] - starts[mine]
        if not lengths.any():
            return
        numbers = map_numbers(shard_path(self.folder, shard.name, "tokens"), self.dtype, shard.tokens)
        ids[_ranges(starts[mine], lengths)] = numbers[_ranges(begins, lengths)]

    def _segment_ends(self, shard: Shard, mine: Ints, begins: Ints, starts: Ints) -> Ints:
        segments = self._segment_offsets(shard)
        lower = np.searchsorted(segments, begins, side="right")
        upper = np.searchsorted(segments, begins + starts[mine + 1] - starts[mine], side="right")
        shift = np.repeat(starts[mine] - begins, upper - lower)
        return segments[_ranges(lower, upper - lower)] + shift


def open_dataset(path: Path, *, verify: bool = True) -> Dataset:
    """An opened Dataset; sizes are always checked, every byte and offset unless `verify` is off."""
    folder = Path(path)
    manifest = read_manifest(folder)
    dataset = Dataset(folder, manifest)
    _check_vocabulary(folder, manifest)
    with ThreadPoolExecutor(_READERS) as readers:
        checks = [
            readers.submit(_check_shard, folder, shard, manifest.dtype, verify=verify) for shard in manifest.shards
        ]
        for check in checks:
            check.result()
    return dataset


def _check_vocabulary(folder: Path, manifest: Manifest) -> None:
    path = folder / VOCABULARY
    if not path.is_file():
        raise DataError(f"{path} is missing; {REBUILD}")
    if checksum(path) != manifest.vocabulary["checksum"]:
        raise DataError(f"{path} has other content than when it was built; {REBUILD}")


def _check_shard(folder: Path, shard: Shard, dtype: str, *, verify: bool) -> None:
    for kind, (path, kind_of_number, length) in shard_files(folder, shard, dtype).items():
        check_file(path, kind_of_number, length, checksum=shard.checksums[kind] if verify else None)
        if verify and kind != "tokens":
            _check_offsets(path, read_range(path, np.int64, 0, length), shard.tokens, strict=kind == "segments")


def _check_offsets(path: Path, offsets: Ints, tokens: int, *, strict: bool) -> None:
    steps = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != tokens or (len(steps) and steps.min() < int(strict)):
        raise DataError(f"{path} does not lead from 0 to {tokens:,} in order; {REBUILD}")


def _bounds(rows: slice, documents: int) -> tuple[int, int]:
    start, stop, step = rows.indices(documents)
    if step != 1:
        raise IndexError(f"consecutive documents have step 1, not {step}")
    return start, max(start, stop)


def _running(counts: list[int]) -> Ints:
    return _offsets(np.asarray(counts, dtype=np.int64))


def _offsets(lengths: Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _ranges(begins: Ints, lengths: Ints) -> Ints:
    """The indices begins[i] .. begins[i]+lengths[i] of every i, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)


def _between(offsets: Ints, lower: int, upper: int) -> Ints:
    """The offsets after `lower` and up to `upper`."""
    return offsets[np.searchsorted(offsets, lower, side="right") : np.searchsorted(offsets, upper, side="right")]
