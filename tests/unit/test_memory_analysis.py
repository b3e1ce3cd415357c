"""What a memory says of its frequencies and sizes, against counting by hand."""

from pathlib import Path

import pytest
from made_memory import trained

from headway.learners.patterns.frequencies import growth
from headway.learners.patterns.memory import Memory, open_memory
from headway.learners.patterns.sizes import analysis

TEXTS = ["the cat sat on the mat", "the cat sat on the hat", "the dog sat on the mat"] * 3


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return open_memory(trained(tmp_path_factory.mktemp("analysis"), TEXTS))


def test_frequencies_are_those_of_the_patterns(memory: Memory) -> None:
    for level, told in zip(memory.levels, analysis(memory)["levels"], strict=True):
        counts = sorted(pattern.frequency for pattern in level)
        found = told["frequencies"]

        assert (found["unique"], found["observed"]) == (level.unique, level.observed) == (len(counts), sum(counts))
        assert (found["least"], found["most"], found["singletons"]) == (counts[0], counts[-1], counts.count(1))
        assert found["ranks"][0]["most"] == counts[-1]


def test_raw_bytes_are_those_of_the_text_that_was_learned(memory: Memory) -> None:
    learned = [(memory.text(pattern), pattern) for pattern in memory.levels[0]]

    told = analysis(memory)["sizes"]

    assert told["raw_bytes"]["utf8"] == sum(len(text.encode()) * each.frequency for text, each in learned)
    assert told["tokens"] == sum(each.length * each.frequency for _, each in learned)
    assert (told["raw_bytes"]["tokens16"], told["raw_bytes"]["tokens32"]) == (2 * told["tokens"], 4 * told["tokens"])
    assert told["bytes"] == sum(level.bytes for level in memory.levels)
    assert told["levels"][0]["deduplication"] == memory.levels[0].observed / memory.levels[0].unique
    assert told["levels"][0]["reuse"] == sum(each.length for each in memory.levels[1]) / memory.levels[0].unique
    assert told["levels"][1]["reuse"] is None


def test_words_without_their_spaces_are_no_measure_of_the_text(tmp_path: Path) -> None:
    with open_memory(trained(tmp_path, TEXTS, tokenizer="words")) as memory:
        told = analysis(memory)["sizes"]

    assert told["raw_bytes"]["utf8"] is None
    assert told["shares"]["utf8"] is None
    assert told["shares"]["tokens32"] is not None


def test_growth_counts_what_the_files_hold_together(tmp_path: Path) -> None:
    run = trained(tmp_path, TEXTS, compact_after=1000)
    with open_memory(run) as memory:
        memory.add(trained(tmp_path / "other", ["a mouse", *TEXTS]))
    with open_memory(run) as memory:
        level = memory.levels[0]
        points = growth(level.store)

        assert level.runs == len(points) == 2
        assert points[-1] == (level.observed, level.unique)
        assert points[0][0] < points[1][0]
        assert points[0][1] < points[1][1]
