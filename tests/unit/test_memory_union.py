"""Adding one memory to another."""

import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from made_memory import rows, trained

from headway.durable import sync_folder
from headway.errors import MemoryDamage, RunError
from headway.learners.patterns import union
from headway.learners.patterns.manifest import Manifest, Origin
from headway.learners.patterns.memory import open_memory
from headway.learners.patterns.union import found, merge_into


def texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("ab", k=rng.randint(5, 40))) for _ in range(30)]


def seen(folder: Path) -> Any:
    """Every pattern, after a check that nothing in the folder is wrong."""
    with open_memory(folder) as memory:
        assert memory.verify().problems == []
        return rows(memory), memory.manifest.documents, memory.manifest.tokens


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two trainings, and one on the texts of both."""
    folder = tmp_path_factory.mktemp("union")
    kinds: dict[str, Any] = {"metadata": "documents"}
    return {
        "one": trained(folder / "one", texts(1), source="one", **kinds),
        "two": trained(folder / "two", texts(2), source="two", **kinds),
        "both": trained(folder / "both", texts(1) + texts(2), **kinds),
    }


@pytest.fixture
def one(runs: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the first memory, to be changed."""
    return Path(shutil.copytree(runs["one"] / "memory", tmp_path / "mine"))


def test_the_sum_is_what_one_training_on_everything_gives(runs: dict[str, Path], one: Path) -> None:
    with open_memory(one) as memory:
        memory.add(runs["two"])

        assert rows(memory) == rows(open_memory(runs["both"]))

    assert seen(one) == seen(runs["both"])
    assert seen(runs["two"])[1] == 30


def test_the_same_memory_added_again_doubles_every_frequency(runs: dict[str, Path], one: Path) -> None:
    before = seen(one)[0]
    with open_memory(one) as memory:
        memory.add(open_memory(runs["one"]))
        memory.add(runs["one"] / "memory")

    assert seen(one)[0] == [[(name, 3 * frequency, length) for name, frequency, length in level] for level in before]


def test_compaction_of_a_sum_is_compaction_of_the_whole(runs: dict[str, Path], one: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(runs["both"] / "memory", tmp_path / "whole"))
    merge_into(one, runs["two"] / "memory")
    for folder in (one, whole):
        with open_memory(folder) as memory:
            memory.compact()

    def content(folder: Path) -> set[bytes]:
        return {path.read_bytes() for path in (folder / "runs").glob("*.L*.arrow")}

    assert content(one) == content(whole)


def test_under_one_word_a_memory_is_added_once(runs: dict[str, Path], one: Path) -> None:
    for _ in range(3):
        merge_into(one, runs["two"] / "memory", once="call 7")
        with open_memory(one) as memory:
            memory.add(runs["two"], once="call 7")
            memory.compact()

    assert seen(one) == seen(runs["both"])


@pytest.mark.parametrize("steps", range(0, 40, 3))
def test_killed_at_any_step_it_added_everything_or_nothing(
    runs: dict[str, Path], one: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    before, after = seen(one), seen(runs["both"])
    left = [steps]

    def fragile(work: Any) -> Any:
        def step(*given: Any, **named: Any) -> Any:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return work(*given, **named)

        return step

    with monkeypatch.context() as patch, open_memory(one) as memory:
        patch.setattr(os, "link", fragile(os.link))
        patch.setattr(os, "fsync", fragile(os.fsync))
        patch.setattr(Path, "rename", fragile(Path.rename))
        patch.setattr(Path, "replace", fragile(Path.replace))
        patch.setattr(Path, "unlink", fragile(Path.unlink))
        patch.setattr(union, "_AFTER", 2)
        with suppress(KeyboardInterrupt):
            memory.add(runs["two"], once="x")

    with open_memory(one) as memory:
        assert (rows(memory), memory.manifest.documents, memory.manifest.tokens) in (before, after)
        memory.add(runs["two"], once="x")
        memory.repair()
    assert seen(one) == after


def test_many_additions_are_merged_so_that_files_do_not_pile_up(
    runs: dict[str, Path], one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seen(one)[0]
    monkeypatch.setattr(union, "_AFTER", 4)
    for _ in range(9):
        merge_into(one, runs["one"] / "memory")

    assert seen(one)[0] == [[(name, 10 * frequency, length) for name, frequency, length in level] for level in before]
    assert len(list((one / "runs").iterdir())) < 16


def test_a_memory_is_copied_where_the_file_system_has_no_links(
    runs: dict[str, Path], one: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    merge_into(one, runs["two"] / "memory")

    assert seen(one) == seen(runs["both"])


def test_a_damaged_memory_is_not_added(runs: dict[str, Path], one: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(runs["two"], tmp_path / "other"))
    last = sorted((other / "memory" / "runs").iterdir())[-1]
    content = bytearray(last.read_bytes())
    content[len(content) // 2] ^= 1
    last.write_bytes(content)
    before = seen(one)

    with open_memory(one) as memory, pytest.raises(MemoryDamage, match=f"{last.name} does not have the checksum"):
        memory.add(other)
    with open_memory(one) as memory:
        memory.repair()
    assert seen(one) == before


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"widths": (3, 3)}, r"widths is \(3, 3\) there and \(3, 2\) here"),
        ({"widths": (3, 2, 2)}, "widths"),
        ({"mode": "sentences"}, "mode is sentences there and chunking here"),
        ({"names": "internal"}, "names is internal there and kato here"),
        ({"tokenizer": "words"}, "vocabulary is .* there and .* here"),
    ],
)
def test_other_settings_do_not_add_up(one: Path, tmp_path: Path, section: dict[str, Any], said: str) -> None:
    other = trained(tmp_path / "other", texts(2), **{"metadata": "documents"} | section)
    before = seen(one)

    with open_memory(one) as memory, pytest.raises(RunError, match=said):
        memory.add(other)
    assert seen(one) == before


def test_a_memory_is_not_added_to_itself(one: Path) -> None:
    with open_memory(one) as memory, pytest.raises(RunError, match="cannot be added to itself"):
        memory.add(one)


def test_what_is_no_memory_is_not_added(one: Path, tmp_path: Path) -> None:
    with open_memory(one) as memory, pytest.raises(RunError, match="does not exist"):
        memory.add(tmp_path / "nothing")
    with pytest.raises(RunError, match="holds no memory"):
        merge_into(one, tmp_path)


def test_fewer_levels_add_to_the_lower_ones(one: Path, tmp_path: Path) -> None:
    flat = trained(tmp_path / "flat", texts(2), widths=(3,), metadata="documents")
    before = seen(one)[0]
    merge_into(one, flat / "memory")

    after = seen(one)[0]
    assert after[1:] == before[1:]
    assert sum(frequency for _, frequency, _ in after[0]) > sum(frequency for _, frequency, _ in before[0])


def test_a_memory_can_begin_empty(runs: dict[str, Path], tmp_path: Path) -> None:
    with open_memory(runs["one"]) as like:
        found(tmp_path / "new", like.manifest.identity, like.vocabulary)
        assert len(open_memory(tmp_path / "new")) == 0
        for name in ("one", "two"):
            merge_into(tmp_path / "new", runs[name] / "memory")
        found(tmp_path / "new", like.manifest.identity, like.vocabulary)

    assert seen(tmp_path / "new") == seen(runs["both"])


def test_the_noted_documents_keep_their_own_names(runs: dict[str, Path], one: Path) -> None:
    expected: dict[str, set[str]] = {}
    for name in ("one", "two"):
        with open_memory(runs[name]) as memory:
            for pattern in memory:
                expected.setdefault(pattern.name, set()).update(memory.metadata(pattern).get("title", ()))
    merge_into(one, runs["two"] / "memory", origin=Origin("two", "Twain"))
    with open_memory(one) as memory:
        memory.compact()
        noted = {pattern.name: memory.metadata(pattern) for pattern in memory}

    assert {name: set(said.get("title", ())) for name, said in noted.items()} == expected
    assert {tuple(said["author"]) for said in noted.values() if said} == {
        ("Unknown",),
        ("Twain",),
        ("Twain", "Unknown"),
    }


def test_origins_are_those_of_the_memories_whatever_their_order(runs: dict[str, Path], tmp_path: Path) -> None:
    for order in (("one", "two", "one"), ("two", "one", "one")):
        folder = tmp_path / "-".join(order)
        with open_memory(runs["one"]) as like:
            found(folder, like.manifest.identity, like.vocabulary)
        for name in order:
            merge_into(folder, runs[name] / "memory")
    first, second = (open_memory(folder) for folder in sorted(tmp_path.iterdir()))

    assert len(first.manifest.origins) == len(second.manifest.origins) == 2
    assert {p.name: first.metadata(p) for p in first} == {p.name: second.metadata(p) for p in second}
    sums = tmp_path / "sum"
    with open_memory(runs["one"]) as like:
        found(sums, like.manifest.identity, like.vocabulary)
    merge_into(sums, first.folder)
    merge_into(sums, second.folder)
    with open_memory(sums) as memory:
        assert {p.name: memory.metadata(p) for p in memory} == {p.name: first.metadata(p) for p in first}


def test_a_manifest_without_additions_is_as_before_there_were_any(tmp_path: Path, runs: dict[str, Path]) -> None:
    manifest: Manifest = open_memory(runs["one"]).manifest
    manifest.write(tmp_path)

    assert (tmp_path / "manifest.json").read_bytes() == (runs["one"] / "memory" / "manifest.json").read_bytes()
    assert b"origins" not in (tmp_path / "manifest.json").read_bytes()


def test_a_memory_in_use_is_not_added_to(runs: dict[str, Path], one: Path) -> None:
    from headway.learners.patterns.maintain import only_writer

    with only_writer(one), open_memory(one) as memory, pytest.raises(RunError, match="is changing the memory"):
        memory.add(runs["two"])
    sync_folder(one)


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        ({"mode": "sentences", "min_sentence_tokens": 3}, {"mode": "sentences", "min_sentence_tokens": 4}, "min_sente"),
        ({}, {"split": "simple"}, "split is simple there and whole here"),
        ({}, {"max_tokens": 9}, "max_tokens is 9 there and None here"),
    ],
)
def test_memories_of_other_rules_of_cutting_do_not_add_up(
    tmp_path: Path, mine: dict[str, Any], theirs: dict[str, Any], said: str
) -> None:
    here, there = (trained(tmp_path / name, texts(1), **kinds) for name, kinds in (("here", mine), ("there", theirs)))
    before = seen(here / "memory")

    with open_memory(here) as memory, pytest.raises(RunError, match=said):
        memory.add(there)

    assert seen(here / "memory") == before


def test_the_shortest_sentence_plays_no_part_where_nothing_is_cut_into_sentences(tmp_path: Path) -> None:
    here, there = (trained(tmp_path / str(least), texts(1), min_sentence_tokens=least) for least in (3, 4))

    with open_memory(here) as memory:
        memory.add(there)

    assert seen(here / "memory")[1] == 60
