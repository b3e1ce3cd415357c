"""From a vector file to a table beside it that opens at once; known again by what the file is."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import xxhash
from numpy.typing import NDArray

from headway.data.npy import NpyWriter, sync_file
from headway.data.sources import COMPRESSIONS, Source
from headway.data.streams import open_source
from headway.data.vectors.table import FILES, MANIFEST, VERSION, Bad, Description, Vectors, digest_of, open_table
from headway.data.vectors.words_json import AsRows
from headway.durable import checksum, make_folder, replace_json, sync_folder, write_errors
from headway.errors import DataError

if TYPE_CHECKING:
    from headway.data.vectors.rows import Rows

_SAMPLES, _SAMPLE_BYTES = 10, 1 << 16
_HEADER = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What is asked of a vector file."""

    wanted: Collection[str] | None = None
    """Only these words; None for all."""
    dimensions: int | None = None
    """How many numbers a vector must have; None to see."""
    bad: Bad = "error"
    """Whether a row that is no word with its numbers ends the reading, or is counted and left out."""


def load_vectors(path: Path, *, cache: Path, asked: Conversion | None = None) -> Vectors:
    """The table of a vector file, from the cache or converted now; a folder is opened as a table."""
    asked = asked or Conversion()
    if path.is_dir():
        return open_table(path)
    mark = _mark(path)
    home = cache / f"{path.name}-{_key(mark, asked)}"
    if home.exists():
        return open_table(home)
    with write_errors(cache, kept="the vector file is as it was"):
        make_folder(cache)
        return _convert(path, home, mark, asked)


def _mark(path: Path) -> dict[str, Any]:
    """What tells one state of a file from another, without reading all of it.

    An edit between the sampled blocks that keeps size and time stays unseen; `Vectors.verify` is for that.
    """
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            digest = xxhash.xxh3_128()
            for n in range(_SAMPLES):
                file.seek(max(0, (stat.st_size - _SAMPLE_BYTES) * n // (_SAMPLES - 1)))
                digest.update(file.read(_SAMPLE_BYTES))
    except FileNotFoundError as cause:
        raise DataError(f"there is no vector file {path}; name a file of word vectors, or a converted table") from cause
    except OSError as cause:
        raise DataError(f"cannot read {path} ({cause.strerror})") from cause
    return {
        "name": path.name, "bytes": stat.st_size, "modified_ns": stat.st_mtime_ns, "samples": digest.hexdigest()
    }  # fmt: skip


def _key(mark: dict[str, Any], asked: Conversion) -> str:
    wanted = None if asked.wanted is None else digest_of(asked.wanted)
    parts = [VERSION, mark["bytes"], mark["modified_ns"], mark["samples"], wanted, asked.dimensions, asked.bad]
    return xxhash.xxh3_64_hexdigest(repr(parts).encode())


def _convert(path: Path, home: Path, mark: dict[str, Any], asked: Conversion) -> Vectors:
    draft = Path(tempfile.mkdtemp(prefix=f".{home.name}.", dir=home.parent))
    try:
        described = _write(path, draft, mark, asked)
        replace_json(draft / MANIFEST, described.to_json())
        with suppress(FileExistsError):
            _rename(draft, home)
        sync_folder(home.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return open_table(home)


def _rename(draft: Path, home: Path) -> None:
    """Two at once are harmless: both made the same, and the first one stays."""
    try:
        draft.rename(home)
    except OSError as cause:
        if not home.exists():
            raise
        raise FileExistsError(str(home)) from cause


def _write(path: Path, draft: Path, mark: dict[str, Any], asked: Conversion) -> Description:
    # Loaded where a file is converted: a table opens without the compiler.
    from headway.data.vectors.rows import Reading, read_rows

    reading = Reading(path.name, asked.dimensions)
    written = _Written()
    with _opened(path, mark) as file, (draft / "matrix.npy").open("wb") as matrix:
        matrix.write(bytes(_HEADER))
        for rows in read_rows(file, reading, wanted=asked.wanted, bad=asked.bad):
            matrix.write(np.ascontiguousarray(rows.numbers).data)
            written.add(rows)
        if not written.rows:
            raise DataError(f"{path.name} holds none of the words that were asked for; is it of their language?")
        matrix.seek(0)
        matrix.write(_header((written.rows, reading.dimensions or 0)))
        matrix.flush()
        os.fsync(matrix.fileno())
    if path.stat().st_mtime_ns != mark["modified_ns"]:
        raise DataError(f"{path} changed while it was read; wait until it is complete, then try again")
    duplicates = written.index(draft)
    return Description(
        source=mark | {"checksum": reading.checksum},
        dimensions=reading.dimensions or 0,
        rows=written.rows,
        read=reading.rows,
        duplicates=duplicates,
        skipped=dict(reading.skipped),
        wanted=None if asked.wanted is None else digest_of(asked.wanted),
        files={name: {"bytes": (draft / name).stat().st_size, "checksum": checksum(draft / name)} for name in FILES},
    )


@contextmanager
def _opened(path: Path, mark: dict[str, Any]) -> Generator[BinaryIO]:
    """A vector file as rows of plain text, decompressed where its suffix says so."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    inner = path.with_suffix("") if compression else path
    if compression is None and inner.suffix.lower() != ".json":
        # Without a buffer between: what is read goes where it is worked on.
        with path.open("rb", buffering=0) as file:
            yield cast(BinaryIO, file)
        return
    with open_source(Source(str(path), path.name, "text", compression, mark["bytes"])) as file:
        yield cast(BinaryIO, AsRows(file, name=path.name)) if inner.suffix.lower() == ".json" else file


def _header(shape: tuple[int, int]) -> bytes:
    """The header of a matrix of float32, as long as what was kept free for it."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape[0]}, {shape[1]}), }}"
    return b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little") + text.ljust(_HEADER - 11).encode() + b"\n"


class _Written:
    """The words of the rows written so far."""

    def __init__(self) -> None:
        self.rows = 0
        self._texts: list[NDArray[np.uint8]] = []
        self._offsets: list[NDArray[np.int64]] = []
        self._bytes = 0

    def add(self, rows: Rows) -> None:
        """Keep the words of some rows."""
        self._texts.append(rows.text)
        self._offsets.append(rows.offsets[:-1] + self._bytes)
        self._bytes += len(rows.text)
        self.rows += len(rows.numbers)

    def index(self, folder: Path) -> int:
        """Write words and index; how many rows have a word that came before."""
        text = np.concatenate(self._texts)
        offsets = np.concatenate([*self._offsets, np.array([self._bytes])])
        flat = text.tobytes()
        words = [flat[low:high] for low, high in pairwise(offsets.tolist())]
        keys = np.fromiter(map(xxhash.xxh3_64_intdigest, words), np.uint64, len(words))
        places = np.argsort(keys, kind="stable")
        later = _later(words, keys, places)
        places = places[~later]
        for name, numbers in (
            ("words", text), ("offsets", offsets), ("hashes", keys[places]), ("places", places)
        ):  # fmt: skip
            with NpyWriter(folder / f"{name}.npy", numbers.dtype) as writer:
                writer.append(numbers)
            sync_file(folder / f"{name}.npy")
        return int(later.sum())


def _later(words: list[bytes], keys: NDArray[np.uint64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the places, in order of key, hold a word that came before."""
    later = np.zeros(len(places), bool)
    ordered = keys[places]
    for i in np.flatnonzero(ordered[1:] == ordered[:-1]).tolist():
        first = int(np.searchsorted(ordered, ordered[i]))
        word = words[places[i + 1]]
        later[i + 1] = any(words[places[k]] == word for k in range(first, i + 1))
    return later
