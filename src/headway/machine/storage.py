"""The disk behind a folder: what kind it is, and what is free on it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_BLOCKS = Path("/sys/dev/block")
_IN_MEMORY = {"tmpfs", "ramfs"}
_OVER_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs"}


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system."""

    device: str
    mountpoint: str
    fstype: str


@dataclass(frozen=True, slots=True)
class Disk:
    """What a folder lies on."""

    folder: str
    mount: str | None
    device: str | None
    file_system: str | None
    kind: str | None
    """nvme, ssd, hdd, memory or network."""
    total_bytes: int
    free_bytes: int
    """What this user may still write."""
    why: str | None
    """Why the kind is None."""


def disk_of(folder: Path, mounts: Sequence[Mount] | None = None, blocks: Path = _BLOCKS) -> Disk:
    """The disk that a folder is on, or will be on once it is made."""
    there = existing(folder)
    space = psutil.disk_usage(str(there))
    mount = _mount_of(there, _mounts() if mounts is None else mounts)
    kind, why = _kind(there, mount, blocks)
    return Disk(
        folder=str(folder),
        mount=None if mount is None else mount.mountpoint,
        device=None if mount is None else mount.device,
        file_system=None if mount is None else mount.fstype,
        kind=kind,
        total_bytes=space.total,
        free_bytes=space.free,
        why=why,
    )


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    absolute = folder.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.is_dir()).resolve()


def _mounts() -> list[Mount]:
    return [Mount(each.device, each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True)]


def _mount_of(folder: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The innermost mount that a folder is in; of several on one place the last, which hides the others."""
    found = None
    for mount in mounts:
        inside = folder.is_relative_to(mount.mountpoint)
        if inside and (found is None or len(mount.mountpoint) >= len(found.mountpoint)):
            found = mount
    return found


def _kind(folder: Path, mount: Mount | None, blocks: Path) -> tuple[str | None, str | None]:
    if mount is not None and mount.fstype in _IN_MEMORY:
        return "memory", None
    if mount is not None and mount.fstype in _OVER_NETWORK:
        return "network", None
    number = folder.stat().st_dev
    device = (blocks / f"{os.major(number)}:{os.minor(number)}").resolve()
    # Of a partition the queue is that of the disk it is on, one folder up.
    queue = next((at / "queue" for at in (device, device.parent) if (at / "queue").is_dir()), None)
    if queue is None:
        return None, "no block device of the kernel's is behind it"
    name = queue.parent.name
    if name.startswith(("vd", "xvd")):
        return None, f"{name} is a virtual disk, which does not tell what it lies on"
    try:
        turns = (queue / "rotational").read_text().strip() == "1"
    except OSError as cause:
        return None, f"the kernel does not tell whether {name} turns ({cause.strerror})"
    if turns:
        return "hdd", None
    return ("nvme" if name.startswith("nvme") else "ssd"), None
