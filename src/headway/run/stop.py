"""Stopping on request: the first signal asks, the second insists."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

_ENDS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def orderly() -> Generator[None]:
    """While entered, SIGTERM and SIGHUP end the process as an exception does: what is open is closed, drafts vanish."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What somebody ignores stays ignored, which is what nohup is for; what somebody handles is theirs again afterwards.
    heard = [number for number in _ENDS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, _leave) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


class Stop:
    """While entered, a first SIGINT, SIGTERM or SIGHUP sets `requested`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def requested(self) -> bool:
        """Whether the work should end after the current step."""
        return self.signal is not None

    def request(self, number: int = signal.SIGINT) -> None:
        """Ask for the end, as a signal would."""
        self.signal = number

    def __enter__(self) -> Self:
        # Python lets only the main thread handle signals; elsewhere the caller stops through `request`.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._receive) for number in _heard()}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before = {}

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            return
        self.signal = number
        self.insist()

    def insist(self) -> NoReturn:
        """Leave at once, as the signal would have without a Stop."""
        if self.signal is not None and self.signal in _ENDS:
            raise SystemExit(128 + self.signal)
        raise KeyboardInterrupt


def _heard() -> list[signal.Signals]:
    """The signals that stop; a SIGHUP that is ignored stays so, which is what nohup is for."""
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM] + ([] if ignored else [signal.SIGHUP])
