"""One writer per folder: an advisory lock that the kernel drops when its holder dies, however it dies."""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.durable import write_errors
from headway.errors import RunError

NAME = "lock"
_TAKEN = {errno.EACCES, errno.EAGAIN}
_TRIES = 5
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a folder, and what for."""

    pid: int | None
    host: str | None
    since: float | None
    doing: str | None

    def __str__(self) -> str:
        who = "another process" if self.pid is None else f"process {self.pid} on {self.host}"
        return f"{who} is {self.doing or 'at work'}"


class Lock:
    """Holds a folder for this process until closed; a second holder is a RunError that names the first."""

    def __init__(self, folder: Path, *, doing: str, hint: str = "", clock: Callable[[], float] = time.time) -> None:
        self.path = folder / NAME
        self._hint = hint
        self._held = False
        with write_errors(self.path, kept="nothing was changed"):
            self._descriptor: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take(self._descriptor)
            self._sign(self._descriptor, Holder(os.getpid(), socket.gethostname(), clock(), doing))
        except BaseException:
            # A lock that was not taken in full must not be held; the cause goes on.
            self.close()
            raise

    def close(self) -> None:
        """Let others have the folder; harmless when repeated."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if self._held:
                # Nobody reads the name of a holder that is gone; an empty file is the same after every run.
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def _take(self, descriptor: int) -> None:
        # Someone who only asks whether the folder is held (`holder`) has it for an instant: try again before giving up.
        for attempt in range(_TRIES):
            if _try(descriptor, fcntl.LOCK_EX, self.path):
                self._held = True
                return
            if attempt + 1 < _TRIES:
                time.sleep(_PAUSE_SECONDS)
        by = _read(self.path)
        raise RunError(
            f"{by} in {self.path.parent}; two writers in one folder would count twice. "
            f"Wait for it, or stop it with: kill {by.pid or '<its process id>'}{self._hint}"
        )

    def _sign(self, descriptor: int, holder: Holder) -> None:
        with write_errors(self.path, kept="nothing was changed"):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)


def holder(folder: Path) -> Holder | None:
    """Who holds a folder now; None when nobody does."""
    path = folder / NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise RunError(f"cannot read {path} ({cause.strerror}); change its permissions") from cause
    try:
        return None if _try(descriptor, fcntl.LOCK_SH, path) else _read(path)
    finally:
        os.close(descriptor)


def _try(descriptor: int, kind: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as cause:
        if cause.errno in _TAKEN:
            return False
        raise RunError(f"cannot lock {path} ({cause.strerror}); choose a folder on a local disk") from cause
    return True


def _read(path: Path) -> Holder:
    try:
        return Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return Holder(None, None, None, None)
