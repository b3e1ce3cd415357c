"""One builder per Dataset: a lock on a file, shared with the builder's workers."""

import errno
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self


class BuildLock:
    """Holds a lock that ends when this process and every worker it was passed to have ended, however they end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Try to take the lock; False while another builder or one of its workers is alive."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as cause:
            os.close(descriptor)
            if cause.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        if not self._is_current(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    @property
    def descriptor(self) -> int:
        """The open file to pass to workers."""
        if self._descriptor is None:
            raise ValueError("the lock is not held")
        return self._descriptor

    def release(self) -> None:
        """Remove the file and let others go on."""
        if self._descriptor is not None:
            self.path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def _is_current(self, descriptor: int) -> bool:
        """Whether the locked file still has the name: its last holder may have removed it meanwhile."""
        try:
            named = self.path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))


@contextmanager
def alone_with(path: Path) -> Generator[None]:
    """Wait for whoever else is at work under this lock, which is held for moments only."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
