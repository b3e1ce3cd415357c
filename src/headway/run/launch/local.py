"""Many merge learners on one machine, seen by the loop as one.

Pool (this process) -- Learn, Flush --> worker 1..N    each learns batches by position, all from the same Feed
  |  the head adopts what workers flushed, and saves
  +-- Ask --> fork server                              loads everything once, forks the workers
"""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal

from headway.errors import RunError
from headway.feed.batch import Batch
from headway.learners.base import MergeLearner, Metrics, Part
from headway.plan.values import Position, add_metrics
from headway.run.budget import for_worker, resident
from headway.run.launch.messages import Begin, Broken, Flush, Flushed, Learn, Learned, Refused, Wire
from headway.run.launch.process import Servant


class WorkerError(RuntimeError):
    """A bug met in a worker; the message holds its traceback."""


@dataclass(slots=True, eq=False)
class _Worker:
    """One worker as the pool knows it."""

    rank: int
    pid: int
    wire: Wire
    busy: bool = False
    unflushed: bool = False


class Pool:
    """N workers and a head behind the Learner protocol; exact, since parts add up in any order."""

    parallel: Literal["merge", "lockstep", "single"] = "merge"

    def __init__(
        self,
        head: MergeLearner,
        servant: Servant,
        *,
        memory: int,
        batches: int = 0,
        span: Callable[[str, float], None] | None = None,
    ) -> None:
        """`batches` is what workers hold of batches, in bytes; `span` hears how long each stage of a worker took."""
        self._head = head
        self._servant = servant
        self._memory = memory
        self._batches = batches
        self._span = span
        self._workers: list[_Worker] = []
        self._metrics: Metrics = {}

    def step(self, batch: Batch) -> Metrics:
        """Hand a batch to the next free worker; the metrics of batches that became ready meanwhile."""
        worker = self._free()
        self._send(worker, Learn(batch.position))
        worker.busy = worker.unflushed = True
        return self.leftover()

    def save(self, folder: Path, position: Position) -> Position | None:
        """Wait for all, adopt what they learned, and save it with the position."""
        self._head.adopt(self._flushed())
        return self._head.save(folder, position)

    def settle(self) -> None:
        """Wait until what the head saved is durable."""
        self._head.settle()

    def restore(self, folder: Path) -> Position | None:
        """Take up the state saved in a folder."""
        return self._head.restore(folder)

    def finish(self) -> None:
        """Adopt what is still with the workers and complete it."""
        self._head.adopt(self._flushed())
        self._head.finish()

    def totals(self) -> dict[str, Any]:
        """Facts of the saved state."""
        return self._head.totals()

    def leftover(self) -> Metrics:
        """The metrics that no step has returned yet."""
        metrics, self._metrics = self._metrics, {}
        return metrics

    def close(self) -> None:
        """End the workers at once; what they had not flushed is lost. Harmless when repeated."""
        self._servant.close()
        self._workers = []
        self._head.close()

    def _start(self) -> None:
        pids = self._servant.ready()
        self._workers = [
            _Worker(rank, pid, wire) for rank, (pid, wire) in enumerate(zip(pids, self._servant.wires, strict=True))
        ]
        held = resident(self._servant.pids) + self._batches
        for worker in self._workers:
            self._send(worker, Begin(for_worker(self._memory, held, len(self._workers))))

    def _free(self) -> _Worker:
        if not self._workers:
            self._start()
        while True:
            for worker in self._workers:
                if not worker.busy:
                    return worker
            self._receive([worker for worker in self._workers if worker.busy])

    def _flushed(self) -> list[Part]:
        # Asked before they are done: who ends its batch first writes while the others still learn.
        asked = [worker for worker in self._workers if worker.unflushed]
        for worker in asked:
            self._send(worker, Flush())
            worker.unflushed, worker.busy = False, True
        parts: dict[int, Part] = {}
        while len(parts) < len(asked):
            parts |= self._receive([worker for worker in asked if worker.rank not in parts])
        # In the order of workers, not of arrival: the same run writes the same manifest.
        return [parts[rank] for rank in sorted(parts)]

    def _receive(self, workers: Sequence[_Worker]) -> dict[int, Part]:
        """Take in what workers have to say, waiting until at least one speaks; the parts among it by rank."""
        ready = set(wait([worker.wire for worker in workers]))
        parts: dict[int, Part] = {}
        for worker in workers:
            if worker.wire in ready:
                self._take(worker, parts)
        return parts

    def _take(self, worker: _Worker, parts: dict[int, Part]) -> None:
        try:
            message: Learned | Flushed | Refused | Broken = worker.wire.recv()
        except (EOFError, OSError) as cause:
            raise self._death(worker) from cause
        match message:
            case Learned(metrics, seconds):
                self._tell(seconds)
                add_metrics(self._metrics, metrics)
                # After a Flush was sent, the answer to the batch before it does not make the worker free.
                worker.busy = not worker.unflushed
            case Flushed(part, seconds):
                self._tell(seconds)
                parts[worker.rank] = part
                worker.busy = False
            case Refused():
                raise message.error()
            case Broken(traceback):
                raise WorkerError(f"worker {worker.rank + 1} met a bug:\n\n{traceback}")

    def _tell(self, seconds: Mapping[str, float]) -> None:
        if self._span is not None:
            for name, each in seconds.items():
                self._span(name, each)

    def _send(self, worker: _Worker, message: Begin | Learn | Flush) -> None:
        try:
            worker.wire.send(message)
        except OSError as cause:
            if worker.wire.poll():
                # It said why before it went.
                self._take(worker, {})
            raise self._death(worker) from cause

    def _death(self, worker: _Worker) -> RunError:
        code = self._servant.ending(worker.pid)
        return RunError(
            f"worker {worker.rank + 1} (process {worker.pid}) {_said(code)}; "
            "everything up to the last save is safe: continue with the same command"
        )


def _said(code: int | None) -> str:
    if code is None:
        return "ended, and its fork server with it"
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    hint = (
        " (the system does that when memory runs out: lower the plan's memory or workers)" if name == "SIGKILL" else ""
    )
    return f"was ended by {name}{hint}"
