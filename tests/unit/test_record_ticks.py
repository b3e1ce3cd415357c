"""Ticks merge without losing a sum or a peak, in memory and on disk."""

import errno
import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.record.lines import LineFile
from headway.record.series import Series
from headway.record.tick import MOST_PROCESSES, OTHERS, Share, Tick, busiest, from_json, merged, single, to_json
from headway.record.ticklog import FOLDER, TickLog, read_ticks


def tick(number: int, *, cpu: float = 0.5, rss: float = 100.0, seconds: float = 1.0, **more: Any) -> Tick:
    return single(
        Tick(
            first=number, last=number, time=1000.0 + number, seconds=seconds, sums={"cpu": cpu}, gauges={"rss": rss},
            peaks={}, cores=(0.5, 1.0), processes={"7 python": Share(cpu, rss)}, **more,
        )
    )  # fmt: skip


def test_sums_add_up_means_stay_means_and_peaks_stay_peaks() -> None:
    both = merged(tick(0, cpu=1.5, rss=300.0), tick(1, cpu=0.0, rss=100.0, seconds=3.0, missed=2, jumped=-5.0))

    assert (both.first, both.last, both.seconds, both.time) == (0, 1, 4.0, 1001.0)
    assert (both.sums, both.gauges) == ({"cpu": 1.5}, {"rss": 150.0})
    assert both.peaks == {"rss": 300.0, "cpu_rate": 1.5, "core": 1.0}
    assert both.processes == {"7 python": Share(1.5, 300.0)}
    assert (both.missed, both.jumped) == (2, -5.0)


def test_what_one_tick_could_not_measure_is_not_zero_in_both() -> None:
    without = Tick(first=1, last=1, time=0, seconds=1.0, sums={}, gauges={}, peaks={}, cores=(), processes={})

    both = merged(tick(0, rss=300.0), without)
    assert (both.gauges, both.cores) == ({"rss": 300.0}, (0.5, 1.0))
    assert "read_bytes" not in both.sums


def test_processor_time_that_is_told_late_makes_no_peak() -> None:
    late = Tick(
        first=0, last=0, time=0, seconds=1.0, sums={"cpu": 9.0, "cpu_late": 8.5}, gauges={}, peaks={}, cores=(),
        processes={},
    )  # fmt: skip

    assert single(late).peaks == {"cpu_rate": 0.5}


def test_the_busiest_processes_keep_their_names_and_the_rest_adds_up() -> None:
    many = {f"{pid} worker": Share(float(pid), 10.0) for pid in range(MOST_PROCESSES + 8)}

    kept = busiest(many)
    assert len(kept) == MOST_PROCESSES
    assert kept[OTHERS] == Share(sum(range(9)), 90.0)
    assert f"{MOST_PROCESSES + 7} worker" in kept


@pytest.mark.parametrize("made", [tick(3), merged(tick(3, rss=9.5), tick(4)), tick(3, missed=1, jumped=2.5)])
def test_a_tick_is_the_same_after_it_was_written_and_read(made: Tick) -> None:
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


def test_a_series_spans_the_whole_time_within_its_bound() -> None:
    series = Series(8)
    ticks = [tick(number, cpu=number, rss=1000.0 if number == 41 else 1.0) for number in range(100)]
    for each in ticks:
        series.add(each)

    assert len(series.ticks) <= 8
    assert (series.ticks[0].first, series.ticks[-1].last) == (0, 99)
    whole = reduce(merged, series.ticks)
    assert (whole.sums["cpu"], whole.peaks["rss"]) == (sum(range(100)), 1000.0)


def written(run: Path, count: int, *, full_bytes: int = 3000, peak: int = 5) -> None:
    log = TickLog(run, full_bytes=full_bytes)
    for number in range(count):
        log.append(tick(number, cpu=1.0, rss=9999.0 if number == peak else 1.0))
    log.close()


def test_however_many_ticks_a_run_has_its_files_are_small_and_nothing_is_lost(tmp_path: Path) -> None:
    written(tmp_path, 2000)

    sizes = [path.stat().st_size for path in (tmp_path / FOLDER).iterdir()]
    ticks = read_ticks(tmp_path)
    whole = reduce(merged, ticks)
    assert max(sizes) < 4000
    assert sum(sizes) < 40_000
    assert (whole.first, whole.last, whole.sums["cpu"], whole.seconds) == (0, 1999, 2000.0, 2000.0)
    assert whole.peaks["rss"] == 9999.0
    assert [each.first for each in ticks[1:]] == [each.last + 1 for each in ticks[:-1]]
    assert ticks[-1].first == ticks[-1].last


def test_a_run_that_goes_on_uses_no_number_twice(tmp_path: Path) -> None:
    written(tmp_path, 7)
    written(tmp_path, 5)

    assert [each.first for each in read_ticks(tmp_path)] == [*range(12)]


def test_a_crash_while_older_ticks_move_on_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", crash)
        written(tmp_path, 100)
    assert (tmp_path / FOLDER / "ticks-1.jsonl").is_file()
    seen = reduce(merged, read_ticks(tmp_path))
    assert seen.sums["cpu"] == seen.last + 1

    written(tmp_path, 100)
    whole = reduce(merged, read_ticks(tmp_path))
    assert whole.sums["cpu"] == whole.last + 1 == seen.last + 101


def test_a_line_that_a_kill_cut_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, 3)
    path = tmp_path / FOLDER / "ticks-0.jsonl"
    path.write_bytes(path.read_bytes()[:-20])

    assert [each.last for each in read_ticks(tmp_path)] == [0, 1]
    written(tmp_path, 1)
    assert [each.last for each in read_ticks(tmp_path)] == [0, 1, 2]


def test_damage_is_named(tmp_path: Path) -> None:
    written(tmp_path, 3)
    path = tmp_path / FOLDER / "ticks-0.jsonl"
    path.write_text('{"ticks": 4}\n')

    with pytest.raises(RunError, match=r"ticks-0.jsonl line 1 is no tick"):
        read_ticks(tmp_path)
    with pytest.raises(RunError, match="its last line is no tick"):
        TickLog(tmp_path).append(tick(0))


def test_after_a_full_disk_ticks_are_written_again_and_the_gap_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: LineFile, line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = TickLog(tmp_path)
    log.append(tick(0))
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(LineFile, "append", full)
        log.append(tick(1))
    log.append(tick(2))
    log.close()

    assert [each.first for each in read_ticks(tmp_path)] == [0, 2]


def test_a_run_without_a_profile_has_no_ticks(tmp_path: Path) -> None:
    assert read_ticks(tmp_path) == []
