"""ProfilingEngine and what it gives, under the seeds' names and in their units; measured by `headway.record.profiler`.

Sizes are in MiB (2^20 bytes), processor per cent of one core (200 is two cores at work), times as the names say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from headway.durable import write_errors
from headway.errors import RunError
from headway.record.profiler import Profile, Profiler
from headway.tools.profiling_figures import snapshot_values, summary_values
from headway.tools.profiling_text import UNITS, summary_text

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSnapshot:
    """One moment of a profile; counters are since `start()`, None is what could not be measured."""

    timestamp: float
    monotonic_seconds: float
    memory_mb: float | None
    memory_percent: float | None
    cpu_percent: float | None
    cpu_per_core: tuple[float, ...]
    disk_io_read_mb: float | None
    disk_io_write_mb: float | None
    disk_read_ops: float | None
    disk_write_ops: float | None
    host_disk_read_mb: float | None
    host_disk_write_mb: float | None
    host_disk_read_ops: float | None
    host_disk_write_ops: float | None
    network_sent_mb: float | None
    network_recv_mb: float | None
    waiting: Mapping[str, float]
    """Seconds: run queue, and what work stood still for."""
    gpu: Sequence[Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingSummary:
    """What a profile comes to; None is what was not measured, and `not_measured` says why."""

    total_duration_seconds: float
    training_duration_seconds: float | None
    start_time: float
    end_time: float
    num_snapshots: int
    gaps: int
    peak_memory_mb: float | None
    avg_memory_mb: float | None
    peak_memory_shared_once_mb: float | None
    memory_per_sample_mb: float | None
    """The slope of memory over samples."""
    memory_per_sample_interval_mb: tuple[float, float] | None
    memory_trend: str
    cpu_avg_percent: float | None
    peak_cpu_percent: float | None
    avg_cpu_per_core: tuple[float, ...]
    cpu_bottleneck_detected: bool | None
    total_disk_read_mb: float | None
    total_disk_write_mb: float | None
    total_disk_read_ops: float | None
    total_disk_write_ops: float | None
    avg_write_speed_mbps: float | None
    host_disk_read_mb: float | None
    host_disk_write_mb: float | None
    disk_io_bottleneck_detected: bool | None
    total_network_sent_mb: float | None
    total_network_recv_mb: float | None
    avg_network_latency_ms: float | None
    localhost_latency_ms: float | None
    calls_per_sample: float | None
    samples_processed: int
    samples_per_second: float | None
    tokens_per_second: float | None
    node_stats: Mapping[str, Mapping[str, float]]
    event_stats: Mapping[str, Mapping[str, float]]
    run_queue_seconds: float | None
    sampling_cpu_percent: float | None
    """What the measuring itself took of a core."""
    primary_bottleneck: str
    bottleneck_confidence: float
    """The score of the mode, 0 to 1; see `bottleneck_confidence_kind`."""
    bottleneck_confidence_kind: str
    bottleneck_mode: str
    bottleneck_scores: Mapping[str, float]
    other_bottlenecks: tuple[str, ...]
    not_measured: Mapping[str, str]

    @property
    def avg_cpu_percent(self) -> float | None:
        """Another name of `cpu_avg_percent`."""
        return self.cpu_avg_percent


ProfilingReport = ProfilingSummary


class ProfilingEngine:
    """Measures this process and all it starts, from `start()` to `stop()`; can be started again.

    profiler = ProfilingEngine(sampling_interval=1.0)
    profiler.start()
    ...
    print(profiler.stop().peak_memory_mb)
    """

    def __init__(
        self,
        sampling_interval: float = 1.0,
        *,
        sampling_interval_seconds: float | None = None,
        verbose: bool = False,
    ) -> None:
        interval = sampling_interval if sampling_interval_seconds is None else sampling_interval_seconds
        self.sampling_interval = interval
        self.verbose = verbose
        self._profiler = Profiler(interval=interval)

    def start(self) -> None:
        """Begin; harmless while it runs."""
        self._profiler.start()

    def stop(self) -> ProfilingSummary:
        """End, and say what was measured; harmless when repeated. With `verbose`, it is printed, too."""
        was_running = self._profiler.running
        summary = _summary(self._profiler.stop())
        if self.verbose and was_running:
            self.print_summary()
        return summary

    def generate_report(self) -> ProfilingSummary:
        """What was measured so far, or up to `stop()`."""
        return _summary(self._profiler.latest())

    def record_event(self, event_type: str, duration_ms: float, node: str | None = None) -> None:
        """Something took so long, perhaps at a node of the hierarchy."""
        self._profiler.event(event_type, duration_ms / 1000, node=node)

    def record_sample_processed(self, num_tokens: int | None = None) -> None:
        """A sample was worked off."""
        self._profiler.sample(num_tokens)

    def record_network_latency(self, latency_ms: float) -> None:
        """A service answered after so long."""
        self._profiler.latency(latency_ms / 1000)

    @property
    def snapshots(self) -> Sequence[ResourceSnapshot]:
        """The moments so far; of a long profile, neighbours are merged."""
        profile = self._profiler.latest()
        return () if profile is None else [ResourceSnapshot(**values) for values in snapshot_values(profile)]

    def export_json(self, path: str | Path) -> None:
        """Write everything, snapshots and units included."""
        values = {
            "version": VERSION,
            "units": UNITS,
            "provenance": "measured",
            "summary": asdict(self.generate_report()),
            "snapshots": [asdict(snapshot) for snapshot in self.snapshots],
        }
        with write_errors(Path(path), kept="the profile is still there"):
            Path(path).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")

    def print_summary(self) -> None:
        """Show it."""
        from headway.tools.learner import say

        say(summary_text(asdict(self.generate_report())))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()


def _summary(profile: Profile | None) -> ProfilingSummary:
    if profile is None:
        raise RunError("nothing was measured yet; call start() first")
    return ProfilingSummary(**summary_values(profile))
