"""Writing files so that each is there whole or not at all, with its checksum made on the way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import xxhash

from headway.durable import checksum, sync_folder
from headway.errors import RunError

DRAFT = ".draft"
Bytes = bytes | memoryview


@dataclass(frozen=True, slots=True)
class Written:
    """What a file has to be to be whole."""

    bytes: int
    checksum: str


def write_file(path: Path, parts: Iterable[Bytes]) -> Written:
    """Write a file and make its content durable; its name is so only with the folder."""
    digest = xxhash.xxh3_128()
    size = 0
    with path.open("wb", buffering=0) as file:
        for each in parts:
            digest.update(each)
            size += _write_all(file.fileno(), memoryview(each))
        os.fsync(file.fileno())
    return Written(size, digest.hexdigest())


def replace_file(path: Path, parts: Iterable[Bytes]) -> Written:
    """Replace a file so that a crash leaves the old or the new one."""
    draft = path.with_name(path.name + DRAFT)
    try:
        written = write_file(draft, parts)
        draft.replace(path)
    except BaseException:
        # However it ends, a draft that nobody will finish must not stay; the cause goes on.
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return written


def check_file(path: Path, written: Written) -> None:
    """A RunError that names the file where it is missing, torn or changed."""
    if not path.is_file():
        raise RunError(f"{path} is missing")
    size = path.stat().st_size
    if size != written.bytes:
        raise RunError(f"{path} has {size:,} bytes instead of {written.bytes:,}: it is torn")
    if checksum(path) != written.checksum:
        raise RunError(f"{path} does not have the checksum it was written with: it is damaged")


def _write_all(descriptor: int, content: memoryview) -> int:
    rest = content
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(content)
