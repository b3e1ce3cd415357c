"""Run files: sorted patterns of one level as an Arrow IPC file, written once, verified before first use."""

from __future__ import annotations

import errno
import mmap
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from functools import cached_property
from io import RawIOBase
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc
from xxhash import xxh3_128

from headway.durable import checksum
from headway.errors import MemoryDamage, RunError
from headway.learners.patterns.tally import Keys, Offsets, Symbols, Tally, empty, gather, join

BATCH_ROWS = 1 << 18
# Arrow's lists count their items with 31 bits.
_MOST_SYMBOLS = 1 << 31
WIDE = 1 << 32


@dataclass(frozen=True, slots=True)
class RunFile:
    """What a manifest says of a run file."""

    file: str
    level: int
    rows: int
    observed: int
    symbols: int
    largest: int
    bytes: int
    checksum: str

    def to_json(self) -> dict[str, Any]:
        """As it stands in a manifest."""
        return asdict(self)


class _Hashed(RawIOBase):
    """A file that knows the checksum of what was written to it, so that nobody reads it again for that."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._digest = xxh3_128()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        at = 0
        while at < len(view):
            at += self._file.write(view[at:]) or 0
        return at

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            super().close()

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()


class RunWriter:
    """Writes tallies, given in ascending order of key, as one run file; batches are cut at fixed row numbers."""

    def __init__(self, path: Path, *, level: int, dtype: Any, largest: int) -> None:
        self._path = path
        self._level = level
        self._dtype = dtype
        counts = pa.uint64() if largest >= WIDE else pa.uint32()
        items = pa.list_(pa.field("item", pa.from_numpy_dtype(dtype), nullable=False))
        self._schema = pa.schema(
            [
                pa.field("key", pa.uint64(), nullable=False),
                pa.field("count", counts, nullable=False),
                pa.field("symbols", items, nullable=False),
            ],
            metadata={"headway.level": str(level)},
        )
        self._rest = empty(dtype)
        self._rows = self._observed = self._symbols = self._largest = 0
        self._file = _Hashed(path)
        self._writer = ipc.new_file(self._file, self._schema)

    def write(self, patterns: Tally) -> None:
        """Append patterns."""
        self._rows += len(patterns)
        self._observed += int(patterns.counts.sum())
        self._symbols += int(np.vdot(patterns.counts.view(np.int64), patterns.lengths))
        self._largest = max(self._largest, int(patterns.counts.max(initial=0)))
        low = 0
        if len(self._rest):
            # Only what fills the batch that was begun is copied; the others are written from where they lie.
            low = min(BATCH_ROWS - len(self._rest), len(patterns))
            self._rest = join([self._rest, patterns.cut(0, low)])
            if len(self._rest) < BATCH_ROWS:
                return
            self._put(self._rest)
        full = len(patterns) - (len(patterns) - low) % BATCH_ROWS
        for begin in range(low, full, BATCH_ROWS):
            self._put(patterns.cut(begin, begin + BATCH_ROWS))
        self._rest = patterns.cut(full, len(patterns))

    def end(self) -> None:
        """Hand everything to the system; what was written may change in memory now. Harmless when repeated."""
        if self._file.closed:
            return
        if len(self._rest):
            self._put(self._rest)
            self._rest = empty(self._dtype)
        self._writer.close()
        self._file.close()

    def discard(self) -> None:
        """Remove what was written."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def close(self, *, name: str) -> RunFile:
        """Make the file durable under its final name."""
        return self._finish(lambda _: name)

    def close_by_content(self, *, suffix: str, taken: Set[str]) -> RunFile:
        """Make the file durable under a name made from its content, apart from the names already `taken`."""

        def choose(digest: str) -> str:
            names = (f"{digest}{'' if i == 1 else f'-{i}'}{suffix}" for i in count(1))
            return next(name for name in names if name not in taken)

        return self._finish(choose)

    def _finish(self, name_of: Callable[[str], str]) -> RunFile:
        self.end()
        with self._path.open("rb+") as file:
            os.fsync(file.fileno())
        digest = self._file.checksum
        final = self._path.with_name(name_of(digest))
        self._path.rename(final)
        size = final.stat().st_size
        return RunFile(final.name, self._level, self._rows, self._observed, self._symbols, self._largest, size, digest)

    def _put(self, patterns: Tally) -> None:
        key, counts, symbols = self._schema
        if patterns.offsets[-1] >= _MOST_SYMBOLS:
            raise RunError(
                f"{len(patterns)} patterns hold {patterns.offsets[-1]} symbols together, more than a run file keeps; "
                "use smaller widths"
            )
        offsets = _column(patterns.offsets, pa.int32())
        columns = [
            _column(patterns.keys, key.type),
            _column(patterns.counts, counts.type),
            pa.ListArray.from_arrays(offsets, _column(patterns.symbols, symbols.type.value_type), type=symbols.type),
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))


@dataclass(frozen=True, slots=True, eq=False)
class _Stored:
    """One batch as it lies in the file; nothing is copied before it is cut out."""

    keys: Keys
    counts: NDArray[Any]
    offsets: NDArray[np.int32]
    symbols: Symbols

    def __len__(self) -> int:
        return len(self.keys)

    def cut(self, low: int, high: int) -> Tally:
        offsets = self.offsets[low : high + 1].astype(np.int64)
        symbols = self.symbols[offsets[0] : offsets[-1]]
        return Tally(self.keys[low:high], self.counts[low:high].astype(np.uint64), offsets - offsets[0], symbols)

    def pick(self, rows: NDArray[np.int64]) -> Tally:
        starts = self.offsets[rows].astype(np.int64)
        lengths = self.offsets[rows + 1] - starts
        offsets, symbols = gather(np.arange(len(rows), dtype=np.uint32), starts, lengths, self.symbols)
        return Tally(self.keys[rows], self.counts[rows].astype(np.uint64), offsets, symbols)


class RunReader:
    """A run file in memory-mapped form; opening checks every byte against the manifest."""

    def __init__(self, folder: Path, run: RunFile) -> None:
        self.run = run
        self.path = folder / run.file
        check_file(self.path, run)
        with self.path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._reader = ipc.open_file(pa.py_buffer(self._map))
        except pa.ArrowInvalid as cause:
            raise MemoryDamage(f"{self.path} is not a run file ({cause}); restore it from a copy") from cause

    @cached_property
    def batches(self) -> list[_Stored]:
        """All batches as views of the file."""
        return [_stored(self._reader.get_batch(i)) for i in range(self._reader.num_record_batches)]

    @cached_property
    def firsts(self) -> Keys:
        """The first key of each batch."""
        return np.array([batch.keys[0] for batch in self.batches], np.uint64)

    @cached_property
    def _begins(self) -> Offsets:
        return np.cumsum([0, *(len(batch) for batch in self.batches)])

    def at(self, bounds: Sequence[int]) -> list[int]:
        """For each bound, how many rows have a smaller key."""
        return [self._rank(bound) for bound in bounds]

    def rows(self, low: int, high: int) -> Tally:
        """Rows `low` to `high`, as views where they lie in one batch."""
        parts: list[Tally] = []
        for begin, batch in zip(self._begins.tolist(), self.batches, strict=False):
            start, stop = max(low - begin, 0), min(high - begin, len(batch))
            if start < stop:
                parts.append(batch.cut(start, stop))
        return join(parts) if parts else self.none

    @property
    def none(self) -> Tally:
        """No rows."""
        return empty(self.dtype)

    @property
    def dtype(self) -> Any:
        """The type of the symbols."""
        return self._reader.schema.field("symbols").type.value_type.to_pandas_dtype()

    def find(self, key: int) -> Iterator[Tally]:
        """The rows with this key, each as a tally of one."""
        rank = self._rank(key)
        while rank < self.run.rows:
            row = self.rows(rank, rank + 1)
            if int(row.keys[0]) != key:
                return
            yield row
            rank += 1

    def locate(self, keys: Keys, wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], Tally]]:
        """Those of the ascending `keys` still `wanted` that this run holds: their places in `keys`, a row for each."""
        for batch in self.batches:
            low, high = np.searchsorted(keys, batch.keys[0]), np.searchsorted(keys, batch.keys[-1], side="right")
            places = low + np.flatnonzero(wanted[low:high])
            rows = np.searchsorted(batch.keys, keys[places])
            hit = batch.keys[np.minimum(rows, len(batch) - 1)] == keys[places]
            if hit.any():
                yield places[hit], batch.pick(rows[hit])

    def forget(self) -> None:
        """Give back the memory that what was looked at takes; it is read again where it is looked at again."""
        # Pages of a mapped file count as held by whoever touched them, whatever their number.
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let go of the file; it stays mapped as long as there are views of it."""
        self.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _rank(self, bound: int) -> int:
        if bound >= 1 << 64:
            return self.run.rows
        batch = max(0, bisect_left(self.firsts, bound) - 1)
        if batch >= len(self.batches):
            return 0
        return int(self._begins[batch]) + int(np.searchsorted(self.batches[batch].keys, np.uint64(bound)))


def open_runs(folder: Path, runs: Sequence[RunFile]) -> list[RunReader]:
    """Readers of all these runs; a RunError where they are more files than this process may open."""
    try:
        return [RunReader(folder, run) for run in runs]
    except OSError as cause:
        if cause.errno != errno.EMFILE:
            raise
        raise RunError(
            f"{folder} holds more run files than this process may open at once (ulimit -n); "
            "merge them with: headway memory compact"
        ) from cause


def check_file(path: Path, run: RunFile) -> None:
    """Compare a file's size and content with what the manifest says."""
    check_size(path, run)
    if checksum(path) != run.checksum:
        raise MemoryDamage(f"{path} does not have the checksum in its manifest: damaged; restore it from a copy")


def check_size(path: Path, run: RunFile) -> None:
    """Compare a file's size with what the manifest says, whatever its size is."""
    try:
        size = path.stat().st_size
    except FileNotFoundError as cause:
        raise MemoryDamage(
            f"{path} is missing, but the memory's manifest names it; "
            "if a training is at work there, try again, else restore it from a copy"
        ) from cause
    if size != run.bytes:
        raise MemoryDamage(f"{path} has {size} bytes, its manifest says {run.bytes}: torn; restore it from a copy")


def _column(numbers: NDArray[Any], kind: Any) -> Any:
    """Numbers as they lie in memory; `pa.array` would load pandas, where that is installed, to look at them."""
    plain = np.ascontiguousarray(numbers, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(plain), [None, pa.py_buffer(plain)])


def _stored(batch: Any) -> _Stored:
    key, counts, symbols = batch.columns
    return _Stored(_numbers(key), _numbers(counts), _numbers(symbols.offsets), _numbers(symbols.values))


def _numbers(column: Any) -> NDArray[Any]:
    """A column as it lies in the file; `to_numpy` would load pandas as well."""
    dtype = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return np.zeros(0, dtype)
    return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
