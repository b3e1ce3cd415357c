"""What one look at processes and their machine gives: counters since their beginning, and what is held now.

None is what could not be read, never zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Transfers:
    """Bytes and operations, both ways; of a process an operation is a system call, of a host one of its disks."""

    read_bytes: int
    written_bytes: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReading:
    """One process."""

    pid: int
    born: float
    """Seconds after the machine's start; with the number it names a process, since numbers are used again."""
    name: str
    parent: int
    cpu: float
    """Seconds on a core, all threads."""
    reaped: float = 0.0
    """The same of its children that ended and were waited for."""
    resident: int
    threads: int
    waited: float | None = None
    """Seconds ready to run and without a core, all threads that live."""
    first_thread: tuple[float, float] | None = None
    """Seconds on a core and waiting for one, of its first thread alone."""
    shared_once: int | None = None
    """Resident bytes with shared pages divided among those who share them (PSS); read rarely."""
    disk: Transfers | None = None
    watcher: bool = False
    """It only watches: of it, nothing counts but the time of its ended children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """The whole machine, whoever uses it."""

    cores: Sequence[tuple[float, float]] = ()
    """Busy and idle seconds of each."""
    memory_total: int | None = None
    memory_available: int | None = None
    disk: Transfers | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    loopback_bytes: int | None = None
    pressure: Mapping[str, float] = field(default_factory=dict[str, float])
    """Seconds in which work stood still for want of a resource, such as `io_some` and `memory_full`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """One GPU at this moment."""

    busy: float | None = None
    """Share of the last moments in which anything ran on it."""
    cores_active: float | None = None
    """Share of its multiprocessors that had work, which `busy` does not tell."""
    memory: int | None = None
    watts: float | None = None
    megahertz: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All of it at one moment."""

    processes: Sequence[ProcessReading]
    host: HostReading
    gpus: Sequence[GpuReading] = ()


class Probe(Protocol):
    """What reads."""

    @property
    def absent(self) -> Mapping[str, str]:
        """What cannot be read here, each with its reason."""
        ...

    def read(self, *, closely: bool = False) -> Reading:
        """Look once; closely, also at what is expensive and else looked at rarely."""
        ...

    def close(self) -> None:
        """Let go of what is open; harmless when repeated."""
        ...
