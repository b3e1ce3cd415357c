"""A profile of any Python program: what its processes used, how long its events took, and what is near a limit."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from threading import Lock

from headway.record.bottleneck import Verdict, by_thresholds
from headway.record.loopback import loopback_seconds
from headway.record.sampler import Clocks, Sampler, Usage, own_sampler
from headway.record.slope import Slope, Trend, memory_trend, slope, totals
from headway.record.tick import Tick

MEBI = 1 << 20
_SAMPLES, _TOKENS = "samples", "tokens"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long something took, in seconds; the deviation is that of a population."""

    count: int
    mean: float
    deviation: float
    least: float
    most: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that was measured between a start and a stop; None is what was not."""

    usage: Usage
    ticks: Sequence[Tick]
    started: float
    ended: float
    training_seconds: float | None
    """From the first event or sample told to the last."""
    samples: int
    tokens: int | None
    events: Mapping[str, Timing]
    nodes: Mapping[str, Timing]
    latency: Timing | None
    loopback: float | None
    trend: Trend
    memory_per_sample: Slope | None
    """Bytes; how memory grew with the samples, not how much there was of it."""
    verdict: Verdict

    @property
    def seconds(self) -> float:
        """From the start to the stop."""
        return self.usage.whole.seconds

    def rate(self, amount: float) -> float | None:
        """So much of something per second of training; None of nothing."""
        seconds = self.seconds if self.training_seconds is None else self.training_seconds
        return amount / seconds if amount and seconds > 0 else None


class Profiler:
    """Samples this process and all it starts from `start` to `stop`, and takes in what the program tells."""

    def __init__(
        self,
        *,
        interval: float = 1.0,
        sampler: Callable[[float], Sampler] = lambda interval: own_sampler(interval=interval),
        clocks: Clocks | None = None,
    ) -> None:
        self._interval = interval
        self._make = sampler
        self._clocks = clocks or Clocks(wall=time.time)
        self._lock = Lock()
        self._sampler: Sampler | None = None
        self._profile: Profile | None = None
        self._clear()

    @property
    def running(self) -> bool:
        """Whether it measures now."""
        return self._sampler is not None

    def start(self) -> None:
        """Begin anew; what was measured before is forgotten. Harmless while it runs."""
        if self._sampler is not None:
            return
        self._clear()
        self._started = self._clocks.wall()
        sampler = self._make(self._interval)
        sampler.progress = self._counts
        sampler.start()
        self._sampler = sampler

    def stop(self) -> Profile | None:
        """End, and tell; the same again where it is stopped already, None where it never ran."""
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
            self._profile = self._told(sampler)
        return self._profile

    def latest(self) -> Profile | None:
        """What was measured so far, by a look of now while it runs."""
        return self._profile if self._sampler is None else self._told(self._sampler)

    def event(self, kind: str, seconds: float, *, node: str | None = None) -> None:
        """Something took so long, perhaps at a node."""
        with self._lock:
            self._mark(seconds)
            self._events.setdefault(kind, _Moments()).add(seconds)
            if node is not None:
                self._nodes.setdefault(node, _Moments()).add(seconds)

    def sample(self, tokens: int | None = None) -> None:
        """A sample was worked off."""
        with self._lock:
            self._mark(0.0)
            self._samples += 1
            if tokens is not None:
                self._tokens = (self._tokens or 0) + tokens

    def latency(self, seconds: float) -> None:
        """A service answered after so long."""
        with self._lock:
            self._latency.add(seconds)

    def _clear(self) -> None:
        self._samples = 0
        self._tokens: int | None = None
        self._events: dict[str, _Moments] = {}
        self._nodes: dict[str, _Moments] = {}
        self._latency = _Moments()
        self._between: tuple[float, float] | None = None

    def _mark(self, seconds: float) -> None:
        now = self._clocks.steady()
        first = now - seconds if self._between is None else min(self._between[0], now - seconds)
        self._between = first, now

    def _counts(self) -> Mapping[str, float]:
        return {_SAMPLES: self._samples, _TOKENS: self._tokens or 0}

    def _told(self, sampler: Sampler) -> Profile | None:
        usage = sampler.usage(fresh=True)
        if usage is None:
            return None
        ticks = sampler.ticks
        held = [tick.gauges.get("rss", 0.0) for tick in ticks]
        with self._lock:
            latency = self._latency.timing()
            return Profile(
                usage=usage,
                ticks=ticks,
                started=self._started,
                ended=usage.whole.time,
                training_seconds=None if self._between is None else self._between[1] - self._between[0],
                samples=self._samples,
                tokens=self._tokens,
                events=_timings(self._events),
                nodes=_timings(self._nodes),
                latency=latency,
                loopback=loopback_seconds(),
                trend=memory_trend(ticks),
                memory_per_sample=slope(totals(ticks, _SAMPLES), held),
                verdict=by_thresholds(_figures(usage.whole, latency)),
            )


class _Moments:
    """Count, mean, deviation and extremes of a stream of figures."""

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = self._total = 0.0
        self._least = self._most = 0.0

    def add(self, value: float) -> None:
        self._least = min(self._least, value) if self._count else value
        self._most = max(self._most, value) if self._count else value
        self._count += 1
        self._total += value
        away = value - self._mean
        self._mean += away / self._count
        self._squares += away * (value - self._mean)

    def timing(self) -> Timing | None:
        if not self._count:
            return None
        deviation = sqrt(self._squares / self._count)
        return Timing(self._count, self._mean, deviation, self._least, self._most, self._total)


def _timings(found: Mapping[str, _Moments]) -> dict[str, Timing]:
    return {name: timing for name, moments in found.items() if (timing := moments.timing()) is not None}


def _figures(whole: Tick, latency: Timing | None) -> dict[str, float | None]:
    """Each in the unit of its threshold."""
    cpu, written, share = whole.sums.get("cpu"), whole.sums.get("written_bytes"), whole.gauges.get("host_memory_share")
    return {
        "cpu": None if cpu is None or not whole.seconds else 100 * cpu / whole.seconds,
        "memory": None if share is None else 100 * share,
        "disk_io": None if written is None or not whole.seconds else written / MEBI / whole.seconds,
        "network": None if latency is None else 1000 * latency.mean,
    }
