"""A process that loads what workers need once, and forks them, so that they share the memory it takes.

It is started as a fresh interpreter which never looks at the program's `__main__`: a notebook, a prompt and a script
without a main guard can all have workers.
"""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from headway.errors import HeadwayError
from headway.feed.feed import Feed
from headway.run.launch.messages import Ask, Broken, Ended, Job, Prepare, Ready, Refused, Wire
from headway.run.launch.worker import work

_LOOK_SECONDS = 1.0


def main(control: int, workers: Sequence[int]) -> None:
    """Serve one pool until it closes its end of the sockets, or dies."""
    # The terminal sends its Ctrl-C to every process, a service manager its SIGTERM; only the pool's owner decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Nothing of what is loaded here is garbage; looking for some would take a tenth of the time.
    gc.disable()
    wire = Wire(control)
    server = Server(wire, parent=os.getppid())
    try:
        server.launch([Wire(descriptor) for descriptor in workers])
        server.serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except HeadwayError as error:
        with suppress(OSError):
            wire.send(Refused.of(error))
    except Exception:  # noqa: BLE001 - the outermost frame: the pool's owner shows it
        with suppress(OSError):
            wire.send(Broken(traceback.format_exc()))
    finally:
        server.close()


class Server:
    """The workers of one pool; none outlives it."""

    def __init__(self, wire: Wire, *, parent: int) -> None:
        self._wire = wire
        self._parent = parent
        self._alive: list[int] = []

    def launch(self, wires: list[Wire]) -> None:
        """Load what workers need, wait for the job, then fork the workers it asks for."""
        early: Prepare = self._next()
        if early.prepare is not None:
            early.prepare(early.section)
        job: Job = self._next()
        feed = Feed.from_spec(job.feed)
        if early.prepare is not None:
            early.prepare(early.section, feed.dataset.dtype)
        # Laid out here, so that the offsets of a large dataset exist once and not once per worker.
        feed.total_batches  # noqa: B018
        # Frozen: otherwise the first collection in each worker would copy every page it shares.
        gc.freeze()
        for rank in range(job.workers):
            self._alive.append(self._fork(wires, rank, job, feed))
        for wire in wires:
            wire.close()
        self._wire.send(Ready(tuple(self._alive)))

    def serve(self) -> None:
        """Answer questions about workers until the pool is gone."""
        while True:
            self._wire.send(Ended(self._wait(self._next())))

    def _next(self) -> Any:
        """The next message; `EOFError` once the pool's owner is gone."""
        while not self._wire.poll(_LOOK_SECONDS):
            # Another child of a killed parent can hold a copy of the socket, which then never closes.
            if os.getppid() != self._parent:
                raise EOFError
        return self._wire.recv()

    def close(self) -> None:
        """End every worker."""
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)
        for pid in self._alive:
            os.waitpid(pid, 0)
        self._alive = []

    def _wait(self, ask: Ask) -> int | None:
        if ask.pid not in self._alive:
            return None
        self._alive.remove(ask.pid)
        return os.waitstatus_to_exitcode(os.waitpid(ask.pid, 0)[1])

    def _fork(self, wires: list[Wire], rank: int, job: Job, feed: Feed) -> int:
        server = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            gc.enable()
            self._wire.close()
            for other, wire in enumerate(wires):
                if other != rank:
                    wire.close()
            code = work(wires[rank], job, feed, rank=rank, server=server)
        finally:
            # Never back into the server's frames, whatever happened.
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)
