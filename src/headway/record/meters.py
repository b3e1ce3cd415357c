"""Figures a person watches, folded from the events of a record."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rate:
    """Measured documents and tokens per second."""

    documents: float
    tokens: float


@dataclass(frozen=True, slots=True)
class _Mark:
    time: float
    documents: int
    tokens: int


class Progress:
    """What a run has done and how fast; pure: its only clock is the time inside the events.

    `documents` and `tokens` count the whole run as far as the record says; rates and metrics only the present process.
    """

    def __init__(
        self, *, total_documents: int | None = None, total_tokens: int | None = None, window_seconds: float = 10.0
    ) -> None:
        self.total_documents = total_documents
        self.total_tokens = total_tokens
        self.metrics: dict[str, float] = {}
        self.steps = 0
        self._window_seconds = window_seconds
        self._start: _Mark | None = None
        self._now = _Mark(0.0, 0, 0)
        self._saved = (0, 0)
        self._window: deque[_Mark] = deque()

    @property
    def documents(self) -> int:
        return self._now.documents

    @property
    def tokens(self) -> int:
        return self._now.tokens

    @property
    def seconds(self) -> float | None:
        """How long the present process has worked, until its last event."""
        return self._now.time - self._start.time if self._start else None

    @property
    def rate(self) -> Rate | None:
        """The rate over the last `window_seconds`."""
        return _rate(self._window[0], self._now) if self._window else None

    @property
    def overall_rate(self) -> Rate | None:
        """The rate since the present process began."""
        return _rate(self._start, self._now) if self._start else None

    @property
    def eta_seconds(self) -> float | None:
        """Time left at the present rate, from tokens where their total is known; None until there is a rate."""
        rate = self.rate
        if rate is None:
            return None
        if self.total_tokens is not None:
            return _left(self.total_tokens - self.tokens, rate.tokens)
        if self.total_documents is not None:
            return _left(self.total_documents - self.documents, rate.documents)
        return None

    def fold(self, event: Mapping[str, Any]) -> None:
        """Take in one event; also usable as a listener of a Record."""
        kind, time = event["event"], event["time"]
        if kind == "run_started":
            self._begin(_Mark(time, 0, 0))
        elif kind == "resumed":
            self._begin(_Mark(time, *self._resumed(event)))
        elif self._start is None:
            self._begin(_Mark(time, self.documents, self.tokens))
        if kind == "step":
            self._step(event)
        elif kind == "saved":
            self._saved = (self.documents, self.tokens)
        self._now = _Mark(time, self.documents, self.tokens)

    def _begin(self, mark: _Mark) -> None:
        self.metrics, self.steps = {}, 0
        self._start = self._now = mark
        self._window = deque([mark])

    def _resumed(self, event: Mapping[str, Any]) -> tuple[int, int]:
        """What was done before; steps after the last save are done again, so they do not count."""
        if event.get("documents") is None or event.get("tokens") is None:
            return self._saved
        return event["documents"], event["tokens"]

    def _step(self, event: Mapping[str, Any]) -> None:
        self.steps += event["steps"]
        for name, value in event["metrics"].items():
            self.metrics[name] = self.metrics.get(name, 0) + value
        self._now = _Mark(event["time"], self.documents + event["documents"], self.tokens + event["tokens"])
        self._window.append(self._now)
        # The mark at the far end may be older than the window, so that it is never empty.
        while len(self._window) > 2 and self._window[1].time <= self._now.time - self._window_seconds:
            self._window.popleft()


def _rate(since: _Mark, now: _Mark) -> Rate | None:
    seconds = now.time - since.time
    if seconds <= 0 or (now.tokens == since.tokens and now.documents == since.documents):
        return None
    return Rate((now.documents - since.documents) / seconds, (now.tokens - since.tokens) / seconds)


def _left(amount: int, per_second: float) -> float | None:
    return max(amount, 0) / per_second if per_second > 0 else None
