"""A Linux machine as a whole, read from /proc: cores, memory, disks, network, and what work stands still for."""

import os
from collections.abc import Mapping
from pathlib import Path

from headway.record.probes.files import KeptFile, Room
from headway.record.probes.reading import HostReading, Transfers

SYS = Path("/sys")
_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_SECTOR = 512
_FIRST_LINES = 256
_MICRO = 1e-6
_RESOURCES = ("cpu", "io", "memory")
# What passes through these has passed, or will, through a device that counts it.
_INNER_NETWORK = ("ifb", "docker", "veth", "br-", "virbr")


class Host:
    """Reads the machine; what it has no file for is in `absent`."""

    def __init__(self, *, proc: Path, sys: Path) -> None:
        room = Room()
        self.absent: dict[str, str] = {}
        self._stat = KeptFile(proc / "stat", room)
        self._memory = KeptFile(proc / "meminfo", room)
        self._disks = KeptFile(proc / "diskstats", room)
        self._network = KeptFile(proc / "net" / "dev", room)
        folder = _group(proc, sys)
        names = {
            name: proc / "pressure" / name if folder is None else folder / f"{name}.pressure" for name in _RESOURCES
        }
        self._pressure = {name: KeptFile(path, room) for name, path in names.items()}
        self.pressure_of = "host" if folder is None else "control group"
        self._blocks = _whole_disks(sys)

    def read(self) -> HostReading:
        """The machine now."""
        # What is asked stands in the first lines.
        memory = _numbers(self._content(self._memory, "memory of the host")[:_FIRST_LINES])
        network = _interfaces(self._content(self._network, "network"))
        outer = [counts for name, counts in network.items() if name != "lo" and not name.startswith(_INNER_NETWORK)]
        total, available = memory.get(b"MemTotal"), memory.get(b"MemAvailable")
        return HostReading(
            cores=_cores(self._content(self._stat, "cores")),
            memory_total=None if total is None else total * 1024,
            memory_available=None if available is None else available * 1024,
            disk=self._transfers(),
            received_bytes=sum(received for received, _ in outer) if network else None,
            sent_bytes=sum(sent for _, sent in outer) if network else None,
            loopback_bytes=network["lo"][1] if "lo" in network else None,
            pressure=self._pressures(),
        )

    def close(self) -> None:
        """Let go of every file."""
        for file in (self._stat, self._memory, self._disks, self._network, *self._pressure.values()):
            file.close()

    def _content(self, file: KeptFile, what: str) -> bytes:
        try:
            return file.read_all()
        except OSError as cause:
            self.absent[what] = f"the kernel does not tell ({cause.strerror})"
            return b""

    def _transfers(self) -> Transfers | None:
        lines = [line.split() for line in self._content(self._disks, "disks of the host").splitlines()]
        disks = [line for line in lines if len(line) > 9 and line[2].decode() in self._blocks]
        if not disks:
            self.absent.setdefault("disks of the host", "no disk is visible from here")
            return None
        reads, sectors_read, writes, sectors_written = (sum(int(line[at]) for line in disks) for at in (3, 5, 7, 9))
        return Transfers(sectors_read * _SECTOR, sectors_written * _SECTOR, reads, writes)

    def _pressures(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, file in self._pressure.items():
            for line in self._content(file, f"pressure on {name}").splitlines():
                kind, _, rest = line.partition(b" ")
                total = rest.rpartition(b"total=")[2]
                if total.isdigit():
                    found[f"{name}_{kind.decode()}"] = int(total) * _MICRO
        return found


def _group(proc: Path, sys: Path) -> Path | None:
    """The folder of the control group we are in, where it tells the pressure in it; None: the whole host's counts."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return None
    inside = next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), None)
    if inside is None:
        return None
    # A container sees its own group as the root of all.
    folders = (sys / "fs" / "cgroup" / inside, sys / "fs" / "cgroup" / "unified" / inside)
    return next((folder for folder in folders if (folder / "io.pressure").is_file()), None)


def _whole_disks(sys: Path) -> frozenset[str]:
    """Disks that are hardware; without any, all but loops and memory: partitions and volumes would count twice."""
    try:
        blocks = [*(sys / "block").iterdir()]
    except OSError:
        return frozenset()
    hardware = {block.name for block in blocks if (block / "device").exists()}
    others = {block.name for block in blocks if not block.name.startswith(("loop", "ram", "zram", "dm-", "md"))}
    return frozenset(hardware or others)


def _cores(stat: bytes) -> list[tuple[float, float]]:
    """Busy and idle seconds of each core; waiting for a disk is idle, and what a guest uses is in the user's time."""
    cores: list[tuple[float, float]] = []
    for line in stat.splitlines():
        if not line.startswith(b"cpu"):
            break
        if line[3:4].isdigit():
            times = [int(value) for value in line.split()[1:9]]
            idle = times[3] + times[4]
            cores.append(((sum(times) - idle) / _PER_SECOND, idle / _PER_SECOND))
    return cores


def _numbers(content: bytes) -> Mapping[bytes, int]:
    fields = (line.split() for line in content.splitlines())
    return {field[0].rstrip(b":"): int(field[1]) for field in fields if len(field) > 1 and field[1].isdigit()}


def _interfaces(content: bytes) -> dict[str, tuple[int, int]]:
    """Bytes received and sent, by interface."""
    found: dict[str, tuple[int, int]] = {}
    for line in content.splitlines():
        name, colon, rest = line.partition(b":")
        fields = rest.split()
        if colon and len(fields) > 8:
            found[name.strip().decode()] = int(fields[0]), int(fields[8])
    return found
