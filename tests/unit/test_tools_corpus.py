"""Segmenting, tokenising and the single pass over books."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from made_memory import rows

from headway.data.tokenizers import load_tokenizer
from headway.errors import DataError, PlanError
from headway.learners.patterns.books import left_to_next
from headway.tools import (
    CorpusSegmenter,
    HierarchicalConceptLearner,
    HierarchicalNode,
    TokenProcessor,
    train_hierarchical_single_pass,
)
from headway.tools.corpus import Book
from plain_learner import PlainLearner, chunks

BYTES = load_tokenizer("bytes", folder=Path()).symbols


def learner_of(*widths: int, **more: Any) -> HierarchicalConceptLearner:
    nodes = [HierarchicalNode(f"node{i}", chunk_size=width) for i, width in enumerate(widths)]
    return HierarchicalConceptLearner(nodes=nodes, verbose_init=False, **{"tokenizer_name": "bytes"} | more)


def book(*paragraphs: str, title: str = "Untitled") -> Book:
    return {"title": title, "author": "Somebody", "paragraphs": list(paragraphs)}


def step_by_step(books: list[Book], widths: list[int]) -> list[list[tuple[str, int, int]]]:
    """The procedure of the original: buffers per level, learned when full, and a flush of each at the end of a book."""
    plain = PlainLearner(BYTES, widths=widths)
    buffers: list[list[int]] = [[] for _ in widths]

    def learn(level: int, key: tuple[int, ...]) -> None:
        (index,) = plain.levels[level].learn([key])
        receive(level + 1, index)

    def receive(level: int, index: int) -> None:
        if level < len(widths):
            buffers[level].append(index)
            if len(buffers[level]) == widths[level]:
                flush(level)

    def flush(level: int) -> None:
        key, buffers[level] = tuple(buffers[level]), []
        learn(level, key)

    for each in books:
        for paragraph in each["paragraphs"]:
            for key in chunks(list(paragraph.encode())[:2048], widths[0]):
                learn(0, key)
        for level in range(1, len(widths)):
            if len(buffers[level]) > 1:
                flush(level)
    return plain.rows()


@pytest.mark.parametrize("seed", range(6))
def test_books_are_learned_as_by_the_original_procedure(seed: int) -> None:
    rng = random.Random(seed)
    widths = rng.choice([[3, 2, 2], [3, 3, 2, 2], [4, 2, 5], [5, 3, 3], [2, 4, 4]])
    books = [
        book(*("".join(rng.choices("ab", k=rng.randint(0, 90))) for _ in range(rng.randint(0, 3)))) for _ in range(12)
    ]
    learner = learner_of(*widths)

    stats = train_hierarchical_single_pass(books, learner, verbose=False)

    expected = step_by_step(books, widths)
    assert rows(learner.memory) == expected
    assert learner.memory.verify().problems == []
    learns = [sum(frequency for _, frequency, _ in level) for level in expected]
    assert [stats[f"node{i}_patterns"] for i in range(len(widths))] == learns
    assert stats["books_processed"] == 12


def test_a_single_name_left_over_joins_the_next_book() -> None:
    nine, three = "abcabcabc", "xyz"
    together, apart = learner_of(3, 2), learner_of(3, 2)

    train_hierarchical_single_pass([book(nine), book(three)], together, verbose=False)
    for each in (book(nine), book(three)):
        train_hierarchical_single_pass([each], apart, verbose=False)

    assert [p.length for p in together.memory.patterns(1)] == [2, 2]
    assert [p.length for p in apart.memory.patterns(1)] == [2]
    assert rows(together.memory)[0] == rows(apart.memory)[0]


@pytest.mark.parametrize("width", range(1, 7))
def test_no_book_but_the_last_leaves_a_single_name(width: int) -> None:
    rng = random.Random(width)
    bounds = sorted([0, *(rng.randint(0, 60) for _ in range(20))])

    moved = left_to_next(bounds, width).tolist()

    assert all(before - after in (0, 1) for before, after in zip(bounds, moved, strict=True))
    assert width == 1 or all((b - a) % width != 1 for a, b in pairwise(moved))


def test_corpora_add_up_with_each_other_and_every_pattern_remembers_its_books() -> None:
    learner = learner_of(3, 2)
    for title in ("Moby", "Emma"):
        train_hierarchical_single_pass([book("abcdefabc", title=title), book("abcxyz", title="Both")], learner)

    (first,) = [p for p in learner.memory.patterns(0) if learner.memory.text(p) == "abc"]
    assert first.frequency == 6
    assert learner.memory.metadata(first) == {
        "author": ["Somebody"],
        "book_idx": ["1", "2"],
        "title": ["Both", "Emma", "Moby"],
    }


def test_a_growing_vocabulary_and_the_limit_of_2048_tokens() -> None:
    learner = learner_of(3, 2, tokenizer_name="words")

    train_hierarchical_single_pass([book(" ".join(["b", "a", "c"] * 1000))], learner, verbose=False)

    assert learner.memory.manifest.tokens == 2048
    assert learner.memory.top(1)[0].symbols == ("b", "a", "c")
    assert learner.memory.verify().problems == []


def test_progress_is_shown_or_not(capsys: pytest.CaptureFixture[str]) -> None:
    learner = learner_of(3, 2)
    train_hierarchical_single_pass([book("abcdef")], learner, "chunk", None, False)
    assert capsys.readouterr().out == ""

    train_hierarchical_single_pass([book("abcdef")], learner)
    assert "1 books in" in capsys.readouterr().out


def test_what_cannot_be_learned_says_so(tmp_path: Path) -> None:
    learner = learner_of(3, 2, folder=tmp_path / "kept")
    with pytest.raises(DataError, match="the corpus holds no book"):
        train_hierarchical_single_pass([], learner)
    with pytest.raises(PlanError, match="num_levels"):
        train_hierarchical_single_pass([book("abcdef")], learner, num_levels=3)

    train_hierarchical_single_pass([book()], learner, verbose=False)
    assert len(learner.memory) == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["memory"]


def test_texts_are_cut_into_paragraphs() -> None:
    text = "short\n\nA first paragraph\n \n A second one, longer \nChapter 2\n\nwhat comes after"

    assert CorpusSegmenter.segment(text) == {
        "title": "Untitled",
        "author": "Unknown",
        "paragraphs": ["A first paragraph", "A second one, longer \nChapter 2", "what comes after"],
    }
    assert CorpusSegmenter().segment(text, method="book", title="T", author="A") == {
        "title": "T",
        "author": "A",
        "paragraphs": ["A first paragraph", "A second one, longer", "what comes after"],
    }


def test_tokens_are_spelled_as_the_tokenizer_spells_them() -> None:
    assert TokenProcessor().tokenize("Hello world, it's") == ["Hello", "Ġworld", ",", "Ġit", "'s"]
    assert TokenProcessor("words").tokenize("a b a", 2) == ["a", "b"]
    assert len(TokenProcessor("bytes").tokenize("x" * 3000)) == 2048


@pytest.mark.parametrize("width", range(1, 6))
@pytest.mark.parametrize("size", range(15))
def test_chunks_are_those_of_level_0(width: int, size: int) -> None:
    tokens = [str(number) for number in range(size)]

    expected = [[str(number) for number in chunk] for chunk in chunks(list(range(size)), width)]
    assert TokenProcessor("words").chunks(tokens, width) == expected


def test_sentences_end_where_the_next_token_begins_a_word() -> None:
    tokens = ["A", "Ġb", ".", "5", "Ġc", ".", "Ġd", "!", "Ġe", "Ġf", "?", "Ġend", "Ġof", "Ġit"]
    processor = TokenProcessor("gpt2")

    assert processor.sentences(tokens) == [
        ["A", "Ġb", ".", "5", "Ġc", "."],
        ["Ġe", "Ġf", "?"],
        ["Ġend", "Ġof", "Ġit"],
    ]
    assert ["Ġd", "!"] in processor.sentences(tokens, 1)
