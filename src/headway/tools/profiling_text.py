"""A profiling summary in words, section by section; what was not measured says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNITS = {
    "_mb": "2^20 bytes",
    "_mbps": "2^20 bytes per second",
    "_ms": "milliseconds",
    "_seconds": "seconds",
    "_percent": "per cent; of a process 100 is one core, of memory all that the system has",
    "_ops": "of processes system calls, of the host operations of its disks",
    "timestamp": "seconds since 1970-01-01 UTC",
    "cpu_per_core": "per cent of each core of the machine, whoever used it",
    "network": "the whole machine",
    "gpu": "busy and cores_active as shares of 1, memory in bytes, watts, megahertz",
}
_SECTIONS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "timing": (
        ("total", "total_duration_seconds", "{:.2f} s"),
        ("training", "training_duration_seconds", "{:.2f} s"),
        ("samples", "samples_processed", "{:,}"),
        ("samples per second", "samples_per_second", "{:,.1f}"),
        ("tokens per second", "tokens_per_second", "{:,.0f}"),
    ),
    "memory": (
        ("peak", "peak_memory_mb", "{:,.1f} MiB"),
        ("average", "avg_memory_mb", "{:,.1f} MiB"),
        ("growth per sample", "memory_per_sample_mb", "{:.6f} MiB"),
        ("trend", "memory_trend", "{}"),
    ),
    "processor": (
        ("average", "cpu_avg_percent", "{:.1f} % of a core"),
        ("peak", "peak_cpu_percent", "{:.1f} % of a core"),
        ("waiting for a core", "run_queue_seconds", "{:.2f} s"),
        ("measuring itself", "sampling_cpu_percent", "{:.2f} % of a core"),
    ),
    "disk": (
        ("read", "total_disk_read_mb", "{:,.1f} MiB"),
        ("written", "total_disk_write_mb", "{:,.1f} MiB"),
        ("read calls", "total_disk_read_ops", "{:,.0f}"),
        ("write calls", "total_disk_write_ops", "{:,.0f}"),
        ("write speed", "avg_write_speed_mbps", "{:.2f} MiB/s"),
        ("written by the whole machine", "host_disk_write_mb", "{:,.1f} MiB"),
    ),
    "network": (
        ("sent", "total_network_sent_mb", "{:,.2f} MiB"),
        ("received", "total_network_recv_mb", "{:,.2f} MiB"),
        ("service latency", "avg_network_latency_ms", "{:.2f} ms"),
        ("localhost latency", "localhost_latency_ms", "{:.3f} ms"),
    ),
    "bottleneck": (
        ("nearest to its threshold", "primary_bottleneck", "{}"),
        ("score (no probability)", "bottleneck_confidence", "{:.0%}"),
    ),
}


def summary_text(summary: Mapping[str, Any]) -> str:
    """The sections, one line a figure."""
    lines: list[str] = []
    for title, rows in _SECTIONS.items():
        lines.append(title)
        lines += [f"  {label}: {_shown(summary[name], shape)}" for label, name, shape in rows]
    for title, name in (("per node", "node_stats"), ("per event", "event_stats")):
        if summary[name]:
            lines.append(title)
            lines += [f"  {each}: {_timing(stats)}" for each, stats in summary[name].items()]
    if summary["not_measured"]:
        lines.append("not measured")
        lines += [f"  {what}: {why}" for what, why in summary["not_measured"].items()]
    return "\n".join(lines)


def _shown(value: Any, shape: str) -> str:
    return "not measured" if value is None else shape.format(value)


def _timing(stats: Mapping[str, float]) -> str:
    return f"{stats['count']:,.0f} times, {stats['avg_ms']:.2f} ms on average, {stats['max_ms']:.2f} ms at most"
