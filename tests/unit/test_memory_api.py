"""A memory as its user sees it."""

import csv
import json
import os
import stat
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from made_memory import rows, trained

from headway.errors import MemoryDamage, RunError
from headway.learners.patterns import hierarchy, level
from headway.learners.patterns.memory import Memory, open_memory
from headway.learners.patterns.naming import name_of
from headway.learners.patterns.tally import tally
from plain_learner import PlainLearner

TEXTS = ["the cat sat on the mat", "the cat sat on the hat", "the cat sat on the mat the cat sat on the mat"]
WORDS = sorted({word for text in TEXTS for word in text.split()})


def plain(texts: list[str], widths: tuple[int, ...] = (3, 2)) -> PlainLearner:
    learner = PlainLearner(WORDS, widths=widths)
    for text in texts:
        learner.learn([[WORDS.index(word) for word in text.split()]])
    return learner


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("cats"), TEXTS, tokenizer="words", metadata="documents", source="cats")


@pytest.fixture
def memory(run: Path) -> Memory:
    return open_memory(run)


def test_a_level_iterates_over_its_patterns_in_order_of_name(memory: Memory) -> None:
    patterns = list(memory.patterns(level=0))

    assert [(p.name, p.frequency, p.length) for p in patterns] == plain(TEXTS).rows()[0]
    assert {p.symbols for p in patterns} == {("the", "cat", "sat"), ("on", "the", "mat"), ("on", "the", "hat")}
    assert all(p.level == 0 and p.length == len(p.symbols) for p in patterns)


def test_the_symbols_of_a_parent_are_names_of_its_children(memory: Memory) -> None:
    for parent in memory.patterns(level=1):
        assert parent.name == "PTRN|" + name_of([[symbol] for symbol in parent.symbols])
        assert all(memory[symbol].level == 0 for symbol in parent.symbols)


def test_all_patterns_are_those_of_every_level(memory: Memory) -> None:
    assert list(memory) == [*memory.patterns(0), *memory.patterns(1)]
    assert len(memory) == len(list(memory)) == sum(len(each) for each in memory.levels)
    assert rows(memory) == plain(TEXTS).rows()


def test_a_pattern_is_found_by_its_name_with_or_without_the_prefix(memory: Memory) -> None:
    for pattern in memory:
        assert memory[pattern.name] == memory[pattern.name.removeprefix("PTRN|")] == pattern
        assert pattern.name in memory


def test_what_was_never_learned_is_not_there(memory: Memory) -> None:
    unknown = "PTRN|" + "0" * 40

    assert memory.get(unknown) is None
    assert unknown not in memory
    assert "cat" not in memory
    assert 7 not in memory
    with pytest.raises(KeyError):
        memory[unknown]
    nameless: list[Any] = ["cat", 0]
    for name in nameless:
        with pytest.raises(RunError, match=rf"{name!r} is not a pattern name; a name is .* 40 hex digits"):
            memory[name]
    with pytest.raises(RunError, match="levels 0 to 1, not 2"):
        memory.level(2)


def test_a_memory_and_a_level_tell_what_they_are_without_reading_anything(memory: Memory) -> None:
    assert repr(memory) == f"Memory({str(memory.folder)!r}, widths=(3, 2), documents=3)"
    assert repr(memory.level(1)) == "Level(1, width=2, observed=4, runs=1)"
    assert "readers" not in vars(memory.level(1).store)


def test_text_is_decoded_from_any_level(memory: Memory) -> None:
    assert {memory.text(pattern) for pattern in memory.patterns(1)} == {
        "the cat sat on the mat",
        "the cat sat on the hat",
    }
    assert memory.text(memory.top(1)[0]) == "the cat sat"


def test_a_level_becomes_an_arrow_table(memory: Memory) -> None:
    for number in (0, 1):
        table = memory.level(number).to_arrow()

        assert table.column_names == ["name", "frequency", "length", "symbols"]
        assert table.to_pylist() == [
            {"name": p.name, "frequency": p.frequency, "length": p.length, "symbols": list(p.symbols)}
            for p in memory.patterns(number)
        ]


def test_a_table_of_many_symbols_is_cut_into_batches(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memory.level(0).to_arrow()
    monkeypatch.setattr("headway.learners.patterns.arrow._SYMBOLS_AT_ONCE", 4)

    table = memory.level(0).to_arrow()

    assert table.to_pylist() == whole.to_pylist()
    assert table["name"].num_chunks == len(memory.level(0))


def test_top_is_by_frequency_and_equal_ones_are_by_name(memory: Memory) -> None:
    expected = sorted(memory.patterns(0), key=lambda p: (-p.frequency, p.name))

    assert [memory.top(number) for number in range(4)] == [expected[:number] for number in range(4)]
    assert memory.top(99) == expected


def test_ties_at_the_end_of_top_are_the_first_by_name(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(300)]
    with open_memory(trained(tmp_path, [" ".join(words)], tokenizer="words")) as memory:
        names = sorted(pattern.name for pattern in memory.patterns(0))

        assert {pattern.frequency for pattern in memory.patterns(0)} == {1}
        assert [pattern.name for pattern in memory.top(7)] == names[:7]


def test_metadata_names_the_documents_that_began_with_a_pattern(memory: Memory) -> None:
    noted = {memory.text(pattern): memory.metadata(pattern) for pattern in memory}

    def said(*numbers: int) -> dict[str, list[str]]:
        titles = [f"cats_sample_{number}" for number in numbers]
        return {"author": ["Unknown"], "book_idx": ["1"], "title": titles}

    assert noted == {
        "the cat sat": said(0, 1, 2),
        "on the mat": {},
        "on the hat": {},
        "the cat sat on the mat": said(0, 2),
        "the cat sat on the hat": said(1),
    }


def test_internal_keys_change_nothing_that_is_seen_of_a_memory(memory: Memory, tmp_path: Path) -> None:
    run = trained(tmp_path, TEXTS, tokenizer="words", names="internal", metadata="documents", source="cats")
    with open_memory(run) as internal:
        assert rows(internal) == rows(memory)
        assert {p.name: p.symbols for p in internal} == {p.name: p.symbols for p in memory}
        assert {p.name: internal.metadata(p) for p in internal} == {p.name: memory.metadata(p) for p in memory}
        assert {internal.text(p) for p in internal} == {memory.text(p) for p in memory}
        assert internal.verify().problems == []
        assert all(internal[p.name].symbols == p.symbols for p in memory)
        assert internal.get("PTRN|" + "0" * 40) is None


def test_a_level_of_width_one_hands_the_empty_name_upward(tmp_path: Path) -> None:
    text = " ".join(["a"] * 60)
    with open_memory(trained(tmp_path, [text], tokenizer="words", widths=(5, 1, 4))) as memory:
        learner = PlainLearner(["a"], widths=(5, 1, 4))
        learner.learn([[0] * 60])

        assert rows(memory) == learner.rows()
        assert [p.symbols for p in memory.patterns(2)] == [("",) * 4]
        assert memory.level(2).to_arrow()["symbols"].to_pylist() == [[""] * 4]
        assert [memory.text(p) for p in memory.patterns(2)] == [""]
        assert memory.level(1).repeats is None
        assert memory.level(1).to_arrow().num_rows == 0
        assert memory.verify().problems == []


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_an_export_holds_every_pattern(memory: Memory, tmp_path: Path, format: Any) -> None:
    path = tmp_path / f"out.{format}"

    assert memory.export(path, format=format) == len(memory)
    assert memory.export(tmp_path / "one", format=format, level=1) == len(memory.level(1))

    expected = [[p.level, p.name, p.frequency, p.length, list(p.symbols)] for p in memory]
    assert read(path, format) == expected
    assert [path.name for path in tmp_path.rglob("*.part")] == []


def read(path: Path, format: str) -> list[list[Any]]:
    if format == "parquet":
        return [list(row.values()) for row in parquet.read_table(path).to_pylist()]
    if format == "jsonl":
        return [list(json.loads(line).values()) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return [
            [int(row["level"]), row["name"], int(row["frequency"]), int(row["length"]), json.loads(row["symbols"])]
            for row in csv.DictReader(file)
        ]


def test_an_export_that_cannot_be_written_says_why_and_leaves_nothing(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown: Any = "xlsx"
    with pytest.raises(RunError, match=r"no format 'xlsx'; there are parquet, jsonl, csv"):
        memory.export(tmp_path / "x", format=unknown)
    with pytest.raises(RunError, match="is a folder"):
        memory.export(tmp_path, format="csv")
    monkeypatch.setattr(level.LevelStore, "named", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(RunError, match="disk is full"):
        memory.export(tmp_path / "y", format="jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_export_never_lands_in_a_run_a_memory_or_a_dataset(memory: Memory, run: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(run / "memory" / "manifest.json")
    dataset = Path(json.loads((run / "dataset.json").read_text())["folder"])
    before = {path: path.read_bytes() for path in run.rglob("*.json")}

    for path in (
        run / "memory" / "manifest.json",
        run / "memory" / "runs" / "x.csv",
        run / "plan.toml",
        dataset / "x.csv",
        tmp_path / "alias",
    ):
        with pytest.raises(RunError, match="which Headway keeps; give --output a place elsewhere"):
            memory.export(path, format="csv")

    assert {path: path.read_bytes() for path in run.rglob("*.json")} == before


def test_an_export_replaces_ordinary_files_only(memory: Memory, tmp_path: Path) -> None:
    # Of the test's own: a device such as /dev/null would be gone for all if this broke.
    pipe, end = tmp_path / "pipe", tmp_path / "end"
    os.mkfifo(pipe)
    os.mknod(end, stat.S_IFSOCK | 0o600)

    for path, what in ((pipe, "a pipe"), (tmp_path, "a folder"), (end, "a socket")):
        with pytest.raises(RunError, match=f"is {what}; give --output the name of an ordinary file"):
            memory.export(path, format="jsonl")

    assert pipe.is_fifo()
    assert end.is_socket()


def test_an_export_through_a_link_writes_what_the_link_means(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("old.jsonl", "new.jsonl"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    (tmp_path / "elsewhere" / "old.jsonl").write_text("old")

    for name in ("old.jsonl", "new.jsonl"):
        memory.export(tmp_path / name, format="jsonl")

        assert (tmp_path / name).is_symlink()
        assert len(read(tmp_path / "elsewhere" / name, "jsonl")) == len(memory)


def test_an_export_makes_no_folders(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"there is no folder .*deep; make it first"):
        memory.export(tmp_path / "deep" / "x.csv", format="csv")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_a_place_where_no_file_can_be_is_no_bug(memory: Memory, tmp_path: Path, format: Any) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    for path in (Path("/proc/x.csv"), tmp_path / "loop", tmp_path / ("x" * 300)):
        with pytest.raises(RunError, match="the memory is untouched"):
            memory.export(path, format=format)


def test_a_closed_memory_opens_its_files_again(memory: Memory) -> None:
    before = rows(memory)
    noted = [memory.metadata(pattern) for pattern in memory]
    memory.close()
    memory.close()

    assert rows(memory) == before
    assert [memory.metadata(pattern) for pattern in memory] == noted


def test_a_folder_without_a_memory_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not exist"):
        open_memory(tmp_path / "no")
    with pytest.raises(RunError, match="holds no memory"):
        open_memory(tmp_path)


def test_the_vocabulary_of_another_memory_is_refused(tmp_path: Path) -> None:
    run = trained(tmp_path / "a", TEXTS, tokenizer="words")
    other = trained(tmp_path / "b", ["x y z x y z"], tokenizer="words")
    (run / "memory" / "vocabulary.json").write_bytes((other / "memory" / "vocabulary.json").read_bytes())

    with pytest.raises(MemoryDamage, match="not the vocabulary"):
        list(open_memory(run))
    (run / "memory" / "vocabulary.json").unlink()
    with pytest.raises(MemoryDamage, match="missing"):
        list(open_memory(run))


# Two sequences under one 64-bit key.


def colliding(chosen: set[bytes], real: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`keys_of` under which all chosen names begin alike."""

    def keys_of(digests: Any) -> Any:
        keys = np.array(real(digests))
        keys[[row.astype(">u4").tobytes() in chosen for row in digests]] = 1 << 63
        return keys

    return keys_of


def test_patterns_that_share_a_key_keep_their_names_parents_symbols_and_counts(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen(memory: Memory) -> list[Any]:
        tables = [sorted(map(str, each.to_arrow().to_pylist())) for each in memory.levels]
        return [rows(memory), {p.name: (p.symbols, memory.text(p)) for p in memory}, tables]

    expected = seen(memory)
    chosen = {bytes.fromhex(p.name.removeprefix("PTRN|")) for p in memory.patterns(0)}
    keys_of = colliding(chosen, hierarchy.keys_of)
    monkeypatch.setattr(hierarchy, "keys_of", keys_of)
    monkeypatch.setattr(level, "keys_of", keys_of)

    with open_memory(trained(tmp_path, TEXTS, tokenizer="words")) as shared:
        assert {p.key for p in shared.patterns(0)} == {1 << 63}
        assert seen(shared) == expected
        assert shared.verify().problems == []


def test_a_parent_that_no_choice_of_children_explains_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(trained(tmp_path, TEXTS, tokenizer="words")) as memory:
        real = level.keys_of
        monkeypatch.setattr(level, "keys_of", lambda digests: real(digests) ^ np.uint64(1))

        with pytest.raises(MemoryDamage, match="level 0: the sequence stored under"):
            list(memory.patterns(0))


def test_counting_keeps_sequences_apart_that_share_a_key() -> None:
    sequences = [[1, 2], [1], [1, 2], [2, 1], [1], [1, 2], [9]]
    keys = np.array([5, 5, 5, 5, 5, 5, 3], np.uint64)
    lengths = np.array([len(sequence) for sequence in sequences], np.int32)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    symbols = np.array([symbol for sequence in sequences for symbol in sequence], np.uint16)

    found = tally(keys, starts, lengths, symbols)

    bounds = found.offsets.tolist()
    rows = [found.symbols[a:b].tolist() for a, b in pairwise(bounds)]
    assert found.keys.tolist() == [3, 5, 5, 5]
    assert list(zip(rows, found.counts.tolist(), strict=True)) == [([9], 1), ([1], 2), ([1, 2], 3), ([2, 1], 1)]


def test_counting_many_sequences_under_few_keys_is_exact_in_any_order() -> None:
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 4, 3000).astype(np.int32)
    starts = (np.cumsum(lengths) - lengths).astype(np.int64)
    symbols = rng.integers(0, 3, int(lengths.sum())).astype(np.uint32)
    keys = rng.integers(0, 2, 3000).astype(np.uint64)
    counts = rng.integers(1, 1 << 40, 3000).astype(np.uint64)
    expected: dict[tuple[int, tuple[int, ...]], int] = {}
    for i in range(3000):
        sequence = tuple(symbols[starts[i] : starts[i] + lengths[i]].tolist())
        expected[int(keys[i]), sequence] = expected.get((int(keys[i]), sequence), 0) + int(counts[i])

    found = tally(keys, starts, lengths, symbols, counts=counts)

    sequences = [tuple(found.symbols[a:b].tolist()) for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]
    pairs = list(zip(found.keys.tolist(), sequences, strict=True))
    assert pairs == sorted(expected)
    assert dict(zip(pairs, found.counts.tolist(), strict=True)) == expected


def test_a_name_has_a_text_too(tmp_path: Path) -> None:
    with open_memory(trained(tmp_path, ["abcabcabc"])) as memory:
        (most,) = memory.top(1)

        assert memory.text(most.name) == memory.text(most) == "abc"
        with pytest.raises(KeyError):
            memory.text("PTRN|" + "0" * 40)


def test_fewer_than_none_of_the_most_frequent_cannot_be_asked_for(tmp_path: Path) -> None:
    with open_memory(trained(tmp_path, ["abcabcabc"])) as memory, pytest.raises(RunError, match="0 or more"):
        memory.top(-3)
