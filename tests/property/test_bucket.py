"""Batches of like lengths hold every row once, keep the budget, and are the same for the same arguments."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.feed.bucket import bucket, limited, oversized, padding, runs, turns


@st.composite
def buckets(draw):
    lengths = np.array(draw(st.lists(st.integers(0, 40), max_size=200)), dtype=np.int64)
    wanted = {
        "budget": draw(st.integers(1, 300)),
        "most_rows": draw(st.integers(1, 50)),
        "seed": draw(st.integers(-(2**63), 2**64)),
        "epoch": draw(st.integers(0, 5)),
        "shuffle": draw(st.booleans()),
    }
    return lengths, wanted


def batches_of(epoch):
    return [epoch.order[first:last].tolist() for first, last in zip(epoch.edges, epoch.edges[1:], strict=False)]


@settings(max_examples=200)
@given(buckets())
def test_every_row_comes_once_and_every_batch_keeps_the_budget(case):
    lengths, wanted = case
    epoch = bucket(lengths, **wanted)
    batches = batches_of(epoch)

    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(0 < len(batch) <= wanted["most_rows"] for batch in batches)
    assert all(len(batch) == 1 or len(batch) * max(lengths[batch]) <= wanted["budget"] for batch in batches)
    assert len(batches) == epoch.batches >= oversized(lengths, wanted["budget"])


@settings(max_examples=200)
@given(buckets())
def test_batches_are_as_large_as_they_may_be(case):
    lengths, wanted = case
    batches = sorted(
        batches_of(bucket(lengths, **wanted)), key=lambda batch: (max(lengths[batch]), lengths[batch].sum())
    )
    by_length = sorted(range(len(lengths)), key=lambda row: lengths[row])
    expected, at = [], 0
    while at < len(by_length):
        rows = 1
        while (
            at + rows < len(by_length)
            and rows < wanted["most_rows"]
            and (rows + 1) * lengths[by_length[at + rows]] <= wanted["budget"]
        ):
            rows += 1
        expected.append(sorted(int(lengths[row]) for row in by_length[at : at + rows]))
        at += rows

    assert sorted(sorted(lengths[batch].tolist()) for batch in batches) == sorted(expected)


@settings(max_examples=200)
@given(buckets())
def test_the_same_arguments_give_the_same_batches_and_padding_is_what_is_padded(case):
    lengths, wanted = case
    epoch, again = bucket(lengths, **wanted), bucket(lengths.copy(), **wanted)
    area = sum(len(batch) * max(lengths[batch]) for batch in batches_of(epoch))

    assert np.array_equal(epoch.order, again.order)
    assert np.array_equal(epoch.edges, again.edges)
    assert padding(lengths, epoch) == (1 - lengths.sum() / area if area else 0)


@settings(max_examples=200)
@given(
    st.integers(0, 60), st.integers(1, 7), st.integers(0, 60), st.sampled_from(["repeat", "drop"]), st.integers(1, 7)
)
def test_ranks_share_the_batches_from_any_place_on_and_any_number_of_them_can_continue(
    batches, world, first, uneven, later
):
    first = min(first, batches)
    shares = [turns(batches, rank=rank, world=world, first=first, uneven=uneven) for rank in range(world)]
    steps = len(shares[0])
    in_order = [int(share[step]) for step in range(steps) for share in shares]
    whole = list(range(first, batches))

    assert all(len(share) == steps for share in shares)
    assert in_order[: len(whole)] == whole[: len(in_order)]
    assert abs(len(in_order) - len(whole)) < world
    assert len(in_order) >= len(whole) if uneven == "repeat" else len(in_order) <= len(whole)
    # After some steps, others go on exactly there.
    middle = first + steps // 2 * world
    rest = [turns(batches, rank=rank, world=later, first=min(middle, batches)) for rank in range(later)]
    assert {int(number) for share in rest for number in share} >= set(range(middle, batches))


@settings(max_examples=200)
@given(
    st.lists(st.integers(0, 6), max_size=60),
    st.integers(1, 8),
    st.integers(0, 9),
    st.integers(0, 3),
    st.booleans(),
)
def test_runs_hold_every_row_once_in_the_order_of_its_group(groups, most_rows, seed, epoch, shuffle):
    groups = np.array(groups, dtype=np.int64)
    batches = batches_of(runs(groups, most_rows=most_rows, seed=seed, epoch=epoch, shuffle=shuffle))

    assert sorted(row for batch in batches for row in batch) == list(range(len(groups)))
    for batch in batches:
        members = np.flatnonzero(groups == groups[batch[0]]).tolist()
        at = members.index(batch[0])
        assert batch == members[at : at + most_rows]
        assert at % most_rows == 0


@settings(max_examples=200)
@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 8), st.integers(0, 9), st.booleans())
def test_no_group_has_more_rows_than_its_limit_nor_fewer_than_it_could(groups, most, seed, shuffle):
    groups = np.array(groups, dtype=np.int64)
    rows = limited(groups, most=most, seed=seed, epoch=0, shuffle=shuffle)

    assert rows.tolist() == sorted(set(rows.tolist()))
    assert (
        np.bincount(groups[rows], minlength=7).tolist() == np.minimum(np.bincount(groups, minlength=7), most).tolist()
    )
