"""Merged runs: the same sums are the same bytes, however they were divided."""

import resource
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest
from made_threads import PATIENCE_SECONDS

from headway.errors import MemoryDamage, RunError
from headway.learners.patterns import compactor
from headway.learners.patterns.compact import compact, rows_within
from headway.learners.patterns.compactor import Compactor, Ears, Merge, run_merges
from headway.learners.patterns.manifest import Identity, Manifest
from headway.learners.patterns.runs import RunFile, RunReader, RunWriter, open_runs
from headway.learners.patterns.tally import Tally

MANY = 3_000_000_000


def run(folder: Path, name: str, counts: dict[int, int]) -> RunFile:
    """A run file with these counts by key; each pattern is three symbols."""
    keys = np.array(sorted(counts), np.uint64)
    numbers = np.array([counts[int(key)] for key in keys], np.uint64)
    offsets = np.arange(len(keys) + 1) * 3
    symbols = np.repeat(keys, 3).astype(np.uint16)
    writer = RunWriter(folder / f"{name}.draft", level=0, dtype=np.uint16, largest=int(numbers.max()))
    writer.write(Tally(keys, numbers, offsets, symbols))
    return writer.close(name=f"{name}.L0.arrow")


def merged(folder: Path, *parts: dict[int, int], rows: int = 1 << 19) -> tuple[RunFile, bytes]:
    folder.mkdir()
    runs = [run(folder, f"part{i}", part) for i, part in enumerate(parts)]
    result = compact(folder, runs, taken=set(), rows=rows, stop=lambda: False)
    return result, (folder / result.file).read_bytes()


def test_how_frequent_patterns_were_divided_leaves_no_trace_in_the_bytes(tmp_path: Path) -> None:
    """Three milliards twice would not fit into 32 bits together, but they belong to two patterns."""
    once, once_bytes = merged(tmp_path / "once", {1: MANY, 2: MANY})
    divided, divided_bytes = merged(tmp_path / "divided", {1: MANY}, {2: MANY})

    assert divided_bytes == once_bytes
    assert divided == once


def test_a_sum_beyond_32_bits_is_exact(tmp_path: Path) -> None:
    result, content = merged(tmp_path / "both", {1: MANY, 5: 7}, {1: MANY})
    halves, halves_content = merged(tmp_path / "halves", {1: 2 * MANY - 1}, {1: 1, 5: 7})

    assert result.largest == 2 * MANY
    with RunReader(tmp_path / "both", result) as reader:
        assert reader.rows(0, 2).counts.tolist() == [2 * MANY, 7]
    assert (halves, halves_content) == (result, content)


@pytest.mark.parametrize("rows", [64, 1000, 1 << 19])
@pytest.mark.parametrize("batch_rows", [100, 777])
def test_the_size_of_ranges_and_the_number_of_runs_leave_no_trace(
    rows: int, batch_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges are merged in memory that is used again, and end anywhere within a batch of the file."""
    monkeypatch.setattr("headway.learners.patterns.runs.BATCH_ROWS", batch_rows)
    draw = np.random.default_rng(9)
    keys = draw.choice(draw.integers(0, 1 << 64, 3000, np.uint64), 9000)
    parts = [Counter(part.tolist()) for part in np.split(keys, [10, 2500, 2501])]

    once, once_bytes = merged(tmp_path / "once", Counter(keys.tolist()))
    divided, divided_bytes = merged(tmp_path / "divided", *parts, rows=rows)

    assert (divided, divided_bytes) == (once, once_bytes)
    assert divided.rows == len(set(keys.tolist()))


def test_more_runs_than_may_be_open_are_merged_by_way_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [{n: 1, 50: 2, 100 + n: n + 1} for n in range(11)]
    _, at_once = merged(tmp_path / "once", *parts)
    monkeypatch.setattr(compactor, "MOST_SOURCES", 3)
    (tmp_path / "stages").mkdir()
    runs = [run(tmp_path / "stages", f"part{i}", part) for i, part in enumerate(parts)]

    (merge,) = run_merges(tmp_path / "stages", [runs], taken=frozenset(each.file for each in runs))

    left = {path.name for path in (tmp_path / "stages").iterdir()} - {each.file for each in runs}
    assert left == {merge.result.file}
    assert (tmp_path / "stages" / merge.result.file).read_bytes() == at_once
    assert merge.sources == tuple(runs)


def test_wide_patterns_are_merged_fewer_at_a_time() -> None:
    narrow, wide = (RunFile("a.L0.arrow", 0, 1000, 1000, 0, 1, 1000 * stored, "") for stored in (26, 20_000))

    assert rows_within(1 << 24, [narrow]) > 100 * rows_within(1 << 24, [wide])


class TestInTheBackground:
    @pytest.fixture
    def manifest(self, tmp_path: Path) -> Manifest:
        identity = Identity((3,), "chunking", None, "whole", None, "kato", "", "none", "", "", "")
        return Manifest(identity, runs=tuple(run(tmp_path, f"part{n}", {n: 1, 9: 1}) for n in range(3)))

    @pytest.fixture
    def said(self) -> list[str]:
        return []

    @pytest.fixture
    def noted(self) -> list[str]:
        return []

    @pytest.fixture
    def at_work(self, tmp_path: Path, said: list[str], noted: list[str]) -> Iterator[Compactor]:
        made = Compactor(tmp_path, after=3, memory=1 << 20, ears=Ears(warn=said.append, note=noted.append))
        yield made
        made.close()

    def test_a_failure_costs_nothing_but_the_compaction(
        self, at_work: Compactor, manifest: Manifest, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> None:
            raise RunError("the disk is full")

        monkeypatch.setattr(compactor, "run_merges", full)
        at_work.consider(manifest)
        at_work.wait()

        assert at_work.take(manifest) == manifest
        assert "training goes on" in said[0] and "the disk is full" in said[0]

    def test_it_is_tried_again_when_more_has_piled_up(
        self, at_work: Compactor, manifest: Manifest, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.test_a_failure_costs_nothing_but_the_compaction(at_work, manifest, said, tmp_path, monkeypatch)
        monkeypatch.undo()
        at_work.consider(manifest)
        at_work.wait()
        assert at_work.take(manifest) == manifest

        more = replace(manifest, runs=(*manifest.runs, *(run(tmp_path, f"more{n}", {n: 1}) for n in range(3))))
        at_work.consider(more)
        at_work.wait()

        assert len(at_work.take(more).runs) == 1
        assert len(said) == 1

    def test_damage_is_never_merged_over(self, at_work: Compactor, manifest: Manifest, tmp_path: Path) -> None:
        path = tmp_path / manifest.runs[0].file
        path.write_bytes(path.read_bytes()[:-9] + b"\0" * 9)
        at_work.consider(manifest)
        at_work.wait()

        with pytest.raises(MemoryDamage, match="checksum"):
            at_work.take(manifest)

    def test_none_is_begun_once_the_run_is_over(self, at_work: Compactor, manifest: Manifest, tmp_path: Path) -> None:
        before = {path.name for path in tmp_path.iterdir()}
        at_work.rest()
        at_work.consider(manifest)
        at_work.wait()

        assert at_work.take(manifest) == manifest
        assert {path.name for path in tmp_path.iterdir()} == before

    def test_runs_that_come_faster_than_they_are_merged_are_waited_for(
        self, at_work: Compactor, manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, may_end = Event(), Event()

        def slow(*given: Any, **options: Any) -> list[Merge]:
            begun.set()
            assert may_end.wait(PATIENCE_SECONDS)
            return run_merges(*given, **options)

        monkeypatch.setattr(compactor, "run_merges", slow)
        at_work.consider(manifest)
        assert begun.wait(PATIENCE_SECONDS)
        few = replace(manifest, runs=(*manifest.runs, *(run(tmp_path, f"more{n}", {n: 1}) for n in range(8))))
        many = replace(few, runs=(*few.runs, run(tmp_path, "last", {1: 1})))

        assert at_work.take(few) == few
        Timer(0.1, may_end.set).start()
        assert len(at_work.take(many).runs) == 10


def test_more_files_than_a_process_may_open_are_said_with_what_to_do(tmp_path: Path) -> None:
    runs = [run(tmp_path, f"part{n}", {n: 1}) for n in range(40)]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (tmp_path / "last").open("w") as last:
        resource.setrlimit(resource.RLIMIT_NOFILE, (last.fileno() + 20, before[1]))
        try:
            with pytest.raises(RunError, match="headway memory compact"):
                open_runs(tmp_path, runs)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
