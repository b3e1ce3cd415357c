"""All that is here: processor, memory, disks, GPUs, system; and the fingerprint of machines that are alike."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from headway.machine.cgroup import Cgroup
from headway.machine.container import NO_CONTAINER, container
from headway.machine.describe import free_memory
from headway.machine.gpus import Gpus, gpus
from headway.machine.identity import machine_fingerprint
from headway.machine.processor import Processor, processor
from headway.machine.storage import Disk, disk_of


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory: the machine's, what its control group allows, and what could be taken now."""

    total_bytes: int
    limit_bytes: int | None
    free_bytes: int
    swap_bytes: int


@dataclass(frozen=True, slots=True)
class System:
    """What runs here."""

    name: str
    platform: str
    python: str
    container: str | None


@dataclass(frozen=True, slots=True)
class Hardware:
    """What is here; whatever is None has its reason in `absent`, under its dotted name."""

    processor: Processor
    memory: Memory
    disks: tuple[Disk, ...]
    gpus: Gpus
    system: System
    absent: Mapping[str, str]

    @property
    def fingerprint(self) -> str | None:
        """That of runs recorded here: the same however full the disks are, whatever the machine is called."""
        core, memory = self.processor, self.memory
        return machine_fingerprint(
            {
                "cpu": core.model,
                "logical_cores": core.logical_cores,
                "usable_cores": core.usable_cores,
                "architecture": core.architecture,
                "memory_bytes": memory.total_bytes,
                "memory_limit_bytes": memory.limit_bytes,
            }
        )

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"fingerprint": self.fingerprint, **asdict(self)}


def hardware(folders: Sequence[Path] = (Path(),), cgroup: Cgroup | None = None) -> Hardware:
    """Look at this machine, and at the disks that some folders are on."""
    group = cgroup or Cgroup()
    core, unknown = processor(group)
    limit = group.memory_limit()
    memory = Memory(psutil.virtual_memory().total, limit, free_memory(group), psutil.swap_memory().total)
    disks = tuple(disk_of(folder) for folder in folders)
    plugged = gpus()
    inside = container()
    system = System(platform.system(), platform.platform(), platform.python_version(), inside)
    absent = {f"processor.{name}": reason for name, reason in unknown.items()}
    absent |= {} if limit is not None else {"memory.limit_bytes": "no control group limits it"}
    absent |= {f"disks[{i}].kind": disk.why for i, disk in enumerate(disks) if disk.why is not None}
    absent |= {f"gpus.{vendor}": reason for vendor, reason in plugged.absent.items()}
    absent |= {} if inside is not None else {"system.container": NO_CONTAINER}
    return Hardware(core, memory, disks, plugged, system, absent)
