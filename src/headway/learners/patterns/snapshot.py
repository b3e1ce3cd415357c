"""What a memory held at one moment, kept as a small file beside a history."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.durable import make_folder, read_json, replace_json, write_errors
from headway.errors import DataError
from headway.learners.patterns.sizes import analysis

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory

_FORMAT = "headway-snapshot"
_TOP = 10
_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class NodeSnapshot:
    """One level, as node0, node1 and so on; `frequencies` as `headway memory stats --json` has them."""

    total_patterns: int
    total_observations: int
    storage_mb: float
    share_of_patterns: float | None
    frequencies: dict[str, Any]
    top_patterns: list[dict[str, Any]]

    @property
    def mean_frequency(self) -> float | None:
        """None of nothing."""
        return self.frequencies["mean"]


@dataclass(frozen=True, slots=True)
class TrainingRunSnapshot:
    """All levels of a memory."""

    run_id: str
    timestamp: float
    seconds: float
    """What it took to look."""
    nodes: dict[str, NodeSnapshot]

    @property
    def total_patterns(self) -> int:
        """Of all levels."""
        return sum(node.total_patterns for node in self.nodes.values())

    @property
    def total_observations(self) -> int:
        """Of all levels."""
        return sum(node.total_observations for node in self.nodes.values())

    @property
    def total_storage_mb(self) -> float:
        """Of all levels, in MiB on disk."""
        return sum(node.storage_mb for node in self.nodes.values())

    def totals(self) -> dict[str, Any]:
        """What a history keeps of it."""
        nodes = {
            name: {"patterns": node.total_patterns, "storage_mb": node.storage_mb, "mean_freq": node.mean_frequency}
            for name, node in self.nodes.items()
        }
        return {
            "total_patterns": self.total_patterns,
            "total_observations": self.total_observations,
            "total_storage_mb": self.total_storage_mb,
            "nodes": nodes,
        }

    def save(self, path: Path | str) -> None:
        """Write it as JSON."""
        path = Path(path)
        with write_errors(path, kept="the memory and the history are untouched"):
            make_folder(path.parent)
            replace_json(path, {"format": _FORMAT, **asdict(self)})

    @classmethod
    def load(cls, path: Path | str) -> TrainingRunSnapshot:
        """One that was saved; a DataError when the file is something else."""
        value = read_json(Path(path))
        if not isinstance(value, dict) or value.pop("format", None) != _FORMAT:
            raise DataError(f"{path} is no snapshot of a memory; capture it again with capture_snapshot")
        nodes = {name: NodeSnapshot(**node) for name, node in value.pop("nodes").items()}
        return cls(**value, nodes=nodes)


def snapshot(memory: Memory, run_id: str, *, clock: Callable[[], float] = time.time) -> TrainingRunSnapshot:
    """What a memory holds now, counted in one reading."""
    began = clock()
    levels = analysis(memory)["levels"]
    every = sum(level.unique for level in memory.levels)
    nodes: dict[str, NodeSnapshot] = {}
    for level, found in zip(memory.levels, levels, strict=True):
        top = [{"name": each.name, "frequency": each.frequency, "length": each.length} for each in level.top(_TOP)]
        share = level.unique / every if every else None
        figures = (level.unique, level.observed, level.bytes / _MB, share)
        nodes[f"node{level.number}"] = NodeSnapshot(*figures, found["frequencies"], top)
    return TrainingRunSnapshot(run_id, began, clock() - began, nodes)
