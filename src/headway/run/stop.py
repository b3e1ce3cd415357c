"""Stopping on request: the first signal asks, the second insists."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """While entered, a first SIGINT or SIGTERM sets `requested`; a second one interrupts at once."""

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
            self._before = {number: signal.signal(number, self._receive) for number in _SIGNALS}
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
        if self.signal == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        raise KeyboardInterrupt
