"""Which words are nearest to which."""

import numpy as np
import pytest

from headway.learners.autoencoder import neighbours
from headway.learners.autoencoder.neighbours import nearest_words
from headway.learners.autoencoder.words import Table

MARKS = 2
# Two marks, then words around a quarter of a circle.
ANGLES = np.array([0.0, 0.1, 0.0, 0.1, 0.3, 0.7, 1.0, 1.5])
VECTORS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1).astype(np.float32)
ALL = np.ones(len(ANGLES), bool)


def table(vectors: np.ndarray = VECTORS, known: np.ndarray = ALL) -> Table:
    return Table(vectors, known & (np.arange(len(known)) >= MARKS), special=MARKS)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_the_nearest_come_first_and_a_word_is_not_its_own(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(neighbours, "_SIMILARITIES", at_once)

    found = nearest_words(table(), ALL, count=2)

    assert found[MARKS:].tolist() == [[3, 4], [2, 4], [3, 2], [6, 4], [5, 7], [6, 5]]


def test_marks_and_words_without_a_vector_have_none_and_are_none() -> None:
    known = ALL.copy()
    known[4] = False

    found = nearest_words(table(known=known), ALL, count=2)

    assert found[:MARKS].tolist() == [[0, 0], [1, 1]]
    assert found[4].tolist() == [4, 4]
    assert found[3].tolist() == [2, 5]


def test_what_was_never_learned_is_nobodys_neighbour() -> None:
    learned = ALL.copy()
    learned[3] = False

    found = nearest_words(table(), learned, count=1)

    assert found[:, 0].tolist() == [0, 1, 4, 3, 2, 6, 5, 6]


def test_words_of_one_direction_are_one_word() -> None:
    twins = np.concatenate([VECTORS, 3 * VECTORS[2:3]])

    found = nearest_words(table(twins, np.ones(len(twins), bool)), np.ones(len(twins), bool), count=2)

    assert found[2].tolist() == found[8].tolist() == [3, 4]
    assert found[3].tolist() == [2, 4]


def test_with_too_few_words_the_rest_is_the_word_itself() -> None:
    few = np.arange(len(ALL)) < MARKS + 2

    assert nearest_words(table(), few, count=3)[MARKS : MARKS + 2].tolist() == [[3, 2, 2], [2, 3, 3]]
    assert nearest_words(table(), np.zeros(len(ALL), bool), count=1)[:, 0].tolist() == list(range(len(ALL)))
