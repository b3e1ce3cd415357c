import numpy as np
import pytest

from headway.feed.bucket import bucket, limited, oversized, padding, runs, turns
from headway.feed.layout import Epoch, whole

LENGTHS = np.arange(2000) * 7919 % 45 + 5


def batches_of(epoch):
    return [epoch.order[first:last].tolist() for first, last in zip(epoch.edges, epoch.edges[1:], strict=False)]


def composition(epoch):
    return {frozenset(batch) for batch in batches_of(epoch)}


def test_batches_never_change_from_release_to_release_nor_between_platforms():
    epoch = bucket(np.array([3, 1, 3, 2, 3, 1, 2, 9, 3, 3]), budget=6, most_rows=3, seed=7, epoch=2)

    assert epoch.order.tolist() == ORDER
    assert epoch.edges.tolist() == EDGES


def test_large_batches_of_many_rows_never_change_either():
    epoch = bucket(LENGTHS, budget=1024, most_rows=64, seed=2**40, epoch=11)

    assert (epoch.order[:6].tolist(), epoch.edges[:6].tolist(), epoch.batches) == LARGE


def test_other_rows_come_together_every_epoch_and_with_every_seed():
    made = [
        bucket(LENGTHS, budget=400, most_rows=16, seed=seed, epoch=epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0))
    ]
    first, later, other = map(composition, made)

    assert len(first & later) < len(first) / 20
    assert len(first & other) < len(first) / 20


def test_every_epoch_has_as_many_batches():
    made = [bucket(LENGTHS, budget=400, most_rows=16, seed=seed, epoch=epoch) for seed in (0, 1) for epoch in range(9)]

    assert len({epoch.batches for epoch in made}) == 1


def test_unshuffled_batches_are_in_the_order_of_lengths_in_every_epoch():
    first = bucket(LENGTHS, budget=400, most_rows=16, seed=0, epoch=0, shuffle=False)
    later = bucket(LENGTHS, budget=400, most_rows=16, seed=3, epoch=9, shuffle=False)

    assert np.array_equal(first.order, np.argsort(LENGTHS, kind="stable"))
    assert np.array_equal(first.order, later.order)
    assert np.array_equal(first.edges, later.edges)


def test_neighbouring_batches_have_like_lengths_but_blocks_do_not_follow_in_order():
    epoch = bucket(LENGTHS, budget=400, most_rows=16, seed=0, epoch=0)
    longest = np.array([LENGTHS[batch].max() for batch in batches_of(epoch)])
    blocks = longest[: len(longest) // 8 * 8].reshape(-1, 8)

    assert np.median(np.ptp(blocks, axis=1)) <= 4
    assert (np.diff(blocks[:, 0]) < 0).any() and (np.diff(blocks[:, 0]) > 0).any()


def test_a_row_above_the_budget_is_alone_and_counted():
    lengths = np.array([3, 100, 3, 101])

    assert oversized(lengths, 50) == 2
    assert composition(bucket(lengths, budget=50, most_rows=8, seed=0, epoch=0)) == {
        frozenset([0, 2]),
        frozenset([1]),
        frozenset([3]),
    }


def test_like_lengths_waste_a_fraction_of_what_random_order_wastes():
    visit = np.random.default_rng(0).permutation(len(LENGTHS))
    at_random = Epoch(visit, np.arange(0, len(LENGTHS) + 1, 16))
    bucketed = bucket(LENGTHS, budget=4096, most_rows=64, seed=0, epoch=0)

    assert padding(LENGTHS, bucketed) < padding(LENGTHS, at_random) / 10


def test_padding_of_rows_in_natural_order_of_empty_batches_and_of_nothing():
    lengths = np.array([2, 4, 3])

    assert padding(lengths, Epoch(None, whole(lengths, 6))) == 1 - 9 / 11
    assert padding(lengths, Epoch(None, np.array([0, 2, 3, 3, 3]))) == 1 - 9 / 11
    assert padding(np.array([0, 0]), Epoch(None, np.array([0, 2]))) == 0
    assert padding(np.array([], dtype=np.int64), Epoch(None, np.array([0]))) == 0


def test_a_budget_without_bound_costs_no_more_than_the_rows():
    epoch = bucket(LENGTHS, budget=1 << 62, most_rows=1 << 40, seed=0, epoch=0)

    assert epoch.edges.tolist() == [0, len(LENGTHS)]


def test_ranks_take_batches_by_turns_and_what_is_left_over_is_repeated_or_dropped():
    assert [turns(7, rank=rank, world=3).tolist() for rank in range(3)] == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert [turns(7, rank=rank, world=3, uneven="drop").tolist() for rank in range(3)] == [[0, 3], [1, 4], [2, 5]]
    assert [turns(2, rank=rank, world=5).tolist() for rank in range(5)] == [[0], [1], [0], [1], [0]]
    assert turns(0, rank=0, world=2).tolist() == []


def test_runs_and_limits_never_change_from_release_to_release():
    groups = np.array([2, 0, 0, 2, 0, 2, 1, 0, 2])

    assert batches_of(runs(groups, most_rows=2, seed=3, epoch=1)) == RUNS
    assert limited(groups, most=2, seed=3, epoch=1).tolist() == LIMITED
    assert batches_of(runs(groups, most_rows=2, seed=3, epoch=1, shuffle=False)) == [
        [1, 2],
        [4, 7],
        [6],
        [0, 3],
        [5, 8],
    ]
    assert limited(groups, most=2, seed=3, epoch=1, shuffle=False).tolist() == [0, 1, 2, 3, 6]


def test_a_limit_chooses_anew_every_epoch():
    groups = np.zeros(100, dtype=np.int64)

    assert limited(groups, most=5, seed=0, epoch=0).tolist() != limited(groups, most=5, seed=0, epoch=1).tolist()


@pytest.mark.parametrize("wrong", [{"budget": 0, "most_rows": 1}, {"budget": 1, "most_rows": 0}])
def test_a_batch_without_room_is_refused(wrong):
    with pytest.raises(ValueError, match="needs room"):
        bucket(LENGTHS, **wrong, seed=0, epoch=0)
    with pytest.raises(ValueError, match="needs room"):
        runs(LENGTHS, most_rows=0, seed=0, epoch=0)


ORDER, EDGES = [3, 8, 9, 2, 1, 5, 6, 7, 4, 0], [0, 2, 4, 7, 8, 10]
RUNS, LIMITED = [[0, 3], [5, 8], [1, 2], [6], [4, 7]], [3, 4, 6, 7, 8]
LARGE = ([1491, 1626, 366, 1086, 141, 546], [0, 23, 45, 67, 90, 114], 58)
