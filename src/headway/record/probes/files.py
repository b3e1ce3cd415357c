"""Files of the kernel, kept open: reading one again costs microseconds, opening it several times that."""

import os
from pathlib import Path

_MOST_OPEN = 128
_BLOCK = 1 << 16


class Room:
    """How many files may stay open: a run needs descriptors more than whoever watches it."""

    def __init__(self, most: int = _MOST_OPEN) -> None:
        self.left = most


class KeptFile:
    """A file that is read again and again from its start."""

    __slots__ = ("_descriptor", "_path", "_room")

    def __init__(self, path: Path, room: Room) -> None:
        self._path = path
        self._room = room
        self._descriptor: int | None = None

    def read(self) -> bytes:
        """What it holds now, as the kernel gives it in one piece; an OSError where it is gone or forbidden."""
        if self._descriptor is not None:
            return os.pread(self._descriptor, _BLOCK, 0)
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        if self._room.left > 0:
            self._room.left -= 1
            self._descriptor = descriptor
            return os.pread(descriptor, _BLOCK, 0)
        try:
            return os.pread(descriptor, _BLOCK, 0)
        finally:
            os.close(descriptor)

    def read_all(self) -> bytes:
        """The same of a file that the kernel gives in several pieces."""
        content = self.read()
        if self._descriptor is None:
            return self._path.read_bytes()
        while more := os.pread(self._descriptor, _BLOCK, len(content)):
            content += more
        return content

    def close(self) -> None:
        """Let go of it; harmless when repeated."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._room.left += 1
            os.close(descriptor)
