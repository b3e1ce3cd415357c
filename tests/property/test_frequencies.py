"""Frequencies are counted, not estimated: whatever the counts, and however they come in pieces."""

import statistics
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.learners.patterns.frequencies import PERCENTILES, Frequencies

COUNTS = st.lists(st.one_of(st.integers(1, 4), st.integers(1, 1 << 40)), max_size=200)


def frequencies(counts: list[int], *, pieces: int = 1) -> Frequencies:
    return Frequencies.of(np.array(counts[i::pieces], np.uint64) for i in range(pieces))


@given(COUNTS, st.integers(1, 5))
def test_sums_are_exact_however_the_counts_come(counts: list[int], pieces: int) -> None:
    found = frequencies(counts, pieces=pieces)

    assert (found.unique, found.observed, found.singletons) == (len(counts), sum(counts), counts.count(1))
    assert dict(zip(found.values.tolist(), found.numbers.tolist(), strict=True)) == Counter(counts)
    assert sum(found.bands().values()) == len(counts)


@given(COUNTS.filter(bool))
def test_places_are_those_of_the_sorted_counts(counts: list[int]) -> None:
    found, ordered = frequencies(counts), sorted(counts)

    assert found.median == statistics.median(ordered)
    assert [found.at(i) for i in range(len(ordered))] == ordered
    for percent in PERCENTILES:
        value = found.percentile(percent)
        assert value is not None
        assert sum(count <= value for count in counts) * 100 >= percent * len(counts)
        assert sum(count < value for count in counts) * 100 < percent * len(counts)


@given(COUNTS)
def test_ranks_are_binned_without_losing_one(counts: list[int]) -> None:
    ordered = sorted(counts, reverse=True)

    bins = list(frequencies(counts).ranks())

    assert [rank for each in bins for rank in range(each.first_rank, each.last_rank + 1)] == [
        *range(1, len(counts) + 1)
    ]
    for each in bins:
        inside = ordered[each.first_rank - 1 : each.last_rank]
        assert (each.observed, each.least, each.most) == (sum(inside), inside[-1], inside[0])


def test_of_nothing_nothing_is_measured() -> None:
    told = frequencies([]).summary()

    assert (told["unique"], told["observed"], told["ranks"]) == (0, 0, [])
    assert {told[name] for name in ("singleton_share", "mean", "deviation", "least", "median", "most")} == {None}
    assert set(told["percentiles"].values()) == {None}
