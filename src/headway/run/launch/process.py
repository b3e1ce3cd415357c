"""The fork server as the pool's owner sees it: started early, asked for workers later, ended with certainty."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping

from headway.errors import RunError
from headway.run.launch.messages import Ask, Broken, Ended, Job, Prepare, Ready, Refused, Wire

_PROGRAM = (
    "import sys; _, path, control, *wires = sys.argv; sys.path[:] = path.split(chr(10)); "
    "from headway.run.launch.server import main; main(int(control), [int(wire) for wire in wires])"
)
# One process per worker is the parallelism; libraries that start threads of their own would also not survive a fork.
_ONE_THREAD = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_FAREWELL_SECONDS = 5.0


class Servant:
    """A running fork server and the wires to its future workers, of which a job may use fewer."""

    def __init__(self, prepare: Prepare, *, workers: int) -> None:
        if not hasattr(os, "fork") or not sys.executable:
            raise RunError("several workers need a system that can fork and a Python executable; use workers = 1")
        self._control, theirs = _pair()
        pairs = [_pair() for _ in range(workers)]
        self.wires = [ours for ours, _ in pairs]
        given = [theirs, *(worker for _, worker in pairs)]
        self._process = _start([wire.fileno() for wire in given])
        for wire in given:
            wire.close()
        self._workers: tuple[int, ...] = ()
        self._control.send(prepare)

    def begin(self, job: Job) -> None:
        """Have the workers forked for a job, as soon as the server has loaded what they need."""
        for wire in self.wires[job.workers :]:
            wire.close()
        del self.wires[job.workers :]
        try:
            self._control.send(job)
        except OSError:
            # It is gone, or said why it goes: `ready` tells.
            return

    @property
    def pids(self) -> tuple[int, ...]:
        """Every process of the pool, this one included."""
        return (os.getpid(), self._process.pid, *self._workers)

    def ready(self) -> tuple[int, ...]:
        """Wait until the workers exist; their process ids."""
        if self._workers:
            return self._workers
        try:
            answer: Ready | Refused | Broken = self._control.recv()
        except (EOFError, OSError) as cause:
            code = self._process.wait(_FAREWELL_SECONDS)
            raise RunError(f"the fork server ended with code {code} before the first step; try workers = 1") from cause
        match answer:
            case Ready(pids):
                self._workers = pids
                return pids
            case Refused():
                raise answer.error()
            case Broken(traceback):
                raise RuntimeError(f"the fork server met a bug:\n\n{traceback}")

    def ending(self, pid: int) -> int | None:
        """How a worker ended: an exit code, a negative signal number, or None when nobody can tell."""
        try:
            self._control.send(Ask(pid))
            answer: Ended = self._control.recv()
        except (EOFError, OSError):
            return None
        return answer.code

    def close(self) -> None:
        """End the server and its workers; harmless when repeated."""
        for wire in (*self.wires, self._control):
            wire.close()
        try:
            # Told by its closed socket, it ends its workers and waits for them, so that none is left behind.
            self._process.wait(_FAREWELL_SECONDS if self._workers else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _start(wires: list[int]) -> subprocess.Popen[bytes]:
    path = "\n".join(os.path.abspath(entry) for entry in sys.path)  # noqa: PTH100 - "" means the current folder here
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, path, *map(str, wires)],
        pass_fds=wires,
        # Its own group: the terminal's Ctrl-C is for the owner alone, which finishes the step and saves.
        process_group=0,
        stdin=subprocess.DEVNULL,
        # Whatever a library prints there would end up between the lines of --json.
        stdout=subprocess.DEVNULL,
        env=environment(os.environ),
    )


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of workers: one thread each, unless the user decided otherwise."""
    return {**_ONE_THREAD, **given}


def _pair() -> tuple[Wire, Wire]:
    ours, theirs = socket.socketpair()
    return Wire(ours.detach()), Wire(theirs.detach())
