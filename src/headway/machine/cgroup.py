"""What a Linux control group leaves to this process: processors and memory, versions 1 and 2."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Version 1 writes "no limit" as the largest page-aligned 64-bit number.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True)
class Cgroup:
    """Reads the limits of the group this process is in and of all groups around it."""

    root: Path = Path("/sys/fs/cgroup")
    membership: Path = Path("/proc/self/cgroup")

    def cores(self) -> float | None:
        """Processors' worth of time the group may use; None when nothing limits it."""
        quotas = [_quota_v2(folder) for folder in self._folders("")]
        quotas += [_quota_v1(folder) for folder in self._folders("cpu")]
        return min((quota for quota in quotas if quota is not None), default=None)

    def memory_limit(self) -> int | None:
        """Bytes the group may use; None when nothing limits it."""
        return min((limit for limit, _ in self._memory()), default=None)

    def memory_headroom(self) -> int | None:
        """Bytes left below the limit, counting file cache that can be dropped as free; None without a limit."""
        return min((max(limit - used, 0) for limit, used in self._memory()), default=None)

    def _memory(self) -> Iterator[tuple[int, int]]:
        for controller, limit_name, used_name, cache_name in (
            ("", "memory.max", "memory.current", "inactive_file"),
            ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            for folder in self._folders(controller):
                limit, used = _number(folder / limit_name), _number(folder / used_name)
                if limit is not None and used is not None and limit < _NO_LIMIT:
                    yield limit, used - _statistic(folder / "memory.stat", cache_name)

    def _folders(self, controller: str) -> Iterator[Path]:
        """The folder of this process's group and those above it; "" is version 2."""
        for line in _text(self.membership).splitlines():
            _, names, group = line.split(":", 2)
            if controller not in names.split(","):
                continue
            mounts = (
                [self.root, self.root / "unified"] if controller == "" else [self.root / names, self.root / controller]
            )
            inside = Path(group.lstrip("/"))
            for mount in dict.fromkeys(mounts):
                # Inside a container the group's own path may not be visible; its mount is then the group.
                yield from (mount / part for part in [inside, *inside.parents] if (mount / part).is_dir())


def _quota_v2(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _quota_v1(folder: Path) -> float | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota / period if quota and period else None


def _statistic(path: Path, name: str) -> int:
    for line in _text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    """The content of a control file; empty where the kernel has no such file."""
    try:
        return path.read_text()
    except OSError:
        return ""
