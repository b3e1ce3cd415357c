"""The seeds' view of a machine: what is here, and what the bench has measured of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from headway.errors import RunError
from headway.machine.compare import Comparison, compare
from headway.machine.hardware import Hardware, hardware
from headway.machine.limits import TOKENS_PER_SAMPLE, BottleneckPrediction, Workload, predict
from headway.machine.result import BenchResult
from headway.machine.tier import Tier, tier
from headway.outside import put
from headway.run.bench import BenchSettings, bench_machine
from headway.tools.learner import say
from headway.tools.unavailable import Measured, Unavailable

_GIB = 1 << 30
_FORMAT = 1
_NO_MONGO = "Headway keeps patterns in memories of its own; a MongoDB server is not measured"
_HEALTH = "/health"
# Suffixes of names, as every export of the tools explains them.
_UNITS = {
    "_gb": "2^30 bytes",
    "_ms": "milliseconds",
    "disk_write_speed": "2^20 bytes per second",
    "disk_read_speed": "2^20 bytes per second",
    "disk_random_reads": "reads of 4 KiB per second",
    "disk_small_files": "files of 4 KiB per second",
    "mongo_write_speed": "documents per second",
    "mongo_read_speed": "documents per second",
    "store_write_speed": "patterns per second",
    "store_read_speed": "patterns per second",
    "memory_bandwidth": "2^30 bytes per second, read and written, each counted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkResults:
    """Medians of what was measured; `result` has every repetition, its interval and how it was measured."""

    mongo_available: bool
    mongo_error: str | None
    mongo_write_speed: Measured
    mongo_read_speed: Measured
    mongo_insert_latency_ms: Measured
    store_write_speed: Measured
    """Of the embedded memory: patterns learned and durable."""
    store_read_speed: Measured
    store_commit_ms: Measured
    """One document, until it is durable."""
    disk_write_speed: Measured
    disk_read_speed: Measured
    disk_random_reads: Measured
    disk_small_files: Measured
    disk_fsync_ms: Measured
    service_latency_ms: Measured
    localhost_latency_ms: Measured
    memory_bandwidth: Measured
    result: BenchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareProfile:
    """The machine as programs of the seeds read it."""

    tier: Tier | Unavailable
    cpu_cores: int | Unavailable
    """Of the machine; `usable_cores` is what this process may keep busy."""
    usable_cores: int
    ram_gb: float
    mongo_write_speed: Measured
    store_write_speed: Measured
    disk_write_speed: Measured
    network_latency_ms: Measured
    """To the service, where one was named; else within this machine."""
    disk_free_gb: float
    hardware: Hardware
    benchmarks: BenchmarkResults


class HardwareAnalyzerV2:
    """Looks at the machine and measures it once; later analyses use what is remembered."""

    def __init__(
        self,
        kato_url: str | None = None,
        *,
        folder: Path | str = ".",
        cache_dir: Path | str | None = None,
        again: bool = False,
    ) -> None:
        self._settings = BenchSettings(
            folder=Path(folder),
            cache=None if cache_dir is None else Path(cache_dir),
            again=again,
            service_url=None if kato_url is None else kato_url.rstrip("/") + _HEALTH,
        )
        self._profile: HardwareProfile | None = None

    def analyze_full(self) -> HardwareProfile:
        """Describe and measure, in 90 seconds at most; at once where this machine was measured before."""
        here = hardware((self._settings.folder,))
        self._profile = _profile(here, bench_machine(self._settings).result)
        return self._profile

    def predict_bottleneck(
        self, dataset_size: int, chunk_size: int, num_nodes: int, tokens_per_sample: float | None = None
    ) -> BottleneckPrediction:
        """What will bound a training of so many samples; of 500 tokens each, marked as assumed, unless told."""
        profile = self._analysed()
        work = Workload(
            samples=dataset_size,
            chunk_size=chunk_size,
            levels=num_nodes,
            tokens_per_sample=TOKENS_PER_SAMPLE if tokens_per_sample is None else tokens_per_sample,
        )
        return predict(
            profile.benchmarks.result,
            work,
            cores=profile.usable_cores,
            free_bytes=profile.hardware.disks[0].free_bytes,
            assumed=("tokens_per_sample",) if tokens_per_sample is None else (),
        )

    def compare(self, other: HardwareProfile) -> Comparison:
        """What differs from the analysed machine to another one."""
        return compare(self._analysed().benchmarks.result.figures, other.benchmarks.result.figures)

    def print_summary(self) -> None:
        """Show the profile, every figure with its interval."""
        profile = self._analysed()
        for name, value in _plain(profile).items():
            if not isinstance(value, dict):
                say(f"{name}: {'unavailable' if value is None else value}")
        for figure in profile.benchmarks.result.figures:
            shown = "unavailable" if figure.median is None else f"{figure.median:.4g} {figure.unit}"
            between = figure.interval and f" ({figure.interval[0]:.4g} to {figure.interval[1]:.4g})"
            say(f"{figure.name}: {shown}{between or ''}{'; ' + figure.why if figure.why else ''}")

    def export_json(self, path: Path | str) -> None:
        """Write everything, repetitions included, with its units; what was not measured is null, with the reason."""
        profile = self._analysed()
        content = {"format": _FORMAT, "units": _UNITS, **_plain(profile), "unavailable": _reasons(profile)}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        put(Path(path), text.encode(), kept="nothing was exported")

    def _analysed(self) -> HardwareProfile:
        if self._profile is None:
            raise RunError("nothing was analysed yet; call analyze_full() first")
        return self._profile


def _profile(here: Hardware, result: BenchResult) -> HardwareProfile:
    size = tier(here.processor.logical_cores, here.memory.total_bytes)
    uncounted = Unavailable(here.absent.get("processor.logical_cores", ""))
    measured = _results(result)
    service = measured.service_latency_ms
    return HardwareProfile(
        tier=size or uncounted,
        cpu_cores=here.processor.logical_cores or uncounted,
        usable_cores=here.processor.usable_cores,
        ram_gb=here.memory.total_bytes / _GIB,
        mongo_write_speed=measured.mongo_write_speed,
        store_write_speed=measured.store_write_speed,
        disk_write_speed=measured.disk_write_speed,
        network_latency_ms=measured.localhost_latency_ms if isinstance(service, Unavailable) else service,
        disk_free_gb=here.disks[0].free_bytes / _GIB,
        hardware=here,
        benchmarks=measured,
    )


def _results(result: BenchResult) -> BenchmarkResults:
    def of(name: str) -> Measured:
        figure = result.figure(name)
        return Unavailable(figure.why or "it was not measured") if figure.median is None else figure.median

    no_mongo = Unavailable(_NO_MONGO)
    return BenchmarkResults(
        mongo_available=False,
        mongo_error=_NO_MONGO,
        mongo_write_speed=no_mongo,
        mongo_read_speed=no_mongo,
        mongo_insert_latency_ms=no_mongo,
        store_write_speed=of("store.write"),
        store_read_speed=of("store.read"),
        store_commit_ms=of("store.commit"),
        disk_write_speed=of("disk.write"),
        disk_read_speed=of("disk.read"),
        disk_random_reads=of("disk.random_read"),
        disk_small_files=of("disk.small_files"),
        disk_fsync_ms=of("disk.fsync"),
        service_latency_ms=of("network.service"),
        localhost_latency_ms=of("network.loopback"),
        memory_bandwidth=of("memory.copy_all"),
        result=result,
    )


def _plain(value: HardwareProfile | BenchmarkResults) -> dict[str, Any]:
    """Ready for JSON, with None for what is unavailable."""

    def of(each: Any) -> Any:
        if isinstance(each, Unavailable):
            return None
        if isinstance(each, BenchmarkResults):
            return _plain(each)
        return each.to_json() if isinstance(each, Hardware | BenchResult) else each

    return {field.name: of(getattr(value, field.name)) for field in fields(value)}


def _reasons(profile: HardwareProfile) -> dict[str, str]:
    """Why a field of the profile or of its benchmarks is null."""
    parts = (("", profile), ("benchmarks.", profile.benchmarks))
    every = ((above + field.name, getattr(part, field.name)) for above, part in parts for field in fields(part))
    return {name: value.why for name, value in every if isinstance(value, Unavailable)}
