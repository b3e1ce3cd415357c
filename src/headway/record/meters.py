"""Figures a person watches, folded from the events of a record."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.plan.values import Mean, Metrics


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


# From less than that, nobody can tell how long the rest takes.
_LEAST_SECONDS = 1.0


class Progress:
    """What a run has done and how fast; pure: its only clock is the time inside the events.

    `documents` and `tokens` count the whole run as far as the record says; rates and metrics only the present process,
    which is not the whole run where it is `continued`.
    """

    def __init__(
        self, *, total_documents: int | None = None, total_tokens: int | None = None, window_seconds: float = 10.0
    ) -> None:
        self.total_documents = total_documents
        self.total_tokens = total_tokens
        self.metrics: Metrics = {}
        self.evaluation: dict[str, float] = {}
        self.steps = 0
        self.continued = False
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
        """The rate over the last `window_seconds`; None until a second step is done."""
        return _rate(self._window[0], self._now) if self._window else None

    @property
    def overall_rate(self) -> Rate | None:
        """The rate since the present process began."""
        return _rate(self._start, self._now) if self._start else None

    @property
    def eta_seconds(self) -> float | None:
        """Time left at the present rate, from tokens where their total is known; None until enough was measured."""
        rate = self.rate
        if rate is None or self._now.time - self._window[0].time < _LEAST_SECONDS:
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
            self.continued = False
        elif kind == "resumed":
            self._begin(_Mark(time, *self._resumed(event)))
            self.continued = self.documents > 0
        elif self._start is None:
            self._begin(_Mark(time, self.documents, self.tokens))
        if kind == "step":
            self._step(event)
        elif kind == "saved":
            there = event.get("documents") is not None
            self._saved = (event["documents"], event["tokens"]) if there else (self.documents, self.tokens)
        elif kind == "evaluated":
            self.evaluation = {name: _figure(value) for name, value in event["metrics"].items()}
        self._now = _Mark(time, self.documents, self.tokens)

    def _begin(self, mark: _Mark) -> None:
        self.metrics, self.steps = {}, 0
        self._start = self._now = mark
        # It opens with the first step, which also waits for code to be compiled and for workers to start.
        self._window = deque()

    def _resumed(self, event: Mapping[str, Any]) -> tuple[int, int]:
        """What was done before; steps after the last save are done again, so they do not count."""
        if event.get("documents") is None or event.get("tokens") is None:
            return self._saved
        return event["documents"], event["tokens"]

    def _step(self, event: Mapping[str, Any]) -> None:
        self.steps += event["steps"]
        for name, value in event["metrics"].items():
            # Counts add up; of a mean, what was measured last says most.
            known = self.metrics.get(name, 0)
            self.metrics[name] = Mean(*value) if isinstance(value, list | tuple) else value + known
        self._now = _Mark(event["time"], self.documents + event["documents"], self.tokens + event["tokens"])
        self._window.append(self._now)
        # The mark at the far end may be older than the window, so that it is never empty.
        while len(self._window) > 2 and self._window[1].time <= self._now.time - self._window_seconds:
            self._window.popleft()


def _figure(value: Any) -> float:
    """A figure as it is read; from a file, a mean is a list."""
    return Mean(*value).value if isinstance(value, list | tuple) else value


def _rate(since: _Mark, now: _Mark) -> Rate | None:
    seconds = now.time - since.time
    if seconds <= 0 or (now.tokens == since.tokens and now.documents == since.documents):
        return None
    return Rate((now.documents - since.documents) / seconds, (now.tokens - since.tokens) / seconds)


def _left(amount: int, per_second: float) -> float | None:
    return max(amount, 0) / per_second if per_second > 0 else None
