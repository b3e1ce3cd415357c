import numpy as np
import pytest

from headway.feed.windows import Windows, coverage, cut


def table(windows):
    return np.stack([windows.documents, windows.starts, windows.ends, windows.owned], axis=1).tolist()


def test_windows_overlap_and_a_short_rest_reaches_back():
    windows = cut(np.array([120, 3]), size=50, overlap=10, shortest=25)

    assert table(windows) == [[0, 0, 50, 0], [0, 40, 90, 50], [0, 80, 120, 90], [1, 0, 3, 0]]
    assert windows.lengths.tolist() == [50, 50, 40, 3]


def test_a_rest_below_the_shortest_gets_more_context_and_owns_the_same():
    assert table(cut(np.array([93]), size=50, overlap=0, shortest=50))[-1] == [0, 43, 93, 50]


def test_windows_end_where_lines_end_and_the_next_begins_at_that_end():
    # Lines end before the tokens 4, 9 and 13 of the second document, which starts at token 100.
    windows = cut(
        np.array([5, 16]),
        size=8,
        overlap=2,
        shortest=3,
        ends=np.array([3, 104, 109, 113]),
        offsets=np.array([0, 100, 116]),
    )

    assert table(windows) == [[0, 0, 5, 0], [1, 0, 4, 0], [1, 2, 9, 4], [1, 7, 13, 9], [1, 11, 16, 13]]


def test_an_end_that_would_make_a_window_too_short_is_passed_over():
    windows = cut(np.array([10]), size=6, overlap=0, shortest=4, ends=np.array([2]), offsets=np.array([0]))

    assert table(windows) == [[0, 0, 6, 0], [0, 6, 10, 6]]


def test_an_end_in_the_context_does_not_stop_the_windows_from_going_on():
    windows = cut(np.array([12]), size=5, overlap=4, shortest=1, ends=np.array([2]), offsets=np.array([0]))

    assert windows.ends.tolist() == [2, 5, 6, 7, 8, 9, 10, 11, 12]


def test_documents_without_tokens_have_no_window():
    windows = cut(np.array([0, 2, 0]), size=5, overlap=0, shortest=1)

    assert table(windows) == [[1, 0, 2, 0]]
    assert table(cut(np.array([], dtype=np.int64), size=5, overlap=0, shortest=1)) == []


def test_columns_are_arrays_of_their_own():
    windows = cut(np.array([120]), size=50, overlap=10, shortest=5)

    columns = (windows.documents, windows.starts, windows.ends, windows.owned)
    assert all(column.flags.c_contiguous and column.dtype == np.int64 for column in columns)


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 5, "overlap": 5, "shortest": 1},
        {"size": 5, "overlap": -1, "shortest": 1},
        {"size": 5, "overlap": 0, "shortest": 6},
        {"size": 5, "overlap": 0, "shortest": 0},
        {"size": 5, "overlap": 0, "shortest": 1, "ends": np.array([3])},
        {"size": 5, "overlap": 0, "shortest": 1, "ends": np.array([3, 2]), "offsets": np.array([0])},
    ],
)
def test_sizes_and_ends_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"shortest lies between|where each document starts|must be in order"):
        cut(np.array([9]), **wrong)


def test_coverage_counts_a_token_once_and_misses_none_that_is_missing():
    documents, starts = np.array([1, 0, 0]), np.array([0, 0, 2])
    windows = Windows(documents, starts, np.array([2, 4, 6]), owned=starts)

    assert coverage(windows, np.array([10, 2])) == 8 / 12


def test_coverage_of_nothing_is_whole():
    assert coverage(cut(np.array([0]), size=5, overlap=0, shortest=1), np.array([0])) == 1
