"""The pattern learner against the plain one in dictionaries, on documents that nobody would write."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.dataset import Rows
from headway.data.vocabulary import Vocabulary
from headway.feed.batch import Batch
from headway.learners.base import Setup
from headway.learners.patterns.config import Section
from headway.learners.patterns.hierarchy import Hierarchy
from headway.learners.patterns.learner import FOLDER, PatternLearner
from headway.learners.patterns.memory import open_memory
from headway.plan.values import Place, Position
from plain_learner import PlainLearner, Sentences

# Quotes, backslashes, unprintable and wide characters: each is written in its own way into the hashed text.
SYMBOLS = ["a", "Ġb", ".", "!", "?", "Ġ'", '"', "\\", "\n", "é", "Ġ\u200b", "Â\U0001f600"]
Document = list[list[int]]


@dataclass(frozen=True)
class Corpus:
    """Documents in memory, as far as a learner looks at a Dataset."""

    documents: Sequence[Document]
    vocabulary: Vocabulary = Vocabulary(SYMBOLS, "words")  # noqa: RUF009 - frozen, and the same for all
    split: str = "simple"
    max_tokens: int | None = None

    @property
    def tokenizer(self) -> dict[str, str]:
        return {"name": "gpt2", "digest": "x"}

    def read(self, rows: slice | Any) -> Rows:
        """Some consecutive documents."""
        documents = self.documents[rows]
        segments = [segment for document in documents for segment in document]
        sizes = [sum(map(len, document)) for document in documents]
        ids = np.array([token for segment in segments for token in segment], np.uint16)
        starts, breaks = (np.cumsum([0, *lengths], dtype=np.int64) for lengths in (sizes, map(len, segments)))
        return Rows(ids, starts, breaks)

    def batch(self, number: int, rows: slice) -> Batch:
        """The batch with this number."""
        tokens = sum(len(segment) for document in self.documents[rows] for segment in document)
        return Batch(Position(0, number), rows, rows.stop - rows.start, tokens, self)


@contextmanager
def learner(corpus: Corpus, section: Section, folder: Path, *, memory: int = 1 << 26) -> Iterator[PatternLearner]:
    made = PatternLearner(Setup(section=section, dataset=corpus, folder=folder, place=Place(), memory=memory))  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.close()


@dataclass(frozen=True)
class Division:
    """Where a corpus is cut into batches, who learns each, and after which everyone flushes and the head saves."""

    ends: list[int]
    workers: list[int]
    saves: list[bool]


def learned(corpus: Corpus, section: Section, division: Division, folder: Path) -> dict[str, bytes]:
    """The compacted memory of a division, as bytes."""
    starts = [0, *division.ends[:-1]]
    with learner(corpus, section, folder) as head:
        assert head.restore(folder) is None
        crew = [PatternLearner(Setup(section, corpus, folder, Place(), 1 << 26)) for _ in range(3)]  # type: ignore[arg-type]
        for number, (low, high) in enumerate(zip(starts, division.ends, strict=True)):
            crew[division.workers[number]].step(corpus.batch(number, slice(low, high)))
            if division.saves[number]:
                head.adopt([each.flush() for each in crew])
                head.save(folder, Position(0, number + 1))
        head.adopt([each.flush() for each in crew])
        head.finish()
        head.save(folder, Position(1, 0))
        for each in crew:
            each.close()
    with open_memory(folder) as memory:
        memory.compact()
        assert memory.verify().problems == []
    return {path.name: path.read_bytes() for path in sorted((folder / FOLDER).rglob("*")) if path.is_file()}


def rows(folder: Path) -> list[list[tuple[str, int, int]]]:
    with open_memory(folder) as memory:
        return [
            sorted((pattern.name, pattern.frequency, pattern.length) for pattern in level) for level in memory.levels
        ]


def plain(corpus: Corpus, section: Section) -> list[list[tuple[str, int, int]]]:
    sentences = Sentences(shortest=section.min_sentence_tokens) if section.mode == "sentences" else None
    oracle = PlainLearner(SYMBOLS, widths=section.widths, sentences=sentences)
    for document in corpus.documents:
        oracle.learn(document)
    return oracle.rows()


tokens = st.integers(0, len(SYMBOLS) - 1)
segments = st.one_of(
    st.lists(tokens, max_size=40),
    # Few symbols make patterns repeat on every level.
    st.lists(st.integers(0, 1), max_size=200),
    st.builds(lambda token, times: [token] * times, tokens, st.integers(0, 300)),
)
corpora = st.lists(st.lists(segments, max_size=4), min_size=1, max_size=12).map(Corpus)
sections = st.builds(
    Section,
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    mode=st.sampled_from(["chunking", "sentences"]),
    min_sentence_tokens=st.integers(2, 5),
    metadata=st.sampled_from(["none", "documents"]),
    compact_after=st.integers(2, 4),
)


@st.composite
def divisions(draw: st.DrawFn, documents: int) -> Division:
    ends = sorted(draw(st.sets(st.integers(1, documents))) | {documents})
    workers = [draw(st.integers(0, 2)) for _ in ends]
    return Division(ends, workers, [draw(st.booleans()) for _ in ends])


@given(st.data(), corpora, sections)
@settings(max_examples=60, deadline=None)
def test_names_frequencies_and_lengths_are_those_of_the_plain_learner(
    data: st.DataObject, corpus: Corpus, section: Section
) -> None:
    division = data.draw(divisions(len(corpus.documents)))

    with TemporaryDirectory() as name:
        learned(corpus, section, division, Path(name))
        found = rows(Path(name))

    assert found == plain(corpus, section)


@given(st.data(), corpora, sections, st.sampled_from(["kato", "internal"]))
@settings(max_examples=40, deadline=None)
def test_any_division_into_batches_workers_and_saves_gives_the_same_bytes(
    data: st.DataObject, corpus: Corpus, section: Section, names: str
) -> None:
    section = Section(**{name: getattr(section, name) for name in Section.__slots__} | {"names": names})
    number = len(corpus.documents)
    whole = Division([number], [0], [False])

    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        undivided = learned(corpus, section, whole, Path(one))
        divided = learned(corpus, section, data.draw(divisions(number)), Path(other))

    assert divided == undivided


@pytest.mark.parametrize("widths", [(5, 7, 9), (3, 2), (1, 3), (4,), (2, 3, 2, 2), (5, 1, 4)])
@pytest.mark.parametrize("segment", [7, 1 << 30])
@pytest.mark.parametrize("mode", ["chunking", "sentences"])
def test_a_document_far_larger_than_a_unit_leaves_no_trace_of_its_division(
    widths: tuple[int, ...], segment: int, mode: Any
) -> None:
    """`segment` is the length a document is split to: short paragraphs, or the whole document as one."""
    draw = random.Random(3)
    documents = [[draw.randrange(12) for _ in range(size)] for size in (3, 20_011, 0, 4_999, 17)]
    corpus = Corpus([[text[at : at + segment] for at in range(0, len(text), segment)] for text in documents])
    section = Section(widths=widths, mode=mode, metadata="documents")

    small, large = (_units(corpus, section, unit_patterns) for unit_patterns in (1, 1 << 30))

    assert len(large) == 1 < len(small)
    assert _counted(small) == _counted(large)


@pytest.mark.parametrize("widths", [(2, 3, 4), (5,), (3, 2, 2, 2)])
@pytest.mark.parametrize("segment", [50, 1 << 30])
def test_a_learner_with_hardly_any_memory_learns_a_huge_document_as_one_with_plenty(
    widths: tuple[int, ...], segment: int, tmp_path: Path
) -> None:
    draw = random.Random(4)
    text = [draw.randrange(12) for _ in range(400_003)]
    corpus = Corpus([[text[at : at + segment] for at in range(0, len(text), segment)], [[1, 2, 3]]])
    section = Section(widths=widths, metadata="documents")

    contents: list[dict[str, bytes]] = []
    runs: list[int] = []
    for memory in (1, 1 << 33):
        folder = tmp_path / str(memory)
        with learner(corpus, section, folder, memory=memory) as made:
            made.restore(folder)
            made.step(corpus.batch(0, slice(0, 2)))
            made.save(folder, Position(1, 0))
        with open_memory(folder) as opened:
            runs.append(opened.level(0).runs)
            opened.compact()
        contents.append({path.name: path.read_bytes() for path in (folder / FOLDER).rglob("*") if path.is_file()})

    assert runs[0] > runs[1] == 1
    assert contents[0] == contents[1]


def _units(corpus: Corpus, section: Section, unit_patterns: int) -> list[list[Any]]:
    hierarchy = Hierarchy(section, corpus.vocabulary, tokenizer="gpt2", unit_patterns=unit_patterns)
    rows = corpus.read(slice(0, len(corpus.documents)))
    assert rows.breaks is not None
    return list(hierarchy.learn(rows.ids, rows.starts, rows.breaks, numbers=np.arange(len(corpus.documents))))


def _counted(units: list[list[Any]]) -> list[Any]:
    """Per level: every pattern in order of the text with its symbols, what was taken, and who learned what first."""
    levels: list[Any] = []
    for parts in zip(*units, strict=True):
        patterns = [
            (int(key), part.symbols[start : start + length].tolist())
            for part in parts
            for key, start, length in zip(part.keys, part.starts, part.lengths, strict=True)
        ]
        firsts = sorted(
            (int(number), int(key))
            for part in parts
            for key, number in zip(part.firsts.keys, part.firsts.documents, strict=True)
        )
        levels.append((patterns, sum(part.taken for part in parts), firsts))
    return levels
