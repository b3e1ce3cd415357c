"""Processes and their machine through psutil, where there is no /proc: less is told there, and it costs more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psutil

from headway.record.probes.rarely import Rarely
from headway.record.probes.reading import HostReading, ProcessReading, Transfers

_ABSENT = {
    "run queue": "only Linux tells how long processes wait for a core",
    "pressure": "only Linux tells what work stands still for",
    "memory with shared pages counted once": "only Linux tells it at a bearable cost",
}


class Elsewhere:
    """A process and its descendants, and the machine."""

    def __init__(self, root: int, *, timer: Callable[[], float], share: float, watcher: bool = False) -> None:
        self.absent = dict(_ABSENT)
        self._members: dict[int, psutil.Process] = {}
        self._root = root
        self._watcher = root if watcher else None
        self._look = Rarely(least=0.05, share=share, timer=timer, most=2.0)

    def processes(self) -> list[ProcessReading]:
        """All that live."""
        if self._look.due():
            with self._look.spending():
                self._find()
        found = [self._read(member) for member in [*self._members.values()]]
        return [reading for reading in found if reading is not None]

    def host(self) -> HostReading:
        """The machine now; an OSError where it may not be looked at."""
        try:
            memory, disk, network = psutil.virtual_memory(), psutil.disk_io_counters(), psutil.net_io_counters()
        except psutil.Error as cause:
            raise OSError(str(cause)) from cause
        if disk is None:
            self.absent["disks of the host"] = "no disk is visible from here"
        return HostReading(
            cores=[_core(times) for times in psutil.cpu_times(percpu=True)],
            memory_total=memory.total,
            memory_available=memory.available,
            disk=None if disk is None else _transfers(disk),
            sent_bytes=network.bytes_sent,
            received_bytes=network.bytes_recv,
        )

    def _find(self) -> None:
        try:
            root = psutil.Process(self._root)
            found = [root, *root.children(recursive=True)]
        except psutil.Error:
            return
        for process in found:
            self._members.setdefault(process.pid, process)

    def _read(self, process: psutil.Process) -> ProcessReading | None:
        try:
            with process.oneshot():
                times, memory = process.cpu_times(), process.memory_info()
                return ProcessReading(
                    pid=process.pid,
                    born=process.create_time(),
                    name=process.name(),
                    parent=process.ppid(),
                    cpu=times.user + times.system,
                    resident=memory.rss,
                    threads=process.num_threads(),
                    disk=self._disk(process),
                    watcher=process.pid == self._watcher,
                )
        except psutil.NoSuchProcess:
            self._members.pop(process.pid, None)
        except psutil.AccessDenied:
            self.absent["processes"] = f"process {process.pid} of the run may not be looked at"
        return None

    def _disk(self, process: Any) -> Transfers | None:
        if not hasattr(process, "io_counters"):
            self.absent["disk of processes"] = "this system does not count it by process"
            return None
        try:
            return _transfers(process.io_counters())
        except psutil.AccessDenied:
            self.absent["disk of processes"] = "io_counters of some process may not be read"
            return None


def _core(times: Any) -> tuple[float, float]:
    idle = times.idle + getattr(times, "iowait", 0.0)
    return sum(times[:8]) - idle, idle


def _transfers(counts: Any) -> Transfers:
    return Transfers(counts.read_bytes, counts.write_bytes, counts.read_count, counts.write_count)
