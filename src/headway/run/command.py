"""Any command, run as if nobody watched, and measured meanwhile with all that it starts."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from headway.errors import RunError
from headway.record.probes.machine import FULL_SHARE
from headway.record.sampler import Usage, own_sampler
from headway.record.tick import Tick

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
# The terminal sends these to every process in front, the command included.
_FROM_TERMINAL = {signal.SIGINT, getattr(signal, "SIGQUIT", signal.SIGINT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """How a command ended, and what it used."""

    code: int
    """Its exit code; 128 and the signal's number where one ended it."""
    seconds: float
    usage: Usage | None
    ticks: Sequence[Tick]
    largest_process_bytes: int | None
    """The most that one of its processes held, as the kernel tells at the end; None where this program held more."""


def run_measured(command: Sequence[str], *, interval: float) -> Measured:
    """Run a command to its end; signals reach it, and its streams are those of this process."""
    sampler = own_sampler(interval=interval, share=FULL_SHARE, watcher=True)
    with _passing_on() as target, sampler:
        began = time.perf_counter()
        code = _wait(_start(command), target)
        seconds = time.perf_counter() - began
    return Measured(
        code=code if code >= 0 else 128 - code,
        seconds=seconds,
        usage=sampler.usage(),
        ticks=sampler.ticks,
        largest_process_bytes=_largest(),
    )


class _Target:
    """Whom signals are for, and which came before it was there."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.early: list[int] = []

    def receive(self, number: int, _frame: FrameType | None) -> None:
        if self.process is None:
            self.early.append(number)
        elif number not in _FROM_TERMINAL or not _in_front():
            self.process.send_signal(number)


@contextmanager
def _passing_on() -> Generator[_Target]:
    """While entered, signals are passed on; what somebody ignores stays ignored, which is what nohup is for."""
    target = _Target()
    if threading.current_thread() is not threading.main_thread():
        yield target
        return
    known = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    heard = [number for number in known if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, target.receive) for number in heard}
    try:
        yield target
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command)
    except OSError as cause:
        raise RunError(f"cannot run {command[0]!r} ({cause.strerror}); give a program and its arguments") from cause


def _wait(process: subprocess.Popen[bytes], target: _Target) -> int:
    target.process = process
    for number in target.early:
        process.send_signal(number)
    return process.wait()


def _in_front() -> bool:
    """Whether a terminal's keys reach this process and so the command as well."""
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False


def _largest() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    # Linux counts it in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    own = _own_peak()
    if own is None:
        # It counts whoever started this one as well, so it may hide an answer, and makes none up.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    # A process begins as a copy of this one, and the kernel counts that.
    return most if most > own else None


def _own_peak() -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)
