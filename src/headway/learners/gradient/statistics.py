"""What writing in the background did and cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

# Enough for the percentiles of a long run; the largest is kept of all.
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds that something took each time; nothing but the count where it never happened."""

    count: int
    last: float | None = None
    mean: float | None = None
    median: float | None = None
    p95: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts since the writer was made."""

    accepted: int
    written: int
    coalesced: int
    """Replaced by a newer one of their kind before anybody began to write them."""
    failed: int
    pending: int
    bytes: int
    """Written, as they are on the disk."""
    blocking: Spread
    """How long callers were held up, copying included."""
    waiting: Spread
    """The part of it that was waiting for a free buffer; only the calls that had to."""
    writing: Spread
    age: float | None
    """Seconds since the newest became durable; None where none did."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in a record."""
        return asdict(self)


class Seconds:
    """Collects durations."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_REMEMBERED)
        self._count = 0
        self._sum = self._max = 0.0

    def add(self, seconds: float) -> None:
        """Note one."""
        self._recent.append(seconds)
        self._count += 1
        self._sum += seconds
        self._max = max(self._max, seconds)

    def spread(self) -> Spread:
        """Count, mean and maximum of all, ranks of the recent ones."""
        if not self._count:
            return Spread(0)
        ordered = sorted(self._recent)
        rank = -(-95 * len(ordered) // 100) - 1
        median = ordered[(len(ordered) - 1) // 2]
        return Spread(self._count, self._recent[-1], self._sum / self._count, median, ordered[rank], self._max)


class Tally:
    """The counters behind `Statistics`; whoever changes them holds the writer's lock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.accepted = self.written = self.coalesced = self.failed = self.bytes = 0
        self.blocking, self.waiting, self.writing = Seconds(), Seconds(), Seconds()
        self._durable_at: float | None = None

    def wrote(self, size: int, seconds: float) -> None:
        """Count what is durable from now on."""
        self.written += 1
        self.bytes += size
        self.writing.add(seconds)
        self._durable_at = self._clock()

    def statistics(self, pending: int) -> Statistics:
        """What was counted so far."""
        return Statistics(
            accepted=self.accepted,
            written=self.written,
            coalesced=self.coalesced,
            failed=self.failed,
            pending=pending,
            bytes=self.bytes,
            blocking=self.blocking.spread(),
            waiting=self.waiting.spread(),
            writing=self.writing.spread(),
            age=None if self._durable_at is None else self._clock() - self._durable_at,
        )
