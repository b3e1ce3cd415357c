"""A file of JSON lines that only grows: a line counts once its newline is written."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.errors import RunError

DAMAGE_ADVICE = "what was learned is not affected; delete that line to read the rest"
_BLOCK = 1 << 16


class LineFile:
    """Appends whole lines; opened by the first of them, when a line that a crash cut is removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def append(self, line: bytes) -> None:
        """Add one line and hand it to the operating system at once."""
        if self._descriptor is None:
            self._descriptor = _open_whole(self.path)
        content = line + b"\n"
        try:
            # One call writes the line; more are needed only when the disk fills up in its middle.
            while content:
                content = content[os.write(self._descriptor, content) :]
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Release the file; the next line opens it again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def read_lines(path: Path) -> Iterator[Any]:
    """The values of a file of JSON lines; a last line cut by a crash is left out, other damage is a RunError."""
    try:
        file = path.open("rb")
    except FileNotFoundError as cause:
        raise RunError(f"there is no record at {path}; is this the folder of a run?") from cause
    with file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield _value(line, path, number)


def _value(line: bytes, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as cause:
        raise RunError(f"{path} line {number} is damaged ({cause}); {DAMAGE_ADVICE}") from cause


def _open_whole(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    end = os.fstat(descriptor).st_size
    whole = _whole_bytes(descriptor, end)
    if whole < end:
        os.ftruncate(descriptor, whole)
    return descriptor


def _whole_bytes(descriptor: int, end: int) -> int:
    """How many bytes from the start are whole lines, found from the end."""
    while end > 0:
        start = max(0, end - _BLOCK)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
