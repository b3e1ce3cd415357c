"""Files that are either whole or absent: write, fsync, rename, fsync the folder."""

import errno
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xxhash

from headway.errors import DataError, RunError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_TOO_MANY = {errno.EMFILE, errno.ENFILE}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Have a folder, and every folder above it; a RunError where there cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, FileNotFoundError) as cause:
        raise RunError(f"{folder} cannot be a folder ({cause.strerror}); choose another folder") from cause


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file so that a crash leaves the old or the new content, never a mixture."""
    draft = path.with_name(path.name + ".tmp")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def replace_json(path: Path, value: object) -> None:
    """`replace_bytes` of canonical JSON: sorted keys, so equal values are equal bytes."""
    replace_bytes(path, (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """The JSON value in a file; a DataError that names the file when it is not JSON."""
    try:
        return json.loads(path.read_bytes())
    except ValueError as cause:
        raise DataError(f"{path} is not valid JSON ({cause}); the file is damaged") from cause


def checksum(path: Path) -> str:
    """xxh3-128 of a file's content, in hex."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def write_errors(where: Path, *, kept: str) -> Generator[None]:
    """Turn a full, failing or read-only disk into a RunError that says what is still safe (`kept`)."""
    try:
        yield
    except OSError as cause:
        if cause.errno in _FULL:
            raise RunError(f"the disk is full at {where}; {kept}; free some space, then continue") from cause
        if cause.errno == errno.EFBIG:
            advice = "raise the limit on the size of files (ulimit -f), then continue"
            raise RunError(f"a file at {where} may not become as large as it must; {kept}; {advice}") from cause
        if cause.errno == errno.EIO:
            advice = "look into the system's log, choose another disk"
            raise RunError(f"the disk at {where} fails ({os.strerror(errno.EIO)}); {kept}; {advice}") from cause
        if cause.errno in _TOO_MANY:
            advice = "allow this process more open files (ulimit -n), then continue"
            raise RunError(f"too many files are open at once at {where}; {kept}; {advice}") from cause
        if cause.errno in _DENIED:
            advice = "change its permissions or choose another folder"
            raise RunError(f"cannot write to {where} ({os.strerror(cause.errno)}); {kept}; {advice}") from cause
        raise
