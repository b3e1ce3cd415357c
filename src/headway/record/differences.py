"""From two readings to what happened between them: counters become differences, and nothing that ended is lost.

A process that ends is missing in the next reading. What it still did by then arrives as the time of its parent's
children who were waited for, from which what was counted of it already is taken off. That, and what a process did
before it was seen, is `cpu_late`: time that belongs to the run, but not to this stretch of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.record.probes.reading import GpuReading, HostReading, ProcessReading, Reading, Transfers
from headway.record.tick import Share

_Key = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """What happened between two readings, and what was held at the second."""

    sums: Mapping[str, float]
    gauges: Mapping[str, float]
    cores: tuple[float, ...]
    processes: Mapping[str, Share]


class Differences:
    """Remembers the last reading."""

    def __init__(self, reading: Reading) -> None:
        self._host = reading.host
        self._known = {_key(process): process for process in reading.processes}
        self._since = max((process.born for process in reading.processes), default=0.0)
        # Of children that ended: how much of them was counted before their parent reaped it.
        self._credit: dict[int, float] = {}
        roots = (process for process in reading.processes if not process.watcher)
        self._root: _Key | None = next((_key(process) for process in roots), None)

    def until(self, reading: Reading) -> Difference:
        """What happened since the last reading, which this one replaces."""
        self._count_ended(reading.processes)
        sums: dict[str, float] = {"cpu": 0.0}
        processes: dict[str, Share] = {}
        for process in reading.processes:
            before = self._known.get(_key(process), self._beginning(process))
            own, reaped = self._cpu(before, process)
            cpu = own + reaped
            sums["cpu"] += cpu
            late = cpu if before.cpu == 0.0 and _key(process) not in self._known else reaped
            if late:
                sums["cpu_late"] = sums.get("cpu_late", 0.0) + late
            if process.watcher:
                continue
            _add_process(sums, before, process)
            processes[f"{process.pid} {process.name}"] = Share(cpu, process.resident)
        if self._root is not None:
            _add_first_thread(sums, self._known.get(self._root), reading.processes, self._root)
        _add_host(sums, self._host, reading.host)
        cores = _shares(self._host.cores, reading.host.cores)
        self._known = {_key(process): process for process in reading.processes}
        self._host = reading.host
        return Difference(sums, _gauges(reading), cores, processes)

    def _beginning(self, process: ProcessReading) -> ProcessReading:
        """What a process that is seen for the first time is compared with: its own birth, if we could have seen it."""
        if process.born < self._since:
            return process
        nothing = Transfers(0, 0, 0, 0)
        return ProcessReading(
            pid=process.pid,
            born=process.born,
            name=process.name,
            parent=process.parent,
            watcher=process.watcher,
            cpu=0.0,
            resident=0,
            threads=0,
            waited=None if process.waited is None else 0.0,
            disk=None if process.disk is None else nothing,
        )

    def _count_ended(self, processes: Sequence[ProcessReading]) -> None:
        there = {_key(process) for process in processes}
        for key, process in self._known.items():
            if key not in there:
                counted = process.cpu + process.reaped
                self._credit[process.parent] = self._credit.get(process.parent, 0.0) + counted
        parents = {process.pid for process in processes}
        self._credit = {pid: seconds for pid, seconds in self._credit.items() if pid in parents}

    def _cpu(self, before: ProcessReading, now: ProcessReading) -> tuple[float, float]:
        """Its own time on a core, and what its ended children had that nobody counted."""
        own = 0.0 if now.watcher else max(0.0, now.cpu - before.cpu)
        reaped = max(0.0, now.reaped - before.reaped)
        if not reaped:
            return own, 0.0
        credit = self._credit.pop(now.pid, 0.0)
        if credit > reaped:
            self._credit[now.pid] = credit - reaped
        return own, max(0.0, reaped - credit)


def _key(process: ProcessReading) -> _Key:
    return process.pid, process.born


def _add_process(sums: dict[str, float], before: ProcessReading, now: ProcessReading) -> None:
    if now.waited is not None and before.waited is not None:
        sums["waited"] = sums.get("waited", 0.0) + max(0.0, now.waited - before.waited)
    _add_transfers(sums, before.disk, now.disk, prefix="")


def _add_first_thread(
    sums: dict[str, float], before: ProcessReading | None, processes: Sequence[ProcessReading], root: _Key
) -> None:
    now = next((process for process in processes if _key(process) == root), None)
    if now is None or now.first_thread is None or before is None or before.first_thread is None:
        return
    names = ("first_thread_cpu", "first_thread_waited")
    for name, earlier, later in zip(names, before.first_thread, now.first_thread, strict=True):
        sums[name] = max(0.0, later - earlier)


def _add_host(sums: dict[str, float], before: HostReading, now: HostReading) -> None:
    _add_transfers(sums, before.disk, now.disk, prefix="host_")
    for name in ("sent_bytes", "received_bytes", "loopback_bytes"):
        earlier, later = getattr(before, name), getattr(now, name)
        if earlier is not None and later is not None:
            # A device that went took its count along.
            sums[name] = max(0, later - earlier)
    for name, seconds in now.pressure.items():
        if name in before.pressure:
            sums[f"pressure_{name}"] = max(0.0, seconds - before.pressure[name])


def _add_transfers(sums: dict[str, float], before: Transfers | None, now: Transfers | None, *, prefix: str) -> None:
    if before is None or now is None:
        return
    for name in ("read_bytes", "written_bytes", "reads", "writes"):
        happened = max(0, getattr(now, name) - getattr(before, name))
        sums[prefix + name] = sums.get(prefix + name, 0) + happened


def _shares(before: Sequence[tuple[float, float]], now: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Busy shares of the cores; none where cores came or went in between, or no time passed."""
    if len(before) != len(now):
        return ()
    return tuple(_share(*pair) for pair in zip(before, now, strict=True))


def _share(before: tuple[float, float], now: tuple[float, float]) -> float:
    busy, idle = (max(0.0, later - earlier) for earlier, later in zip(before, now, strict=True))
    return busy / (busy + idle) if busy + idle else 0.0


def _gauges(reading: Reading) -> dict[str, float]:
    processes, host = [process for process in reading.processes if not process.watcher], reading.host
    found: dict[str, float] = {"processes": len(processes)}
    if processes:
        found["rss"] = sum(process.resident for process in processes)
        found["threads"] = sum(process.threads for process in processes)
    weighed = [process.shared_once for process in processes]
    known = [size for size in weighed if size is not None]
    if known and len(known) == len(weighed):
        found["pss"] = sum(known)
    if host.memory_total and host.memory_available is not None:
        found["host_memory"] = host.memory_total - host.memory_available
        found["host_memory_share"] = found["host_memory"] / host.memory_total
    for number, gpu in enumerate(reading.gpus):
        found |= _of_gpu(gpu, f"gpu{number}_")
    return found


def _of_gpu(gpu: GpuReading, prefix: str) -> dict[str, float]:
    figures = {
        "busy": gpu.busy,
        "cores_active": gpu.cores_active,
        "memory": gpu.memory,
        "watts": gpu.watts,
        "megahertz": gpu.megahertz,
    }
    return {prefix + name: value for name, value in figures.items() if value is not None}
