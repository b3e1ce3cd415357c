"""Windows as evaluations read them, and the directions of words."""

import numpy as np
import pytest
from made_codecs import ABSENT, MARKS, NOTHING, WORDS, corpus, documents, table

from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.words import Kind, Table


def test_every_token_is_counted_once_though_windows_overlap() -> None:
    texts = documents(20, seed=1)

    windows = corpus(texts)

    assert windows.tokens > len(windows.counted)
    assert np.array_equal(windows.counted, np.concatenate(texts))


def test_positions_begin_anew_in_every_window() -> None:
    windows = Corpus(np.arange(5), np.array([0, 2, 5]), np.ones(5, bool), np.array([0, 0]))

    assert windows.positions.tolist() == [0, 1, 0, 1, 2]
    assert windows.lengths.tolist() == [2, 3]


@pytest.mark.parametrize("tokens", [1, 8, 9, 50, 10_000])
def test_batches_hold_every_window_once_and_no_more_tokens_than_allowed(tokens: int) -> None:
    windows = corpus(documents(20, seed=2))

    batches = list(windows.batches(tokens))

    assert [window for each in batches for window in range(each.start, each.stop)] == list(range(len(windows)))
    assert all(windows.part(each).tokens <= tokens or each.stop - each.start == 1 for each in batches)


def test_a_part_is_the_same_windows_however_they_are_named() -> None:
    windows = corpus(documents(20, seed=3))

    neighbours, chosen = windows.part(slice(4, 9)), windows.part(np.arange(4, 9))

    for name in ("ids", "starts", "owned", "documents"):
        assert np.array_equal(getattr(neighbours, name), getattr(chosen, name))
    assert windows.part(np.array([7, 2])).ids.tolist() == [
        *windows.part(slice(7, 8)).ids,
        *windows.part(slice(2, 3)).ids,
    ]


@pytest.mark.parametrize(
    ("starts", "owned", "documents"),
    [([0, 2], 3, 1), ([0, 3], 2, 1), ([0, 3], 3, 2), ([1, 3], 3, 1), ([0, 3, 3], 3, 2), ([], 3, 0)],
)
def test_windows_that_do_not_fit_together_are_refused(starts: list[int], owned: int, documents: int) -> None:
    with pytest.raises(ValueError, match="windows"):
        Corpus(np.arange(3), np.array(starts, np.int64), np.ones(owned, bool), np.zeros(documents, np.int64))


def test_each_id_counts_where_it_belongs() -> None:
    words = table()

    assert words.kinds[:MARKS].tolist() == [Kind.SPECIAL] * MARKS
    assert words.kinds[ABSENT[0]] == Kind.ABSENT
    assert words.kinds[NOTHING] == Kind.NOTHING
    assert (words.kinds == Kind.SCORED).sum() == WORDS - MARKS - len(ABSENT)


def test_what_rare_words_are_read_as_counts_as_a_word_without_a_vector() -> None:
    known = np.array([False, False, True])

    words = Table(np.eye(3, dtype=np.float32), known, 2, unknown=1)

    assert words.kinds.tolist() == [Kind.SPECIAL, Kind.ABSENT, Kind.SCORED]
    assert words.marks.tolist() == [True, False, False]
    with pytest.raises(ValueError, match="cannot have one"):
        Table(np.eye(3, dtype=np.float32), known, 2, unknown=2)


def test_directions_have_length_one_and_what_has_none_stays_zero() -> None:
    words = table()

    assert np.allclose(np.linalg.norm(np.delete(words.units, NOTHING, axis=0), axis=1), 1)
    assert not words.units[NOTHING].any()
    assert NOTHING not in words.candidates


def test_words_that_share_a_vector_are_one_candidate() -> None:
    matrix = np.array([[1, 0], [0, 1], [1, 0], [-0.0, 2]], np.float32)

    words = Table(matrix, np.ones(4, bool), 0)

    assert words.same.tolist() == [0, 1, 0, 1]
    assert words.candidates.tolist() == [0, 1]


def test_words_are_named_as_the_table_knows_them() -> None:
    matrix, known = np.eye(2, dtype=np.float32), np.ones(2, bool)

    assert Table(matrix, known, 0).word(1) == "token 1"
    assert Table(matrix, known, 0, words=["a", ","]).word(1) == "','"


def test_vectors_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        Table(np.array([[np.nan, 1]], np.float32), np.ones(1, bool), 0)
