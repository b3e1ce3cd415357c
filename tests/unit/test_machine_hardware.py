"""What is here: read from what the kernel says, and absent with a reason where it says nothing."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.machine.cgroup import Cgroup
from headway.machine.container import container
from headway.machine.describe import describe
from headway.machine.gpus import Gpu, gpus
from headway.machine.hardware import Hardware, hardware
from headway.machine.identity import machine_fingerprint
from headway.machine.processor import Cache, caches, processor
from headway.machine.storage import Mount, disk_of, existing
from headway.machine.tier import Tier, tier

GIB = 1 << 30


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content + "\n")
    return folder


def nones(value: object, name: str = "") -> list[str]:
    """The dotted names of everything that is None."""
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in nones(each, f"{name}.{key}" if name else key)]
    if isinstance(value, list | tuple):
        return [found for i, each in enumerate(value) for found in nones(each, f"{name}[{i}]")]
    return [name] if value is None else []


def test_a_description_is_json_and_whatever_is_missing_has_its_reason(tmp_path: Path) -> None:
    known = json.loads(json.dumps(hardware((tmp_path,)).to_json()))
    explained = set(known["absent"]) | {"disks[0].why"}

    assert known["processor"]["usable_cores"] >= 1
    assert known["memory"]["total_bytes"] > known["memory"]["free_bytes"] > 0
    assert set(nones(known)) <= explained
    assert all(known["absent"].values())


def test_limits_of_a_container_are_seen(tmp_path: Path) -> None:
    (tmp_path / "membership").write_text("0::/\n")
    write(tmp_path, **{"cpu.max": "50000 100000", "memory.max": str(GIB), "memory.current": "0", "memory.stat": ""})
    here = hardware((tmp_path,), Cgroup(root=tmp_path, membership=tmp_path / "membership"))

    assert (here.processor.quota_cores, here.processor.usable_cores) == (0.5, 1)
    assert here.memory.limit_bytes == GIB >= here.memory.free_bytes
    assert {"processor.quota_cores", "memory.limit_bytes"}.isdisjoint(here.absent)


def test_caches_of_equal_cores_are_one_entry_and_shared_ones_count_once(tmp_path: Path) -> None:
    for cpu in range(4):
        folder = tmp_path / f"cpu{cpu}" / "cache"
        write(folder / "index0", level="1", type="Data", size="48K", shared_cpu_list=str(cpu))
        write(folder / "index1", level="1", type="Instruction", size="32K", shared_cpu_list=str(cpu))
        write(folder / "index3", level="3", type="Unified", size="32M", shared_cpu_list="0-3")

    assert caches(tmp_path) == (
        Cache(1, "data", 48 << 10, 4),
        Cache(1, "instruction", 32 << 10, 4),
        Cache(3, "unified", 32 << 20, 1),
    )


def test_caches_nobody_lists_are_unknown(tmp_path: Path) -> None:
    write(tmp_path / "cpu0" / "cache" / "index0", level="1", type="Data")
    found, reasons = processor(cpus=tmp_path)

    assert found.caches is None
    assert str(tmp_path) in reasons["caches"]


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """The kernel's folder of block devices, in which the disk of `tmp_path` is linked to by its number."""
    (tmp_path / "blocks").mkdir()
    return tmp_path / "blocks"


@pytest.mark.parametrize(
    ("name", "rotational", "kind", "why"),
    [
        ("nvme0n1", "0", "nvme", None),
        ("sda", "0", "ssd", None),
        ("sda", "1", "hdd", None),
        ("vda", "1", None, "virtual disk"),
        ("sda", None, None, "does not tell whether sda turns"),
    ],
)
@pytest.mark.parametrize("partition", [False, True])
def test_a_disk_is_of_the_kind_the_kernel_says(
    tmp_path: Path, blocks: Path, name: str, rotational: str | None, kind: str | None, why: str | None, partition: bool
) -> None:
    queue = write(tmp_path / "devices" / name / "queue")
    if rotational is not None:
        write(queue, rotational=rotational)
    device = tmp_path / "devices" / name / ("part1" if partition else "")
    device.mkdir(exist_ok=True)
    number = tmp_path.stat().st_dev
    (blocks / f"{os.major(number)}:{os.minor(number)}").symlink_to(device)
    found = disk_of(tmp_path, [Mount("/dev/it", "/", "ext4")], blocks)

    assert found.kind == kind
    assert why is None or why in (found.why or "")
    assert (found.device, found.mount, found.file_system) == ("/dev/it", "/", "ext4")
    assert found.total_bytes >= found.free_bytes > 0


@pytest.mark.parametrize(("file_system", "kind"), [("tmpfs", "memory"), ("nfs4", "network")])
def test_the_innermost_mount_decides_and_the_last_of_those_in_one_place(
    tmp_path: Path, blocks: Path, file_system: str, kind: str
) -> None:
    mounts = [
        Mount("/dev/root", "/", "ext4"),
        Mount("hidden", str(tmp_path), "ext4"),
        Mount("shown", str(tmp_path), file_system),
        Mount("beside", str(tmp_path) + "-beside", "ext4"),
    ]
    found = disk_of(tmp_path / "later" / "made", mounts, blocks)

    assert (found.device, found.kind) == ("shown", kind)


def test_a_disk_nobody_knows_is_said_to_be_unknown(tmp_path: Path, blocks: Path) -> None:
    found = disk_of(tmp_path, [], blocks)

    assert (found.mount, found.device, found.kind) == (None, None, None)
    assert found.why == "no block device of the kernel's is behind it"


def test_a_folder_that_is_not_there_yet_is_looked_for_above(tmp_path: Path) -> None:
    assert existing(tmp_path / "a" / "b") == tmp_path.resolve()


class NvmlError(Exception):
    pass


def nvml(count: int = 2, *, fails: str = "") -> SimpleNamespace:
    """A library that knows some GPUs."""

    def call(name: str, value: object) -> object:
        if name == fails:
            raise NvmlError(name)
        return value

    return SimpleNamespace(
        NVMLError=NvmlError,
        nvmlInit=lambda: call("init", None),
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: call("count", count),
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetName=lambda i: b"H200" if i else "H100",
        nvmlDeviceGetMemoryInfo=lambda i: SimpleNamespace(total=80 * GIB),
    )


def test_gpus_of_nvidia_are_named_by_its_library(tmp_path: Path) -> None:
    found = gpus(tmp_path, nvml())

    assert found.found == (Gpu("nvidia", "H100", 80 * GIB), Gpu("nvidia", "H200", 80 * GIB))
    assert "nvidia" not in found.absent


@pytest.mark.parametrize(
    ("library", "why"),
    [
        (nvml(0), "has no GPU"),
        (nvml(fails="init"), "driver does not answer"),
        (nvml(fails="count"), "does not tell of its GPUs"),
    ],
)
def test_a_library_without_gpus_says_why(tmp_path: Path, library: SimpleNamespace, why: str) -> None:
    assert why in gpus(tmp_path, library).absent["nvidia"]


def test_without_the_library_a_gpu_that_is_plugged_in_is_told_from_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    none = gpus(tmp_path).absent["nvidia"]
    write(tmp_path / "0000:01:00.0", vendor="0x10de", **{"class": "0x030200"})
    one = gpus(tmp_path).absent["nvidia"]

    assert none.startswith("no such device is plugged in")
    assert one.startswith("there is one, but nvidia-ml-py is not installed; pip install")


def test_gpus_of_amd_are_read_from_the_kernel(tmp_path: Path) -> None:
    write(
        tmp_path / "0000:01:00.0",
        vendor="0x1002",
        product_name="MI300X",
        mem_info_vram_total=str(192 * GIB),
        **{"class": "0x120000"},
    )
    write(tmp_path / "0000:02:00.0", vendor="0x1002", **{"class": "0x040300"})
    found = gpus(tmp_path, nvml(0))

    assert found.found == (Gpu("amd", "MI300X", 192 * GIB),)
    assert found.absent["apple"] == "this is not macOS"


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ({"SPDisplaysDataType": [{"sppci_model": "Apple M4", "spdisplays_vendor": "sppci_vendor_Apple"}]}, "Apple M4"),
        ({"SPDisplaysDataType": [{"sppci_model": "Radeon"}]}, "no GPU of Apple's"),
        ({}, "does not tell of GPUs"),
    ],
)
def test_gpus_of_apple_are_listed_by_the_system(tmp_path: Path, listed: dict[str, object], expected: str) -> None:
    found = gpus(tmp_path, nvml(0), lambda: json.dumps(listed))

    assert expected in ([gpu.name for gpu in found.found] or found.absent["apple"])[0] + found.absent.get("apple", "")


@pytest.mark.parametrize(
    ("mark", "environment", "kind"),
    [
        (".dockerenv", {}, "docker"),
        ("run/.containerenv", {}, "podman"),
        ("run/systemd/container", {}, "lxc"),
        (None, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        (None, {"container": "oci"}, "oci"),
        (None, {}, None),
    ],
)
def test_containers_are_known_by_what_they_leave(
    tmp_path: Path, mark: str | None, environment: dict[str, str], kind: str | None
) -> None:
    if mark is not None:
        (tmp_path / mark).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / mark).write_text("lxc\n")

    assert container(tmp_path, environment) == kind


@pytest.fixture(scope="module")
def here() -> Hardware:
    return hardware()


def test_a_fingerprint_stays_when_disks_fill_and_libraries_change(here: Hardware) -> None:
    (disk,) = here.disks
    later = replace(
        here,
        disks=(replace(disk, free_bytes=1),),
        memory=replace(here.memory, free_bytes=1),
        system=replace(here.system, python="3.99"),
    )

    assert later.fingerprint == here.fingerprint == hardware().fingerprint
    assert len(here.fingerprint) == 16


def test_a_fingerprint_changes_with_what_can_be_used(here: Hardware) -> None:
    others = [
        replace(here, processor=replace(here.processor, usable_cores=99)),
        replace(here, memory=replace(here.memory, limit_bytes=1 << 30)),
    ]

    assert len({here.fingerprint, *(other.fingerprint for other in others)}) == 3


def test_runs_recorded_here_have_the_same_fingerprint(here: Hardware) -> None:
    assert machine_fingerprint(describe()) == here.fingerprint


@pytest.mark.parametrize(
    ("cores", "gib", "expected"),
    [
        (2, 24, Tier.LOW),
        (8, 16, Tier.MEDIUM),
        (8, 15.5, Tier.MEDIUM),
        (64, 12, Tier.LOW),
        (16, 64, Tier.HIGH),
        (31, 512, Tier.HIGH),
        (32, 128, Tier.SERVER),
        (None, 128, None),
    ],
)
def test_a_tier_asks_for_cores_and_memory(cores: int | None, gib: float, expected: Tier | None) -> None:
    assert tier(cores, int(gib * GIB)) == expected
