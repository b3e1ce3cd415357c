"""What the machine leaves to this process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headway.machine.cgroup import Cgroup
from headway.machine.describe import cpu_model, describe, free_memory, resident_bytes, usable_cores

GIB = 1 << 30


def group(folder: Path, membership: str, files: dict[str, str]) -> Cgroup:
    """A control group made of files."""
    (folder / "membership").write_text(membership)
    for name, content in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return Cgroup(root=folder / "root", membership=folder / "membership")


def test_without_control_groups_nothing_is_limited(tmp_path: Path) -> None:
    cgroup = Cgroup(root=tmp_path, membership=tmp_path / "absent")

    assert (cgroup.cores(), cgroup.memory_limit(), cgroup.memory_headroom()) == (None, None, None)


@pytest.mark.parametrize(("written", "cores"), [("max 100000", None), ("150000 100000", 1.5), ("", None)])
def test_version_2_limits_processors_by_quota_and_period(tmp_path: Path, written: str, cores: float | None) -> None:
    assert group(tmp_path, "0::/\n", {"cpu.max": written}).cores() == cores


def test_the_tightest_of_the_groups_around_counts(tmp_path: Path) -> None:
    cgroup = group(
        tmp_path,
        "0::/outer/inner\n",
        {
            "outer/inner/cpu.max": "800000 100000",
            "outer/cpu.max": "300000 100000",
            "outer/inner/memory.max": "max",
            "outer/inner/memory.current": "1",
            "outer/memory.max": str(2 * GIB),
            "outer/memory.current": str(GIB),
        },
    )

    assert (cgroup.cores(), cgroup.memory_limit(), cgroup.memory_headroom()) == (3.0, 2 * GIB, GIB)


def test_file_cache_that_can_be_dropped_counts_as_free(tmp_path: Path) -> None:
    files = {"memory.max": "1000", "memory.current": "900", "memory.stat": "anon 500\ninactive_file 400"}

    assert group(tmp_path, "0::/\n", files).memory_headroom() == 500


def test_a_group_over_its_limit_has_no_headroom(tmp_path: Path) -> None:
    files = {"memory.max": "1000", "memory.current": "1200", "memory.stat": "anon 1200"}

    assert group(tmp_path, "0::/\n", files).memory_headroom() == 0


def test_version_1_keeps_processors_and_memory_in_folders_of_their_own(tmp_path: Path) -> None:
    cgroup = group(
        tmp_path,
        "4:memory:/box\n3:cpu,cpuacct:/box\n",
        {
            "cpu,cpuacct/box/cpu.cfs_quota_us": "250000",
            "cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "memory/box/memory.limit_in_bytes": str(GIB),
            "memory/box/memory.usage_in_bytes": "1000",
            "memory/box/memory.stat": "total_inactive_file 100",
        },
    )

    assert (cgroup.cores(), cgroup.memory_limit(), cgroup.memory_headroom()) == (2.5, GIB, GIB - 900)


def test_version_1_without_limits_limits_nothing(tmp_path: Path) -> None:
    files = {
        "cpu/cpu.cfs_quota_us": "-1",
        "cpu/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "1000",
    }

    cgroup = group(tmp_path, "2:memory:/\n1:cpu:/\n", files)

    assert (cgroup.cores(), cgroup.memory_limit()) == (None, None)


def test_a_group_whose_path_is_hidden_by_a_container_is_its_mount(tmp_path: Path) -> None:
    assert group(tmp_path, "0::/docker/1234\n", {"cpu.max": "50000 100000"}).cores() == 0.5


@pytest.mark.parametrize(("quota", "most"), [("50000 100000", 1), ("150000 100000", 2), ("max 100000", None)])
def test_a_quota_is_rounded_up_to_whole_cores_within_the_affinity(tmp_path: Path, quota: str, most: int | None) -> None:
    allowed = usable_cores(Cgroup(root=tmp_path, membership=tmp_path / "absent"))

    assert usable_cores(group(tmp_path, "0::/\n", {"cpu.max": quota})) == min(allowed, most or allowed)


def test_affinity_limits_the_cores() -> None:
    script = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    script += "from headway.machine.describe import usable_cores; print(usable_cores())"

    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert answer.stdout == "1\n"


def test_free_memory_stays_within_the_group(tmp_path: Path) -> None:
    files = {"memory.max": "1000", "memory.current": "400"}
    unlimited = Cgroup(root=tmp_path, membership=tmp_path / "absent")

    assert free_memory(group(tmp_path, "0::/\n", files)) == 600
    assert 1000 < free_memory(unlimited) <= psutil.virtual_memory().total


def test_the_description_is_json_and_complete() -> None:
    facts = json.loads(json.dumps(describe()))

    assert set(facts) == {
        "cpu",
        "logical_cores",
        "usable_cores",
        "memory_bytes",
        "memory_available_bytes",
        "memory_limit_bytes",
        "os",
        "architecture",
        "python",
    }
    assert 1 <= facts["usable_cores"] <= facts["logical_cores"]
    assert facts["memory_available_bytes"] <= facts["memory_bytes"]


def test_the_processor_is_named_by_the_kernel_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("processor\t: 0\nmodel name\t: Abacus 9\n")
    (tmp_path / "unknown").write_text("processor\t: 0\n")

    assert cpu_model(tmp_path / "known") == "Abacus 9"
    assert cpu_model(tmp_path / "unknown") == cpu_model(tmp_path / "absent")


def test_resident_bytes_of_processes_that_are_gone_are_unknown() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()

    assert resident_bytes([child.pid]) is None
    assert resident_bytes([]) is None


def test_resident_bytes_count_the_living() -> None:
    alone = resident_bytes([os.getpid()])

    assert alone is not None
    assert alone > 1 << 20


def test_resident_bytes_fall_back_where_shared_pages_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "memory_full_info", denied)

    assert resident_bytes([os.getpid()]) == psutil.Process().memory_info().rss
