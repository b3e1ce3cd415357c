"""Merged runs: the same sums are the same bytes, however they were divided."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from headway.learners.patterns.compact import compact
from headway.learners.patterns.runs import RunFile, RunReader, RunWriter
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
