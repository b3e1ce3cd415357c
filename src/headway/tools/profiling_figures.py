"""The figures of a profile under the seeds' names and in their units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway.record.bottleneck import THRESHOLDS
from headway.record.profiler import MEBI, Profile, Timing
from headway.record.slope import totals
from headway.record.tick import Tick

_COUNTERS = {
    "disk_io_read_mb": ("read_bytes", MEBI),
    "disk_io_write_mb": ("written_bytes", MEBI),
    "disk_read_ops": ("reads", 1),
    "disk_write_ops": ("writes", 1),
    "host_disk_read_mb": ("host_read_bytes", MEBI),
    "host_disk_write_mb": ("host_written_bytes", MEBI),
    "host_disk_read_ops": ("host_reads", 1),
    "host_disk_write_ops": ("host_writes", 1),
    "network_sent_mb": ("sent_bytes", MEBI),
    "network_recv_mb": ("received_bytes", MEBI),
}
_WAITING = {
    "run_queue": "waited",
    "storage": "pressure_io_some",
    "memory": "pressure_memory_some",
    "processor": "pressure_cpu_some",
}


def summary_values(profile: Profile) -> dict[str, Any]:
    """The fields of a ProfilingSummary."""
    whole, verdict, growth = profile.usage.whole, profile.verdict, profile.memory_per_sample
    sums, seconds = whole.sums, whole.seconds
    cpu, written = _over(sums.get("cpu"), seconds, 100), _over(sums.get("written_bytes"), seconds, 1 / MEBI)
    return {
        "total_duration_seconds": profile.seconds,
        "training_duration_seconds": profile.training_seconds,
        "start_time": profile.started,
        "end_time": profile.ended,
        "num_snapshots": whole.last - whole.first + 1,
        "gaps": whole.missed + profile.usage.failed,
        **_memory(profile),
        "memory_per_sample_mb": None if growth is None else growth.value / MEBI,
        "memory_per_sample_interval_mb": None if growth is None else (growth.low / MEBI, growth.high / MEBI),
        "memory_trend": profile.trend,
        "cpu_avg_percent": cpu,
        "peak_cpu_percent": _times(whole.peaks.get("cpu_rate"), 100),
        "avg_cpu_per_core": tuple(100 * share for share in whole.cores),
        "cpu_bottleneck_detected": _reached("cpu", cpu),
        "total_disk_read_mb": _times(sums.get("read_bytes"), 1 / MEBI),
        "total_disk_write_mb": _times(sums.get("written_bytes"), 1 / MEBI),
        "total_disk_read_ops": sums.get("reads"),
        "total_disk_write_ops": sums.get("writes"),
        "avg_write_speed_mbps": written,
        "host_disk_read_mb": _times(sums.get("host_read_bytes"), 1 / MEBI),
        "host_disk_write_mb": _times(sums.get("host_written_bytes"), 1 / MEBI),
        "disk_io_bottleneck_detected": _reached("disk_io", written),
        "total_network_sent_mb": _times(sums.get("sent_bytes"), 1 / MEBI),
        "total_network_recv_mb": _times(sums.get("received_bytes"), 1 / MEBI),
        **_progress(profile),
        "run_queue_seconds": sums.get("waited"),
        "sampling_cpu_percent": _over(sums.get("sampler"), seconds, 100),
        "primary_bottleneck": verdict.primary,
        "bottleneck_confidence": verdict.score,
        "bottleneck_confidence_kind": verdict.kind,
        "bottleneck_mode": verdict.mode,
        "bottleneck_scores": verdict.scores,
        "other_bottlenecks": verdict.others,
        "not_measured": profile.usage.absent,
    }


def snapshot_values(profile: Profile) -> Iterator[dict[str, Any]]:
    """The fields of each ResourceSnapshot."""
    ticks = profile.ticks
    counted = {name: totals(ticks, source) for name, (source, _) in _COUNTERS.items()}
    waited = {name: totals(ticks, source) for name, source in _WAITING.items()}
    steady = 0.0
    for at, tick in enumerate(ticks):
        steady += tick.seconds
        counters = {
            name: counted[name][at] / unit if source in tick.sums else None
            for name, (source, unit) in _COUNTERS.items()
        }
        yield {
            "timestamp": tick.time,
            "monotonic_seconds": steady,
            "memory_mb": _times(tick.gauges.get("rss"), 1 / MEBI),
            "memory_percent": _times(tick.gauges.get("host_memory_share"), 100),
            "cpu_percent": _over(tick.sums.get("cpu"), tick.seconds, 100),
            "cpu_per_core": tuple(100 * share for share in tick.cores),
            **counters,
            "waiting": {name: waited[name][at] for name, source in _WAITING.items() if source in tick.sums},
            "gpu": _gpus(tick),
        }


def _memory(profile: Profile) -> dict[str, float | None]:
    whole = profile.usage.whole
    return {
        "peak_memory_mb": _times(whole.peaks.get("rss"), 1 / MEBI),
        "avg_memory_mb": _times(whole.gauges.get("rss"), 1 / MEBI),
        "peak_memory_shared_once_mb": _times(whole.peaks.get("pss"), 1 / MEBI),
    }


def _progress(profile: Profile) -> dict[str, Any]:
    latency = profile.latency
    return {
        "avg_network_latency_ms": None if latency is None else 1000 * latency.mean,
        "localhost_latency_ms": _times(profile.loopback, 1000),
        "calls_per_sample": None if latency is None or not profile.samples else latency.count / profile.samples,
        "samples_processed": profile.samples,
        "samples_per_second": profile.rate(profile.samples),
        "tokens_per_second": None if profile.tokens is None else profile.rate(profile.tokens),
        "node_stats": {name: _timing(timing) for name, timing in profile.nodes.items()},
        "event_stats": {name: _timing(timing) for name, timing in profile.events.items()},
    }


def _timing(timing: Timing) -> Mapping[str, float]:
    return {
        "count": timing.count,
        "avg_ms": 1000 * timing.mean,
        "std_ms": 1000 * timing.deviation,
        "min_ms": 1000 * timing.least,
        "max_ms": 1000 * timing.most,
        "total_seconds": timing.total,
    }


def _gpus(tick: Tick) -> list[dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, value in tick.gauges.items():
        card, _, figure = name.partition("_")
        if card.startswith("gpu"):
            found.setdefault(card, {})[figure] = value
    return [*found.values()]


def _over(amount: float | None, seconds: float, factor: float) -> float | None:
    return None if amount is None or seconds <= 0 else factor * amount / seconds


def _times(amount: float | None, factor: float) -> float | None:
    return None if amount is None else factor * amount


def _reached(name: str, figure: float | None) -> bool | None:
    return None if figure is None else figure >= THRESHOLDS[name][1]
