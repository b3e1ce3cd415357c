"""A vector table on disk: a matrix and an index that open by memory map, readable with numpy alone.

matrix.npy float32[rows, dimensions]   words.npy, offsets.npy the words' bytes   hashes.npy, places.npy sorted index
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xxhash
from numpy.typing import NDArray

from headway.durable import checksum, read_json
from headway.errors import DataError

FORMAT = "headway-vectors"
_ROWS_AT_ONCE = 1 << 14
VERSION = 1
# What becomes of a row that is no word with its numbers.
Bad = Literal["error", "skip"]
MANIFEST = "manifest.json"
FILES = ("matrix.npy", "words.npy", "offsets.npy", "hashes.npy", "places.npy")
_AGAIN = "convert it again with: headway vectors convert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a table says about itself, and about the file it was read from."""

    source: dict[str, Any]
    """Name, bytes, modification time, digest of sampled blocks, checksum of everything."""
    dimensions: int
    rows: int
    """Rows of the matrix."""
    read: int
    """Rows of the source, whether kept or not."""
    duplicates: int
    """Rows whose word came before; the first one counts."""
    skipped: dict[str, int]
    wanted: str | None
    """Digest of the words that were asked for; None when all were."""
    files: dict[str, dict[str, Any]]
    """Bytes and checksum of every file."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the manifest."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


@dataclass(frozen=True, eq=False)
class Vectors:
    """An opened table; what is looked at comes from the page cache, nothing is loaded before."""

    folder: Path
    description: Description

    def __len__(self) -> int:
        return self.description.rows

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self.description.dimensions

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """All vectors, one a row."""
        return self._map("matrix.npy")

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """The row of each word, -1 where the table has none."""
        wanted = [word.encode() for word in words]
        keys = np.fromiter(map(xxhash.xxh3_64_intdigest, wanted), np.uint64, len(wanted))
        hashes, places = self._map("hashes.npy"), self._map("places.npy")
        found = np.full(len(wanted), -1, np.int64)
        low, high = np.searchsorted(hashes, keys), np.searchsorted(hashes, keys, side="right")
        for i in np.flatnonzero(low < high).tolist():
            rows = places[low[i] : high[i]].tolist()
            # A hash may be shared by chance; a word is what its bytes are.
            found[i] = next((row for row in rows if self._word(row) == wanted[i]), -1)
        return found

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = int(self.find([word])[0])
        if row < 0:
            raise KeyError(word)
        return self.matrix[row]

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and int(self.find([word])[0]) >= 0

    def words(self) -> list[str]:
        """The word of every row; one that is no UTF-8 with replacement characters."""
        flat, offsets = self._map("words.npy").tobytes(), self._map("offsets.npy").tolist()
        return [flat[low:high].decode("utf-8", "replace") for low, high in pairwise(offsets)]

    def statistics(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and standard deviation of each dimension over all rows; read once."""
        return self._statistics

    @cached_property
    def _statistics(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        total, squares = np.zeros(self.dimensions), np.zeros(self.dimensions)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            part = self.matrix[start : start + _ROWS_AT_ONCE].astype(np.float64)
            total += part.sum(axis=0)
            squares += np.square(part).sum(axis=0)
        mean = total / len(self)
        spread = np.sqrt(np.maximum(squares / len(self) - np.square(mean), 0))
        return mean.astype(np.float32), spread.astype(np.float32)

    def verify(self) -> None:
        """Compare every byte with the manifest; a DataError names the file that differs."""
        for name, known in self.description.files.items():
            if checksum(self.folder / name) != known["checksum"]:
                raise DataError(f"{self.folder / name} has other content than when it was written; {_AGAIN}")

    def _word(self, row: int) -> bytes:
        offsets = self._map("offsets.npy")
        return self._map("words.npy")[offsets[row] : offsets[row + 1]].tobytes()

    def _map(self, name: str) -> NDArray[Any]:
        if name not in self._maps:
            self._maps[name] = np.load(self.folder / name, mmap_mode="r", allow_pickle=False)
        return self._maps[name]

    @cached_property
    def _maps(self) -> dict[str, NDArray[Any]]:
        return {}


def open_table(folder: Path) -> Vectors:
    """The table in a folder, its files of the size they should be; a DataError otherwise."""
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(f"{folder} is no vector table ({MANIFEST} is missing); {_AGAIN}")
    value = read_json(path)
    if not isinstance(value, dict) or (value.pop("format", None), value.pop("version", None)) != (FORMAT, VERSION):
        raise DataError(f"{path} is not of {FORMAT} version {VERSION}; {_AGAIN}")
    try:
        description = Description(**value)
        sizes = {name: int(known["bytes"]) for name, known in description.files.items()}
    except (TypeError, KeyError, ValueError) as cause:
        raise DataError(f"{path} is damaged ({cause}); {_AGAIN}") from cause
    for name, size in sizes.items():
        found = (folder / name).stat().st_size if (folder / name).is_file() else None
        if found != size:
            said = "is missing" if found is None else f"has {found:,} bytes instead of {size:,}"
            raise DataError(f"{folder / name} {said}; {_AGAIN}")
    return Vectors(folder, description)


def digest_of(words: Iterable[str]) -> str:
    """What names a set of words."""
    return xxhash.xxh3_128_hexdigest(json.dumps(sorted(set(words))).encode())
