"""One-dimensional `.npy` files: written while they grow, read by range, checked against what is expected."""

import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import xxhash

from headway.errors import DataError

HEADER_BYTES = 128
_MAGIC = b"\x93NUMPY\x01\x00"
_LARGEST_READ = 1 << 30

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def header(dtype: np.dtype[Any], length: int) -> bytes:
    """The one header our files have: version 1.0, little-endian, padded so that every length fits in it."""
    text = f"{{'descr': '{dtype.newbyteorder('<').str}', 'fortran_order': False, 'shape': ({length},), }}"
    body = text.ljust(HEADER_BYTES - len(_MAGIC) - 3).encode() + b"\n"
    return _MAGIC + struct.pack("<H", len(body)) + body


def file_bytes(dtype: np.dtype[Any], length: int) -> int:
    """The exact size of a file that holds so many numbers."""
    return HEADER_BYTES + length * dtype.itemsize


class NpyWriter:
    """Appends arrays to a file that becomes a valid `.npy` when it is closed; keeps the checksum of its numbers."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.path = path
        self.length = 0
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._digest = xxhash.xxh3_128()
        self._file = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))

    def append(self, numbers: Array) -> None:
        """Write numbers at the end."""
        content = np.ascontiguousarray(numbers, dtype=self._dtype).view(np.uint8).data
        self._file.write(content)
        self._digest.update(content)
        self.length += len(numbers)

    @property
    def checksum(self) -> str:
        """xxh3-128 of the numbers; the header follows from type and length."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Write the header, now that the length is known; not yet durable."""
        if self._file.closed:
            return
        self._file.seek(0)
        self._file.write(header(self._dtype, self.length))
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_range(path: Path, dtype: npt.DTypeLike, start: int, stop: int) -> Array:
    """Numbers start..stop of a file in fresh memory: mapped pages would count as ours for as long as we run."""
    numbers: Array = np.empty(max(0, stop - start), dtype=np.dtype(dtype).newbyteorder("<"))
    target = numbers.view(np.uint8).data
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(HEADER_BYTES + start * numbers.itemsize)
            filled = 0
            while filled < len(target):
                got = file.readinto(target[filled : filled + _LARGEST_READ])
                if not got:
                    raise DataError(f"{path} ends {len(target) - filled:,} bytes early; {REBUILD}")
                filled += got
    except FileNotFoundError as cause:
        raise DataError(f"{path} is missing; {REBUILD}") from cause
    return numbers


def map_numbers(path: Path, dtype: npt.DTypeLike, length: int) -> Array:
    """A read-only map of a whole file, for scattered reads; give it back soon."""
    try:
        return np.memmap(path, dtype=np.dtype(dtype).newbyteorder("<"), mode="r", offset=HEADER_BYTES, shape=(length,))
    except (OSError, ValueError) as cause:
        raise DataError(f"cannot read {path} ({cause}); {REBUILD}") from cause


def check_file(path: Path, dtype: npt.DTypeLike, length: int, *, checksum: str | None) -> None:
    """Raise a DataError unless the file has exactly this type, length and (when given) content."""
    kind = np.dtype(dtype)
    expected = file_bytes(kind, length)
    try:
        actual = path.stat().st_size
    except FileNotFoundError as cause:
        raise DataError(f"{path} is missing; {REBUILD}") from cause
    if actual != expected:
        raise DataError(f"{path} has {actual:,} bytes instead of {expected:,} (truncated or overwritten); {REBUILD}")
    with path.open("rb") as file:
        if file.read(HEADER_BYTES) != header(kind, length):
            raise DataError(f"{path} has a header that does not say {length:,} numbers of {kind.name}; {REBUILD}")
        if checksum is not None and _digest(file) != checksum:
            raise DataError(f"{path} has other content than when it was built (checksum differs); {REBUILD}")


def _digest(file: Any) -> str:
    digest = xxhash.xxh3_128()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


REBUILD = "delete the dataset's folder and build it again with: headway data build"
