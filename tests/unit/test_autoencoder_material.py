"""Documents are divided first and cut then; every token is owned once."""

from pathlib import Path

import numpy as np
import pytest
from made_learners import dataset_of, poems, section

from headway.data.dataset import Dataset
from headway.learners.autoencoder.config import WindowSection
from headway.learners.autoencoder.material import material, windows_in, windows_of

STANZAS = ["ba de gin ko.\nla me\n\nnin po, ba de! gin\nko la\n\nme nin. po ba! de gin ko", "la me\n\nnin po ba"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return dataset_of(tmp_path_factory.mktemp("material"), poems(30))


@pytest.mark.parametrize("ends", ["anywhere", "line", "stanza", "sentence"])
def test_windows_of_all_sides_own_every_token_once(dataset: Dataset, ends: str) -> None:
    window = WindowSection(size=8, overlap=3, shortest=3, ends=ends)  # type: ignore[arg-type]

    found = material(section(window=window), dataset)

    assert found.coverage == 1
    assert sum(int((side.read(slice(0, len(side.windows.ends))).mask).sum()) for side in sides(found)) == dataset.tokens


def sides(found):
    return found.train, found.valid, found.test


def test_no_document_is_on_two_sides(dataset: Dataset) -> None:
    found = material(section(), dataset)

    documents = [set(side.windows.documents.tolist()) for side in sides(found)]

    assert documents[0].isdisjoint(documents[1] | documents[2])
    assert documents[1].isdisjoint(documents[2])
    assert set.union(*documents) == set(range(dataset.documents))
    assert documents[0] == set(found.split.train.tolist())


def test_the_same_section_and_dataset_are_divided_once(dataset: Dataset) -> None:
    once = material(section(), dataset)

    assert material(section(model={"hidden": 16}), dataset) is once
    assert material(section(window=WindowSection(size=6, overlap=0, shortest=2)), dataset) is not once


@pytest.mark.parametrize(
    ("ends", "closing"),
    [("line", {"<LINE_BREAK>", "<STANZA_BREAK>"}), ("stanza", {"<STANZA_BREAK>"}), ("sentence", set(".!"))],
)
def test_windows_end_where_they_are_asked_to_if_they_can(tmp_path: Path, ends: str, closing: set[str]) -> None:
    dataset = dataset_of(tmp_path, STANZAS)
    window = WindowSection(size=12, overlap=0, shortest=2, ends=ends)  # type: ignore[arg-type]

    rows = windows_of(dataset, window, np.arange(2))

    windows, symbols = rows.windows, dataset.vocabulary.symbols
    last = rows.read(slice(0, len(windows.ends))).ids[rows.offsets[1:] - 1]
    inner = windows.ends < dataset.document_lengths()[windows.documents]
    assert inner.any()
    assert {symbols[token] for token in last[inner]} <= closing


def test_texts_in_memory_are_cut_like_those_of_a_dataset(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, STANZAS)
    ids, starts, _, _ = dataset.read(slice(0, 2))
    for ends in ("anywhere", "stanza"):
        window = WindowSection(size=7, overlap=2, shortest=3, ends=ends)

        there = windows_of(dataset, window, np.arange(2)).windows
        here = windows_in(ids.astype(np.int64), starts, dataset.vocabulary.symbols, window)

        assert all(
            np.array_equal(getattr(here, name), getattr(there, name))
            for name in ("documents", "starts", "ends", "owned")
        )


def test_a_word_without_a_symbol_ends_no_window() -> None:
    window = WindowSection(size=3, overlap=0, shortest=1, ends="sentence")

    found = windows_in(np.array([1, -1, 1, 1]), np.array([0, 4]), ["."] * 2, window)

    assert found.ends.tolist() == [3, 4]
