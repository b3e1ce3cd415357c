"""Reading processes and machines, from a /proc of the test's own."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from made_proc import MEBI, Clock, FakeProc

from headway.record.probes import processes
from headway.record.probes.elsewhere import Elsewhere
from headway.record.probes.files import KeptFile, Room
from headway.record.probes.gpus import open_gpus
from headway.record.probes.host import Host
from headway.record.probes.rarely import Rarely
from headway.record.probes.reading import GpuReading


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


def pids(found: list[processes.ProcessReading]) -> list[int]:
    return sorted(process.pid for process in found)


def test_a_tree_is_the_root_and_all_below_it_and_nobody_else(proc: FakeProc) -> None:
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        proc.process(pid, parent)

    assert pids(proc.tree(10, Clock()).read()) == [10, 11, 12]


def test_workers_that_come_are_found_and_those_that_go_are_forgotten(proc: FakeProc) -> None:
    clock = Clock()
    proc.process(10, 1)
    tree = proc.tree(10, clock)
    first = pids(tree.read())
    proc.process(11, 10)
    clock.now += 1
    second = pids(tree.read())
    proc.end(11)
    clock.now += 1

    assert (first, second, pids(tree.read())) == ([10], [10, 11], [10])


def test_a_process_whose_parent_ended_stays_in_the_tree(proc: FakeProc) -> None:
    clock = Clock()
    for pid, parent in ((10, 1), (11, 10), (12, 11)):
        proc.process(pid, parent)
    tree = proc.tree(10, clock)
    tree.read()
    proc.end(11)
    proc.process(12, 1)
    clock.now += 1

    assert pids(tree.read()) == [10, 12]


def test_a_number_that_is_used_again_by_a_stranger_is_not_taken_for_the_worker(proc: FakeProc) -> None:
    clock = Clock()
    proc.process(10, 1)
    proc.process(11, 10, born=5.0)
    tree = proc.tree(10, clock)
    tree.read()
    proc.process(11, 1, born=60.0)
    clock.now += 1

    assert pids(tree.read()) == [10]


def test_a_process_that_dies_while_it_is_read_leaves_no_trace(proc: FakeProc) -> None:
    proc.process(10, 1)
    proc.process(11, 10)
    (proc.folder / "proc" / "11" / "io").unlink()
    (proc.folder / "proc" / "11" / "task" / "11" / "schedstat").unlink()
    tree = proc.tree(10, Clock())

    dying = next(process for process in tree.read() if process.pid == 11)
    assert (dying.disk, dying.waited) == (None, None)
    assert tree.absent == {}


def test_what_may_not_be_read_is_absent_with_the_reason_and_the_rest_is_there(
    proc: FakeProc, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc.process(10, 1, cpu=2.0)
    whole = KeptFile.read

    def denied(file: KeptFile) -> bytes:
        if file._path.name in ("io", "schedstat"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return whole(file)

    monkeypatch.setattr(KeptFile, "read", denied)
    tree = proc.tree(10, Clock())

    (found,) = tree.read()
    assert (found.cpu, found.resident, found.disk, found.waited) == (2.0, MEBI, None, None)
    assert tree.absent == {
        "disk of processes": "/proc/PID/io of some process cannot be read (Permission denied)",
        "run queue": "/proc/PID/schedstat of some process cannot be read (Permission denied)",
    }


def test_shared_pages_are_counted_once_rarely_and_on_a_close_look(proc: FakeProc) -> None:
    proc.process(10, 1, resident=8 * MEBI, pss=3 * MEBI)
    clock = Clock()
    tree = proc.tree(10, clock)

    usual, close = tree.read(), tree.read(closely=True)
    clock.now += 100
    later = tree.read()
    assert [each[0].shared_once for each in (usual, close, later)] == [None, 3 * MEBI, 3 * MEBI]


def test_no_more_files_stay_open_than_there_is_room_for(tmp_path: Path) -> None:
    room = Room(1)
    files = [KeptFile(tmp_path / name, room) for name in ("a", "b")]
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)

    assert [file.read() for file in files] == [b"a", b"b"]
    assert [file._descriptor is None for file in files] == [False, True]
    files[0].close()
    assert room.left == 1


def test_an_expensive_act_takes_its_share_of_the_time(tmp_path: Path) -> None:
    clock = Clock()
    rarely = Rarely(least=1.0, most=60.0, share=0.01, timer=clock.steady)
    assert rarely.due()
    with rarely.spending():
        clock.now += 0.1
    clock.now += 9.8
    assert not rarely.due()
    clock.now += 0.3

    assert rarely.due()


def test_the_machine_is_read_without_counting_anything_twice(proc: FakeProc) -> None:
    proc.host(busy=30.0, idle=10.0, written=1 << 20, stalled=1.5)
    found = Host(proc=proc.folder / "proc", sys=proc.sys).read()

    assert found.cores == [(30.0, 10.0), (30.0, 10.0)]
    assert (found.memory_total, found.memory_available) == (1 << 30, 3 << 28)
    assert found.disk is not None
    assert (found.disk.written_bytes, found.disk.writes) == (1 << 20, 30)
    assert (found.received_bytes, found.sent_bytes, found.loopback_bytes) == (70, 8, 5)
    assert found.pressure == {"cpu_some": 1.5, "io_some": 1.5, "memory_some": 1.5}


def test_a_kernel_without_pressure_files_is_no_pressure_of_zero(proc: FakeProc) -> None:
    for name in ("cpu", "io", "memory"):
        (proc.folder / "proc" / "pressure" / name).unlink()
    host = Host(proc=proc.folder / "proc", sys=proc.sys)

    assert host.read().pressure == {}
    assert host.absent["pressure on io"] == "the kernel does not tell (No such file or directory)"


@pytest.mark.parametrize("path", ["/runs", "/"])
def test_the_pressure_is_that_of_our_control_group_where_it_tells(proc: FakeProc, path: str) -> None:
    group = proc.sys / "fs" / "cgroup" / path.lstrip("/")
    group.mkdir(parents=True)
    for name in ("cpu", "io", "memory"):
        (group / f"{name}.pressure").write_text("some avg10=0 total=2000000\nfull avg10=0 total=1000000\n")
    (proc.folder / "proc" / "self" / "cgroup").write_text(f"4:memory:/x\n0::{path}\n")
    host = Host(proc=proc.folder / "proc", sys=proc.sys)

    assert host.pressure_of == "control group"
    assert host.read().pressure["io_full"] == 1.0


class Refusal(Exception):
    """What the made library raises."""


def nvidia(*, power: Any = 250_000, count: int = 1) -> Any:
    """NVIDIA's library as far as it is asked."""

    def raising(*_: object) -> Any:
        raise Refusal("not supported")

    return SimpleNamespace(
        NVMLError=Refusal,
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: count,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetUtilizationRates=lambda card: SimpleNamespace(gpu=40),
        nvmlDeviceGetMemoryInfo=lambda card: SimpleNamespace(used=3 * MEBI),
        nvmlDeviceGetPowerUsage=(lambda card: power) if power else raising,
        nvmlDeviceGetClockInfo=lambda card, kind: 1500,
        nvmlGpmQueryDeviceSupport=raising,
    )


def test_a_gpu_is_read_and_what_it_does_not_tell_is_none(tmp_path: Path) -> None:
    gpus = open_gpus(load=lambda name: nvidia(power=None), sys_folder=tmp_path)

    assert gpus.absent is None
    assert gpus.read() == [GpuReading(busy=0.4, memory=3 * MEBI, megahertz=1500)]
    gpus.close()


def test_without_the_library_or_a_gpu_the_reason_is_told(tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    def without_driver(name: str) -> Any:
        library = nvidia()
        library.nvmlInit = library.nvmlGpmQueryDeviceSupport
        return library

    reasons = [
        open_gpus(load=load, sys_folder=tmp_path).absent
        for load in (missing, without_driver, lambda name: nvidia(count=0))
    ]
    assert reasons == [
        "nvidia-ml-py is not installed; to measure NVIDIA's GPUs: pip install 'headway[gpu]'",
        "NVIDIA's driver does not answer (not supported)",
        "there is no GPU of NVIDIA here",
    ]


def test_the_activity_of_multiprocessors_is_read_between_two_looks(tmp_path: Path) -> None:
    library, freed = nvidia(), list[Any]()
    library.nvmlGpmQueryDeviceSupport = lambda card: SimpleNamespace(isSupportedDevice=1)
    library.nvmlGpmSampleAlloc = lambda: object()
    library.nvmlGpmSampleGet = lambda card, sample: None
    library.nvmlGpmSampleFree = freed.append
    library.NVML_GPM_METRICS_GET_VERSION, library.NVML_GPM_METRIC_SM_UTIL = 1, 2
    library.c_nvmlGpmMetricsGet_t = lambda: SimpleNamespace(metrics=[SimpleNamespace(value=0.0)])

    def metrics(question: Any) -> None:
        question.metrics[0].value = 18.0

    library.nvmlGpmMetricsGet = metrics
    gpus = open_gpus(load=lambda name: library, sys_folder=tmp_path)

    assert [card.cores_active for card in gpus.read()] == [0.18]
    gpus.close()
    assert len(freed) == 2


def test_a_card_of_amd_is_read_from_the_files_of_its_driver(tmp_path: Path) -> None:
    device = tmp_path / "class" / "drm" / "card0" / "device"
    (device / "hwmon" / "hwmon3").mkdir(parents=True)
    (device / "vendor").write_text("0x1002\n")
    (device / "gpu_busy_percent").write_text("75\n")
    (device / "mem_info_vram_used").write_text("1024\n")
    (device / "hwmon" / "hwmon3" / "power1_average").write_text("90000000\n")

    def missing(name: str) -> Any:
        raise ImportError(name)

    assert open_gpus(load=missing, sys_folder=tmp_path).read() == [GpuReading(busy=0.75, memory=1024, watts=90.0)]


def test_where_there_is_no_proc_psutil_is_asked_and_says_what_it_may_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: psutil.Process) -> Any:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "io_counters", denied)
    probe = Elsewhere(psutil.Process().pid, timer=Clock().steady, share=1.0)
    found = {process.pid: process for process in probe.processes()}

    here = found[psutil.Process().pid]
    assert here.resident > 0
    assert here.disk is None
    assert probe.absent["disk of processes"] == "io_counters of some process may not be read"
    assert probe.host().memory_total is not None


def test_a_process_that_may_not_be_looked_at_at_all_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: psutil.Process) -> Any:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "num_threads", denied)
    probe = Elsewhere(psutil.Process().pid, timer=Clock().steady, share=1.0)

    assert probe.processes() == []
    assert "may not be looked at" in probe.absent["processes"]
