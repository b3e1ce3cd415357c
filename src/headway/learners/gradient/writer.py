"""Writing beside the training: a thread, a fixed number of places for what it has not written yet, nothing lost.

A job that waits is replaced only by a newer one of its own kind (`lane`), and that is counted. With no place free the
caller waits. What goes wrong is raised at the caller's next word.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Condition

from headway.errors import RunError
from headway.learners.gradient.statistics import Statistics, Tally


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be written; `write` returns when it is durable, with its bytes on the disk."""

    name: str
    lane: str
    write: Callable[[], int]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class _Waiting:
    room: int
    job: Job


class Writer:
    """Writes jobs one after the other: the highest priority first, then the oldest."""

    def __init__(self, rooms: int, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._changed = Condition()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headway-save")
        self._free = list(range(rooms))
        self._waiting: list[_Waiting] = []
        self._running: Job | None = None
        self._error: BaseException | None = None
        self._tally = Tally(clock)
        self._closed = False

    def enter(self, lane: str) -> int:
        """A room to prepare a job in; waits for one. It may be that of a job of this lane that nobody began."""
        began = self._clock()
        with self._changed:
            if self._closed:
                raise RunError("nothing more can be saved: the writer was closed; save before closing")
            self._complain()
            if not self._can_enter(lane):
                self._changed.wait_for(lambda: self._can_enter(lane))
                self._tally.waiting.add(self._clock() - began)
                self._complain()
            return self._free.pop() if self._free else self._take_over(lane)

    def leave(self, room: int) -> None:
        """Give back a room that nothing was prepared in."""
        with self._changed:
            self._free.append(room)
            self._changed.notify_all()

    def submit(self, room: int, job: Job, *, since: float, wait: bool = False) -> None:
        """Have a job written, in place of the one of its lane that nobody began, if there is one.

        The caller has been held up `since` then; with `wait`, it is until everything accepted is durable.
        """
        with self._changed:
            if self._find(job.lane) is not None:
                self._free.append(self._take_over(job.lane))
            self._waiting.append(_Waiting(room, job))
            self._tally.accepted += 1
            if not wait:
                # Here, since the lock is the thread's as soon as it has something to do.
                self._tally.blocking.add(self._clock() - since)
            self._thread.submit(self._work)
        if wait:
            self.wait()
            with self._changed:
                self._tally.blocking.add(self._clock() - since)

    def wait(self, timeout: float | None = None) -> None:
        """Return when everything accepted is durable; a RunError names what is not when the time is up."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._pending(), timeout):
                names = ", ".join(job.name for job in self._pending())
                raise RunError(
                    f"not durable after {timeout:g} seconds: {names}; wait longer, or look at the disk: it may be busy"
                )
            self._complain()

    def close(self) -> None:
        """Write what was accepted, end the thread, raise what went wrong; harmless when repeated."""
        with self._changed:
            self._changed.wait_for(lambda: not self._pending())
            self._closed = True
        self._thread.shutdown(wait=True)
        with self._changed:
            self._complain()

    def statistics(self) -> Statistics:
        """What was done so far."""
        with self._changed:
            return self._tally.statistics(len(self._pending()))

    def _can_enter(self, lane: str) -> bool:
        return bool(self._free) or self._find(lane) is not None

    def _find(self, lane: str) -> _Waiting | None:
        return next((each for each in self._waiting if each.job.lane == lane), None)

    def _take_over(self, lane: str) -> int:
        replaced = self._find(lane)
        assert replaced is not None
        self._waiting.remove(replaced)
        self._tally.coalesced += 1
        return replaced.room

    def _pending(self) -> list[Job]:
        return [*filter(None, [self._running]), *(each.job for each in self._waiting)]

    def _complain(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _work(self) -> None:
        chosen = self._begin()
        if chosen is None:
            return
        began = self._clock()
        size: int | None = None
        try:
            size = chosen.job.write()
        except BaseException as error:
            # For the caller's next word; the future that it ends up in as well is read by nobody.
            with self._changed:
                self._error = self._error or error
            raise
        finally:
            self._end(chosen, size, self._clock() - began)

    def _begin(self) -> _Waiting | None:
        """The job to write next; None where a job was replaced, and the newer one is written already."""
        with self._changed:
            if not self._waiting:
                return None
            chosen = max(self._waiting, key=lambda each: each.job.priority)
            self._waiting.remove(chosen)
            self._running = chosen.job
            return chosen

    def _end(self, chosen: _Waiting, size: int | None, seconds: float) -> None:
        with self._changed:
            self._running = None
            self._free.append(chosen.room)
            if size is None:
                self._tally.failed += 1
            else:
                self._tally.wrote(size, seconds)
            self._changed.notify_all()
