"""The seeds' hardware analyser."""

import json
from pathlib import Path

import pytest
from made_machine import Made, means

from headway.errors import RunError
from headway.machine.tier import Tier
from headway.run import bench
from headway.tools import BenchmarkResults, HardwareAnalyzerV2, HardwareProfile, Unavailable

VALUES = {
    "disk.write": [500.0],
    "disk.read": [1000.0],
    "network.loopback": [0.02],
    "patterns.learn": [1e7],
    "store.write": [2e6],
    "store.bytes": [32.0],
}


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """What the bench measures in place of this machine."""
    values = Made(dict(VALUES))
    monkeypatch.setattr(bench, "probes", lambda: (values,))
    monkeypatch.setattr(bench, "Means", means)
    return values


@pytest.fixture
def analyzer(tmp_path: Path) -> HardwareAnalyzerV2:
    return HardwareAnalyzerV2(folder=tmp_path, cache_dir=tmp_path / "cache")


def test_the_example_of_the_seeds_runs(analyzer: HardwareAnalyzerV2, capsys: pytest.CaptureFixture[str]) -> None:
    profile = analyzer.analyze_full()

    print(f"Performance Tier: {profile.tier}")
    print(f"CPU Cores: {profile.cpu_cores}")
    print(f"RAM: {profile.ram_gb:.1f} GB")
    print(f"MongoDB Write: {profile.mongo_write_speed:.0f} docs/sec")
    print(f"Disk I/O: {profile.disk_write_speed:.1f} MB/s")
    print(f"Network Latency: {profile.network_latency_ms:.1f} ms")
    bottleneck = analyzer.predict_bottleneck(dataset_size=1_000_000, chunk_size=15, num_nodes=4)
    print(f"Predicted Bottleneck: {bottleneck}")

    shown = capsys.readouterr().out.splitlines()
    assert shown[0].removeprefix("Performance Tier: ") in list(Tier)
    assert shown[3:6] == ["MongoDB Write: unavailable docs/sec", "Disk I/O: 500.0 MB/s", "Network Latency: 0.0 ms"]
    assert shown[6].removeprefix("Predicted Bottleneck: ").split(" or ")[0] in ("cpu", "disk_write")


def test_a_profile_has_what_was_measured_and_says_what_was_not(analyzer: HardwareAnalyzerV2) -> None:
    profile = analyzer.analyze_full()

    assert isinstance(profile, HardwareProfile) and isinstance(profile.benchmarks, BenchmarkResults)
    assert (profile.store_write_speed, profile.benchmarks.disk_read_speed) == (2e6, 1000.0)
    assert profile.mongo_write_speed == Unavailable(profile.benchmarks.mongo_error or "")
    assert not profile.benchmarks.mongo_available and not profile.mongo_write_speed
    assert profile.benchmarks.disk_random_reads == Unavailable("this result was made without it")


def test_the_machine_is_measured_once_and_again_when_asked(
    analyzer: HardwareAnalyzerV2, made: Made, tmp_path: Path
) -> None:
    analyzer.analyze_full()
    asked = len(made.asked)
    analyzer.analyze_full()
    once = len(made.asked)
    HardwareAnalyzerV2(folder=tmp_path, cache_dir=tmp_path / "cache", again=True).analyze_full()

    assert (asked, once) == (once, asked)
    assert len(made.asked) == 2 * asked


def test_a_service_that_refuses_is_unavailable_and_no_latency(tmp_path: Path) -> None:
    profile = HardwareAnalyzerV2("http://127.0.0.1:9/", folder=tmp_path, cache_dir=tmp_path / "cache").analyze_full()

    assert isinstance(profile.benchmarks.service_latency_ms, Unavailable)
    assert profile.network_latency_ms == profile.benchmarks.localhost_latency_ms == 0.02


def test_a_prediction_marks_what_it_assumes(analyzer: HardwareAnalyzerV2) -> None:
    analyzer.analyze_full()

    assert analyzer.predict_bottleneck(1000, 15, 4).assumed == ("tokens_per_sample",)
    assert analyzer.predict_bottleneck(1000, 15, 4, tokens_per_sample=80).assumed == ()


def test_an_export_is_json_with_units_and_reasons(analyzer: HardwareAnalyzerV2, tmp_path: Path) -> None:
    analyzer.analyze_full()
    analyzer.export_json(tmp_path / "machine.json")
    known = json.loads((tmp_path / "machine.json").read_text())

    assert known["mongo_write_speed"] is None
    assert "MongoDB" in known["unavailable"]["mongo_write_speed"]
    assert "MongoDB" in known["unavailable"]["benchmarks.mongo_read_speed"]
    assert known["benchmarks"]["result"]["figures"][0]["values"] == [500.0] * 10
    assert known["units"]["disk_write_speed"] == "2^20 bytes per second"


def test_a_summary_shows_figures_with_intervals(
    analyzer: HardwareAnalyzerV2, capsys: pytest.CaptureFixture[str]
) -> None:
    analyzer.analyze_full()
    analyzer.print_summary()
    shown = capsys.readouterr().out

    assert "mongo_write_speed: unavailable" in shown
    assert "disk.write: 500 MiB/s (500 to 500)" in shown
    assert "gpu.copy: unavailable; there is none" in shown


def test_two_profiles_are_compared(analyzer: HardwareAnalyzerV2, made: Made, tmp_path: Path) -> None:
    analyzer.analyze_full()
    made.values["disk.write"] = [100.0]
    slower = HardwareAnalyzerV2(folder=tmp_path, cache_dir=tmp_path / "cache", again=True).analyze_full()
    found = {each.name: each for each in analyzer.compare(slower).differences}

    assert found["disk.write"].verdict == "different" and found["disk.write"].ratio == pytest.approx(0.2)
    assert found["disk.read"].verdict == "not different"


def test_asked_before_the_analysis_it_says_what_to_do() -> None:
    with pytest.raises(RunError, match=r"call analyze_full\(\) first"):
        HardwareAnalyzerV2().print_summary()


@pytest.mark.parametrize("form", ["", ".1f", ",.0f", "10d"])
def test_what_is_unavailable_prints_in_any_format(form: str) -> None:
    assert format(Unavailable("none"), form) == str(Unavailable("none")) == "unavailable"
