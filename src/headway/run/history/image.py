"""The index of a folder of runs as a file: an SQLite database, read and replaced as a whole.

Nothing locks it: it is a copy of what the run folders say, and each of two writers leaves a whole one. A checksum over
all of it stands in its header, in a field that SQLite leaves to programs, so that a damaged one is never believed.
"""

import os
import sqlite3
import zlib
from contextlib import suppress
from pathlib import Path

NAME = ".history.sqlite"
_DRAFT = ".history-"
_MAGIC = b"SQLite format 3\0"
_CHECKSUM = slice(68, 72)
_ABANDONED_SECONDS = 3600.0


def load(path: Path) -> sqlite3.Connection | None:
    """The database in a file, in memory; None where there is no whole one."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if not content.startswith(_MAGIC) or content[_CHECKSUM] != _checksum(content):
        return None
    connection = sqlite3.connect(":memory:")
    connection.deserialize(content)
    return connection


def save(connection: sqlite3.Connection, path: Path, *, now: float) -> None:
    """Put the database there, whole, if that can be done: where it cannot, it is made again from the run folders."""
    # Only here: lists are read far more often than written.
    from tempfile import mkstemp

    content = bytearray(connection.serialize())
    content[_CHECKSUM] = _checksum(content)
    try:
        # A name of its own: another process may be saving, too. Not synced: what is torn is seen and made anew.
        descriptor, draft = mkstemp(prefix=_DRAFT, dir=path.parent)
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # Whoever may read the runs may read their index.
        Path(draft).chmod(path.parent.stat().st_mode & 0o666)
        Path(draft).replace(path)
        _tidy(path.parent, before=now - _ABANDONED_SECONDS)
    except OSError:
        return
    finally:
        with suppress(OSError):
            Path(draft).unlink(missing_ok=True)


def _tidy(folder: Path, *, before: float) -> None:
    """Remove what processes that were killed while saving have left."""
    for path in folder.glob(f"{_DRAFT}*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()


def _checksum(content: bytes | bytearray) -> bytes:
    view = memoryview(content)
    return zlib.crc32(view[_CHECKSUM.stop :], zlib.crc32(view[: _CHECKSUM.start])).to_bytes(4, "big")
