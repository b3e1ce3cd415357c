"""The probe that fits this system."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from headway.record.probes.gpus import Gpus, open_gpus
from headway.record.probes.host import SYS, Host
from headway.record.probes.processes import PROC, ProcessTree
from headway.record.probes.reading import Probe, Reading

LIGHT_SHARE = 0.0005
"""Of the time, for each of the expensive looks; what is always on has to be cheap."""
FULL_SHARE = 0.01


class LinuxProbe:
    """Processes, host and GPUs of a Linux machine."""

    def __init__(self, processes: ProcessTree, host: Host, gpus: Callable[[], Gpus]) -> None:
        self._processes = processes
        self._host = host
        self._open = gpus
        self._gpus: Gpus | None = None
        self._first = True

    @property
    def absent(self) -> Mapping[str, str]:
        """What cannot be read here, each with its reason."""
        return self._processes.absent | self._host.absent | _why(self._gpus)

    def read(self, *, closely: bool = False) -> Reading:
        """Look once; the first look is where a run waits, so it leaves the GPUs out."""
        if self._first:
            self._first = False
        elif self._gpus is None:
            self._gpus = self._open()
        return Reading(
            self._processes.read(closely=closely), self._host.read(), () if self._gpus is None else self._gpus.read()
        )

    def close(self) -> None:
        """Let go of what is open."""
        self._processes.close()
        self._host.close()
        if self._gpus is not None:
            self._gpus.close()


class PsutilProbe:
    """The same elsewhere."""

    def __init__(self, root: int, *, timer: Callable[[], float], share: float, watcher: bool) -> None:
        # Not needed where there is /proc.
        from headway.record.probes.elsewhere import Elsewhere

        self._elsewhere = Elsewhere(root, timer=timer, share=share, watcher=watcher)
        self._gpus: Gpus | None = None

    @property
    def absent(self) -> Mapping[str, str]:
        """What cannot be read here, each with its reason."""
        return self._elsewhere.absent | _why(self._gpus)

    def read(self, *, closely: bool = False) -> Reading:
        """Look once; nothing expensive is known here."""
        del closely
        self._gpus = self._gpus or open_gpus()
        return Reading(self._elsewhere.processes(), self._elsewhere.host(), self._gpus.read())

    def close(self) -> None:
        """Let go of what is open."""
        if self._gpus is not None:
            self._gpus.close()


def open_probe(
    root: int,
    *,
    share: float = LIGHT_SHARE,
    watcher: bool = False,
    proc: Path = PROC,
    timer: Callable[[], float] = time.perf_counter,
) -> Probe:
    """What reads a process, all it starts, and the machine; `share` of the time may go into each expensive look.

    With `watcher`, the process itself is left out.
    """
    if not (proc / "self" / "stat").exists():
        return PsutilProbe(root, timer=timer, share=share, watcher=watcher)
    tree = ProcessTree(root, proc=proc, timer=timer, share=share, watcher=watcher)
    return LinuxProbe(tree, Host(proc=proc, sys=SYS), open_gpus)


def _why(gpus: Gpus | None) -> dict[str, str]:
    return {} if gpus is None or gpus.absent is None else {"gpu": gpus.absent}
