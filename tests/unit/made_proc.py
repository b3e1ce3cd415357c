"""A /proc that tests own: processes that begin, work and die, and a machine around them."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from headway.record.probes.gpus import NoGpus
from headway.record.probes.host import Host
from headway.record.probes.machine import LinuxProbe
from headway.record.probes.processes import ProcessTree
from headway.record.sampler import Clocks, Sampler

PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MEBI = 1 << 20


@dataclass
class Clock:
    """Every time there is."""

    now: float = 1000.0
    put: float = 0.0
    """How far the clock on the wall was put."""

    def steady(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_700_000_000.0 + self.now + self.put

    def all(self) -> Clocks:
        return Clocks(wall=self.wall, steady=self.steady, own=lambda: 0.0)


@dataclass
class FakeProc:
    """The folder, and what is written there."""

    folder: Path
    sys: Path = field(init=False)

    def __post_init__(self) -> None:
        self.sys = self.folder / "sys"
        (self.sys / "block" / "sda" / "device").mkdir(parents=True)
        (self.sys / "block" / "loop0").mkdir()
        self.host()

    def process(
        self,
        pid: int,
        parent: int,
        *,
        cpu: float = 0.0,
        reaped: float = 0.0,
        resident: int = MEBI,
        born: float = 5.0,
        waited: float = 0.0,
        written: int = 0,
        pss: int | None = None,
    ) -> None:
        """A process as it is now."""
        folder = self.folder / "proc" / str(pid)
        (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
        fields = ["0"] * 40
        fields[0], fields[1], fields[17] = "S", str(parent), "1"
        fields[11], fields[13] = str(round(cpu * PER_SECOND)), str(round(reaped * PER_SECOND))
        fields[19], fields[21] = str(round(born * PER_SECOND)), str(resident // PAGE)
        (folder / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}\n")
        (folder / "task" / str(pid) / "schedstat").write_text(f"{cpu * 1e9:.0f} {waited * 1e9:.0f} 7\n")
        lines = ["rchar: 1", "wchar: 2", "syscr: 3", "syscw: 4", "read_bytes: 0", f"write_bytes: {written}"]
        (folder / "io").write_text("\n".join([*lines, "cancelled_write_bytes: 0\n"]))
        shared = (resident if pss is None else pss) // 1024
        (folder / "smaps_rollup").write_text(f"00-ff ---p 0 0 [rollup]\nRss: 9 kB\nPss: {shared} kB\nPss_Dirty: 1 kB\n")

    def end(self, pid: int) -> None:
        """It is gone; a file of it that is still open reads as nothing."""
        folder = self.folder / "proc" / str(pid)
        for path in folder.rglob("*"):
            if path.is_file():
                path.write_text("")
        shutil.rmtree(folder)

    def host(self, *, busy: float = 0.0, idle: float = 0.0, written: int = 0, stalled: float = 0.0) -> None:
        """The machine as it is now."""
        proc = self.folder / "proc"
        for folder in (proc / "net", proc / "pressure", proc / "self"):
            folder.mkdir(parents=True, exist_ok=True)
        core = f"{round(busy * PER_SECOND)} 0 0 {round(idle * PER_SECOND)} 0 0 0 0 0 0"
        (proc / "stat").write_text(f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {core}\ncpu1 {core}\nintr 1 2 3\n")
        (proc / "meminfo").write_text("MemTotal: 1048576 kB\nMemFree: 1 kB\nMemAvailable: 786432 kB\n")
        disk = f"8 0 sda 10 0 20 0 30 0 {written // 512} 0 0 0 0\n"
        (proc / "diskstats").write_text(disk + disk.replace("sda", "sda1") + disk.replace("sda", "loop0"))
        heads = "Inter-| Receive | Transmit\n face |bytes |bytes\n"
        counts = " 0 0 0 0 0 0 0 "
        (proc / "net" / "dev").write_text(f"{heads}    lo: 5{counts}5{counts}\n  eth0: 70{counts}8{counts}\n")
        for name in ("cpu", "io", "memory"):
            (proc / "pressure" / name).write_text(f"some avg10=0.00 avg60=0 avg300=0 total={stalled * 1e6:.0f}\n")
        (proc / "self" / "cgroup").write_text("0::/\n")

    def tree(self, root: int, clock: Clock, *, watcher: bool = False) -> ProcessTree:
        """Reads it; every expensive look is due at once."""
        return ProcessTree(root, proc=self.folder / "proc", timer=clock.steady, share=1.0, watcher=watcher)

    def sampler(self, root: int, clock: Clock, *, interval: float = 1.0, watcher: bool = False) -> Sampler:
        """A sampler of it that looks when it is told."""
        host = Host(proc=self.folder / "proc", sys=self.sys)
        probe = LinuxProbe(self.tree(root, clock, watcher=watcher), host, lambda: NoGpus("no library"))
        return Sampler(probe, interval=interval, clocks=clock.all())
