"""The builder's side of its workers: a process, a connection and a thread for each."""

from __future__ import annotations

import signal
import subprocess
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

from headway.data.engine_check import Choice
from headway.data.shards import Job, Marker
from headway.data.worker import Check, Failure, Message, Ready, Start, command
from headway.errors import RunError

Outcome = Marker | Choice | BaseException
_GOODBYE_SECONDS = 10.0


class Crew:
    """Workers that take jobs from a common list until it is empty, and report each finished shard."""

    def __init__(self, *, lock: int, jobs: deque[Job], outcomes: SimpleQueue[Outcome]) -> None:
        self._lock = lock
        self._jobs = jobs
        self._outcomes = outcomes
        self._workers: list[tuple[subprocess.Popen[bytes], Connection, Thread]] = []

    def hire(self, order: Start | Check) -> None:
        """Start a process for this order; it holds the builder's lock as long as it lives."""
        ours, theirs = Pipe()
        # A group of its own: Ctrl-C at the terminal is the builder's to answer.
        process = subprocess.Popen(command(theirs.fileno()), pass_fds=(theirs.fileno(), self._lock), process_group=0)
        theirs.close()
        thread = Thread(target=self._attend, args=(process, ours, order), daemon=True, name="build-worker")
        self._workers.append((process, ours, thread))
        thread.start()

    def is_at_work(self) -> bool:
        """Whether any process may still report something."""
        return any(thread.is_alive() for _, _, thread in self._workers)

    def close(self) -> None:
        """End every worker at once and wait for it."""
        for process, _, _ in self._workers:
            process.kill()
        for process, connection, thread in self._workers:
            process.wait()
            thread.join(_GOODBYE_SECONDS)
            connection.close()
        self._workers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _attend(self, process: subprocess.Popen[bytes], connection: Connection, order: Start | Check) -> None:
        job: Job | None = None
        try:
            connection.send(order)
            while True:
                message: Message = connection.recv()
                if isinstance(message, Ready):
                    job = self._next()
                    connection.send(job)
                elif isinstance(message, Failure):
                    self._outcomes.put(_error(message))
                    return
                else:
                    self._outcomes.put(message)
        except (EOFError, OSError):
            status = process.wait()
            if status:
                self._outcomes.put(_death(process, status, job))

    def _next(self) -> Job | None:
        try:
            return self._jobs.popleft()
        except IndexError:
            return None


def _error(failure: Failure) -> BaseException:
    if failure.kind is None:
        return RuntimeError(f"a build worker failed:\n{failure.message}")
    return failure.kind(failure.message)


def _death(process: subprocess.Popen[bytes], status: int, job: Job | None) -> RunError:
    how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit code {status}"
    where = f" while it tokenised {job.parts[0].source.name}" if job else ""
    hint = "; the machine may have run out of memory: try fewer workers" if status == -signal.SIGKILL else ""
    return RunError(
        f"build worker {process.pid} {how}{where}{hint}; complete shards are kept, run the same command to continue"
    )
