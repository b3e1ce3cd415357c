"""A process and all that it started, read from Linux's /proc."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from headway.record.probes.files import KeptFile, Room
from headway.record.probes.rarely import Rarely
from headway.record.probes.reading import ProcessReading, Transfers

PROC = Path("/proc")
_NANO = 1e-9
# Every so many looks for new processes those who were strangers are asked again: numbers are used again.
_STRANGERS_FORGOTTEN = 16
# However costly: a worker that nobody saw for longer would be missing in what a run held.
_LEAST_SECONDS, _MOST_SECONDS = 0.05, 2.0
# What counting shared pages once takes at least; with the share of the time it says how often that is asked.
_WEIGHING_SECONDS = 0.005
Absences = dict[str, str]


class ProcessTree:
    """Reads a process and its descendants; one that was seen stays in the tree when its parent ends before it."""

    def __init__(
        self, root: int, *, proc: Path, timer: Callable[[], float], share: float, watcher: bool = False
    ) -> None:
        """A `watcher` is a root that counts for nothing itself."""
        self.absent: Absences = {}
        self._proc = proc
        self._room = Room()
        self._members: dict[int, _Member] = {}
        self._strangers: set[int] = set()
        self._looks = 0
        self._root = root
        self._watcher = root if watcher else None
        self._look = Rarely(least=_LEAST_SECONDS, share=share, timer=timer, most=_MOST_SECONDS)
        self._weigh = Rarely(least=_WEIGHING_SECONDS / share, share=share, timer=timer, at_once=False)

    def read(self, *, closely: bool = False) -> list[ProcessReading]:
        """All that live; who ended since the last time is missing. Closely, nobody new and no shared page is missed."""
        if closely or self._look.due():
            anew = self._looks % _STRANGERS_FORGOTTEN == 0
            with self._look.spending(usual=not anew):
                self._find(anew=anew)
        if not closely and not self._weigh.due():
            return self._read(weigh=False)
        with self._weigh.spending():
            return self._read(weigh=True)

    def close(self) -> None:
        """Let go of every file."""
        for pid in [*self._members]:
            self._forget(pid)

    def _read(self, *, weigh: bool) -> list[ProcessReading]:
        found: list[ProcessReading] = []
        for pid, member in [*self._members.items()]:
            reading = member.read(self.absent, weigh=weigh)
            if reading is None:
                self._forget(pid)
            else:
                found.append(replace(reading, watcher=True) if pid == self._watcher else reading)
        return found

    def _forget(self, pid: int) -> None:
        self._members.pop(pid).close()

    def _find(self, *, anew: bool) -> None:
        """Take in whoever is new; who is known to be somebody else's is not asked again, unless anew."""
        if anew:
            self._strangers.clear()
        self._looks += 1
        there = _numbers_in(self._proc)
        self._strangers &= there
        parents: dict[int, int] = {}
        for pid in there - self._strangers - self._members.keys():
            with suppress(OSError):
                parents[pid] = _parent((self._proc / str(pid) / "stat").read_bytes())
        self._adopt(parents)
        for member in self._members.values():
            member.find_threads()

    def _adopt(self, parents: dict[int, int]) -> None:
        ours = {*self._members, self._root}
        grown = True
        while grown:
            new = {pid for pid, parent in parents.items() if pid in ours or parent in ours} - self._members.keys()
            for pid in new:
                self._members[pid] = _Member(pid, self._proc / str(pid), self._room)
            ours |= new
            grown = bool(new)
        self._strangers |= parents.keys() - ours


class _Member:
    """One process, with its files kept open."""

    def __init__(self, pid: int, folder: Path, room: Room) -> None:
        self._pid = pid
        self._folder = folder
        self._room = room
        self._stat = KeptFile(folder / "stat", room)
        self._disk = KeptFile(folder / "io", room)
        self._threads: dict[int, KeptFile] = {}
        self._born: float | None = None

    def find_threads(self) -> None:
        """Follow threads that come and go."""
        try:
            there = _numbers_in(self._folder / "task")
        except OSError:
            return
        for gone in self._threads.keys() - there:
            self._threads.pop(gone).close()
        for new in there - self._threads.keys():
            self._threads[new] = KeptFile(self._folder / "task" / str(new) / "schedstat", self._room)

    def read(self, absent: Absences, *, weigh: bool) -> ProcessReading | None:
        """What it is at now; None once it has ended."""
        try:
            content = self._stat.read()
        except OSError:
            return None
        if not content:
            return None
        name, fields = _split(content)
        born = int(fields[19]) / _PER_SECOND
        if self._born is None:
            self._born = born
        if born != self._born:
            # Another process with the number of one that ended.
            return None
        first, waited = self._waits(absent)
        return ProcessReading(
            pid=self._pid,
            born=born,
            name=name,
            parent=int(fields[1]),
            cpu=(int(fields[11]) + int(fields[12])) / _PER_SECOND,
            reaped=(int(fields[13]) + int(fields[14])) / _PER_SECOND,
            resident=int(fields[21]) * _PAGE,
            threads=int(fields[17]),
            waited=waited,
            first_thread=first,
            shared_once=self._shared_once(absent) if weigh else None,
            disk=self._transfers(absent),
        )

    def close(self) -> None:
        """Let go of its files."""
        for file in (self._stat, self._disk, *self._threads.values()):
            file.close()

    def _waits(self, absent: Absences) -> tuple[tuple[float, float] | None, float | None]:
        """Of the first thread its time on a core and its wait, of all threads the wait."""
        first: tuple[float, float] | None = None
        waited: float | None = None
        for thread, file in self._threads.items():
            try:
                fields = file.read().split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            except OSError as cause:
                absent["run queue"] = _reason("schedstat", cause)
                continue
            if len(fields) < 3:
                continue
            waited = (waited or 0.0) + int(fields[1]) * _NANO
            if thread == self._pid:
                first = int(fields[0]) * _NANO, int(fields[1]) * _NANO
        return first, waited

    def _transfers(self, absent: Absences) -> Transfers | None:
        try:
            content = self._disk.read()
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError as cause:
            absent["disk of processes"] = _reason("io", cause)
            return None
        found = {key: int(value) for key, value in _pairs(content.splitlines())}
        if not {b"read_bytes", b"write_bytes", b"syscr", b"syscw"} <= found.keys():
            return None
        return Transfers(found[b"read_bytes"], found[b"write_bytes"], found[b"syscr"], found[b"syscw"])

    def _shared_once(self, absent: Absences) -> int | None:
        try:
            content = (self._folder / "smaps_rollup").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError as cause:
            absent["memory with shared pages counted once"] = _reason("smaps_rollup", cause)
            return None
        sizes = (int(value.split()[0]) for key, value in _pairs(content.splitlines()) if key == b"Pss")
        size = next(sizes, None)
        return None if size is None else size * 1024


_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _split(stat: bytes) -> tuple[str, list[bytes]]:
    """The name, which may hold blanks and brackets, and the fields after it."""
    before, _, after = stat.rpartition(b")")
    return before.partition(b"(")[2].decode(errors="replace"), after.split()


def _numbers_in(folder: Path) -> set[int]:
    # Names alone: a Path for each process of a machine would cost more than the rest of the look.
    return {int(name) for name in os.listdir(folder) if name.isdigit()}  # noqa: PTH208


def _parent(stat: bytes) -> int:
    return int(_split(stat)[1][1])


def _pairs(lines: Iterable[bytes]) -> Iterable[tuple[bytes, bytes]]:
    for line in lines:
        key, colon, value = line.partition(b":")
        if colon:
            yield key, value


def _reason(file: str, cause: OSError) -> str:
    return f"/proc/PID/{file} of some process cannot be read ({cause.strerror})"
