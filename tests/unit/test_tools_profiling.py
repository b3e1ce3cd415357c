"""The profiler of the seeds, as their examples use it."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest

from headway.errors import RunError
from headway.tools import ProfilingEngine, ProfilingSummary, ResourceSnapshot

# The example of the seeds with only its import line changed.
EXAMPLE = """
from headway.tools import ProfilingEngine

profiler = ProfilingEngine(sampling_interval=1.0)
profiler.start()

# Training code here...

summary = profiler.stop()
print(f"Peak RAM: {summary.peak_memory_mb:.2f} MB")
print(f"CPU Avg: {summary.cpu_avg_percent:.1f}%")
print(f"Bottleneck: {summary.primary_bottleneck} ({summary.bottleneck_confidence:.0%})")

profiler.export_json("training_profile.json")
"""
# What the reference lists.
FIELDS = """
total_duration_seconds training_duration_seconds peak_memory_mb avg_memory_mb memory_per_sample_mb memory_trend
cpu_avg_percent peak_cpu_percent avg_cpu_per_core cpu_bottleneck_detected total_disk_read_mb total_disk_write_mb
avg_write_speed_mbps disk_io_bottleneck_detected avg_network_latency_ms samples_processed samples_per_second
tokens_per_second node_stats event_stats primary_bottleneck bottleneck_confidence
"""


def engine() -> ProfilingEngine:
    return ProfilingEngine(sampling_interval=0.05)


def test_the_example_of_the_seeds_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", EXAMPLE], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["Peak RAM", "CPU Avg", "Bottleneck"]
    exported = json.loads((tmp_path / "training_profile.json").read_text())
    assert exported["version"] == 1
    assert exported["summary"]["peak_memory_mb"] > 1
    assert len(exported["snapshots"]) >= 1
    assert "_mb" in exported["units"]


def test_the_summary_has_every_field_of_the_seeds() -> None:
    with engine() as profiler:
        profiler.record_event("learn", 12.0, node="node0")
        profiler.record_sample_processed(num_tokens=30)
        profiler.record_network_latency(4.0)
    summary = profiler.generate_report()

    assert isinstance(summary, ProfilingSummary)
    assert {*FIELDS.split()} <= asdict(summary).keys()
    assert summary.node_stats["node0"]["avg_ms"] == summary.event_stats["learn"]["max_ms"] == 12.0
    assert (summary.samples_processed, summary.avg_network_latency_ms, summary.calls_per_sample) == (1, 4.0, 1.0)
    assert summary.avg_cpu_percent == summary.cpu_avg_percent
    assert summary.bottleneck_confidence_kind == "score"
    assert summary.memory_per_sample_mb is None


def test_a_snapshot_says_what_was_at_a_moment_and_does_not_change() -> None:
    with engine() as profiler:
        pass
    snapshot = profiler.snapshots[-1]

    assert isinstance(snapshot, ResourceSnapshot)
    assert snapshot.memory_mb is not None
    with pytest.raises(FrozenInstanceError):
        snapshot.memory_mb = 0.0  # type: ignore[misc]


def test_stopping_twice_is_harmless_and_starting_again_begins_anew() -> None:
    profiler = ProfilingEngine(sampling_interval_seconds=0.05)
    profiler.start()
    profiler.record_sample_processed()
    first = profiler.stop()
    assert profiler.stop() == first
    profiler.start()

    assert profiler.stop().samples_processed == 0
    assert (profiler.sampling_interval, first.samples_processed) == (0.05, 1)


def test_without_a_start_nothing_is_made_up() -> None:
    with pytest.raises(RunError, match=r"call start\(\) first"):
        ProfilingEngine().stop()


def test_the_summary_is_printed_by_section(capsys: pytest.CaptureFixture[str]) -> None:
    profiler = ProfilingEngine(0.05, verbose=True)
    profiler.start()
    profiler.record_event("learn", 12.0, node="node0")
    profiler.stop()

    printed = capsys.readouterr().out
    titles = ("timing", "memory", "processor", "disk", "network", "bottleneck", "per node", "per event")
    assert [title for title in titles if f"\n{title}\n" not in f"\n{printed}"] == []
    assert "service latency: not measured" in printed


def test_a_profile_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with engine() as profiler:
        pass
    (tmp_path / "folder").mkdir()

    with pytest.raises((RunError, IsADirectoryError)):
        profiler.export_json(tmp_path / "folder")


def test_the_engine_needs_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; from headway.tools import ProfilingEngine; print('there')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout == "there\n", done.stderr
