"""Looks at a run's processes and their machine again and again, beside the run and never in its way.

start() --> thread: wait, look, make a tick --> the whole (one merged tick), a bounded series, the log of the run
stop() / usage() --> one look more, so that the shortest run has one
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Any, Self

from headway.errors import RunError
from headway.record.differences import Differences
from headway.record.probes.machine import LIGHT_SHARE, open_probe
from headway.record.probes.reading import Probe
from headway.record.series import Series
from headway.record.tick import RATE_SECONDS, Tick, busiest, merged, rates, single, to_json
from headway.record.ticklog import TickLog

LEAST_INTERVAL = 0.01
# A clock that is corrected by less is one that is kept right.
_JUMP_SECONDS = 0.5
_FRESH_SECONDS = 0.05
# What files of a kernel and libraries of a driver come to when they are not as anybody expected.
_FAILURES = (OSError, ValueError, LookupError, ArithmeticError, AttributeError)
_SOON_SECONDS = 0.1
Progress = Callable[[], Mapping[str, float]]
"""Counters of work since its beginning, by name; asked from another thread."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The times a sampler lives by; tests own them."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    own: Callable[[], float] = time.thread_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was used from the start to the latest look."""

    interval: float
    whole: Tick
    """All looks merged."""
    failed: int
    """Looks that failed; the next one spans their time too."""
    unwritten: int
    """Ticks that the disk did not take."""
    absent: Mapping[str, str]
    """What could not be measured, each with its reason."""

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON; all of it but the processes, which come and go."""
        figures = {name: value for name, value in to_json(self.whole).items() if name != "processes"}
        return figures | {"peaks": dict(self.whole.peaks), "failed": self.failed, "unwritten": self.unwritten}


class Sampler:
    """Measures from `start` to `stop`; whatever goes wrong with it is noted and no reason to end what it measures."""

    def __init__(
        self,
        probe: Probe,
        *,
        interval: float = 1.0,
        clocks: Clocks | None = None,
        progress: Progress = dict,
        series: Series | None = None,
    ) -> None:
        if not interval >= LEAST_INTERVAL:
            raise RunError(
                f"cannot look every {interval} s; {LEAST_INTERVAL} s is the least there may be between looks"
            )
        self.interval = interval
        self.progress = progress
        self._probe = probe
        self._clocks = clocks or Clocks()
        self._series = series or Series()
        self._lock = RLock()
        self._ended = Event()
        self._thread: Thread | None = None
        self._differences: Differences | None = None
        self._log: TickLog | None = None
        self._whole: Tick | None = None
        self._number = 0
        self._window = _Window()
        self._failed = self._unwritten = 0
        self._trouble: dict[str, str] = {}

    def start(self, *, thread: bool = True) -> None:
        """Take the first reading and begin; without a thread, `look` has to be called."""
        clocks = self._clocks
        self._wall, self._steady, self._own = clocks.wall(), clocks.steady(), 0.0
        # The first look comes soon: what is over in a moment is seen at least once.
        self._due = self._steady + min(self.interval, _SOON_SECONDS)
        self._done = dict(self.progress())
        self._first()
        if thread:
            self._begin()

    def look(self, *, closely: bool = False) -> None:
        """Make a tick of what happened since the last look, closely also of what is expensive; a failure is noted."""
        with self._lock:
            began = self._clocks.own()
            self._look(closely=closely)
            # In the next tick: only now is it known.
            self._own += max(0.0, self._clocks.own() - began)

    def keep_in(self, run: Path) -> None:
        """Write the ticks so far below a run's folder, and from now on each new one."""
        with self._lock:
            self._let_go()
            self._log = TickLog(run)
            for tick in self._series.ticks:
                self._write(tick)

    def leave(self) -> None:
        """Write no more; harmless when repeated."""
        with self._lock:
            self._let_go()

    def usage(self, *, fresh: bool = False) -> Usage | None:
        """What was used so far, by a look of now if it has to be fresh; None before the first tick."""
        with self._lock:
            if fresh and (self._whole is None or self._clocks.steady() - self._steady > _FRESH_SECONDS):
                self.look(closely=True)
            if self._whole is None:
                return None
            return Usage(
                interval=self.interval,
                whole=self._whole,
                failed=self._failed,
                unwritten=self._unwritten,
                absent={**self._probe.absent, **self._trouble},
            )

    @property
    def ticks(self) -> Sequence[Tick]:
        """The ticks so far, old ones merged when there are many."""
        with self._lock:
            return self._series.ticks

    def stop(self) -> None:
        """Look a last time and end; harmless when repeated."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.look(closely=True)
        with self._lock:
            self._let_go()
            self._probe.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def _begin(self) -> None:
        worker = Thread(target=self._run, name="headway-sampler", daemon=True)
        try:
            worker.start()
        except RuntimeError as cause:
            # The system allows no more threads; the run itself may do without one.
            self._trouble["all but the first and the last look"] = str(cause)
        else:
            self._thread = worker

    def _run(self) -> None:
        while not self._ended.wait(max(0.0, self._due - self._clocks.steady())):
            self.look()

    def _look(self, *, closely: bool) -> None:
        if self._differences is None:
            self._first()
            return
        try:
            tick = self._tick(self._differences, closely=closely)
        except _FAILURES as cause:
            self._fail(cause)
            return
        self._whole = tick if self._whole is None else merged(self._whole, tick)
        self._series.add(tick)
        self._write(tick)

    def _first(self) -> None:
        try:
            self._differences = Differences(self._probe.read())
        except _FAILURES as cause:
            self._fail(cause)

    def _fail(self, cause: Exception) -> None:
        self._failed += 1
        self._trouble["some looks"] = f"{type(cause).__name__}: {cause}"
        self._due = self._clocks.steady() + self.interval

    def _tick(self, differences: Differences, *, closely: bool) -> Tick:
        clocks = self._clocks
        found = differences.until(self._probe.read(closely=closely))
        wall, steady = clocks.wall(), clocks.steady()
        seconds = steady - self._steady
        jump = (wall - self._wall) - seconds
        missed = self._advance(steady)
        tick = Tick(
            first=self._number,
            last=self._number,
            time=wall,
            seconds=seconds,
            sums={**found.sums, **self._worked(), "sampler": self._own},
            gauges=found.gauges,
            peaks={},
            cores=found.cores,
            processes=busiest(found.processes),
            missed=missed,
            jumped=jump if abs(jump) > _JUMP_SECONDS else 0.0,
        )
        self._wall, self._steady, self._own = wall, steady, 0.0
        self._number += 1
        tick = single(tick)
        return replace(tick, peaks={**tick.peaks, **self._window.rates(tick)})

    def _advance(self, now: float) -> int:
        """When the next look is due, and how many before it came too late to be made."""
        if now < self._due:
            return 0
        missed = int((now - self._due) / self.interval)
        self._due += (missed + 1) * self.interval
        return missed

    def _worked(self) -> dict[str, float]:
        done = dict(self.progress())
        worked = {name: count - self._done.get(name, 0) for name, count in done.items()}
        self._done = done
        return worked

    def _write(self, tick: Tick) -> None:
        if self._log is None:
            return
        try:
            self._log.append(tick)
        except (OSError, RunError) as cause:
            self._unwritten += 1
            self._trouble["some ticks on disk"] = str(cause)

    def _let_go(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()


class _Window:
    """Short ticks added up until they are long enough for a rate."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._sums: dict[str, float] = {}

    def rates(self, tick: Tick) -> dict[str, float]:
        """The rates of a stretch that this tick completes; none where it completes none, or is one by itself."""
        if tick.seconds < RATE_SECONDS:
            self._seconds += tick.seconds
            self._sums = {name: self._sums.get(name, 0) + value for name, value in tick.sums.items()}
            if self._seconds < RATE_SECONDS:
                return {}
        found = rates(self._sums, self._seconds)
        self._seconds, self._sums = 0.0, {}
        return found if tick.seconds < RATE_SECONDS else {}


def own_sampler(*, interval: float = 1.0, share: float = LIGHT_SHARE, watcher: bool = False) -> Sampler:
    """A sampler of this process and all that it starts, or with `watcher` only of what it starts."""
    return Sampler(open_probe(os.getpid(), share=share, watcher=watcher), interval=interval)
