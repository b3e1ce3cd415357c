from itertools import islice

import numpy as np
import pytest
import torch
from made_dataset import of_lengths
from torch.utils.data import DataLoader, Subset, TensorDataset

from headway.errors import DataError, PlanError, RunError
from headway.feed.windows import cut
from headway.tools.samplers import (
    BucketingSampler,
    ChunkSequenceSampler,
    DynamicBatchSampler,
    EpochSampler,
    PoemAwareSampler,
    lengths_of,
    poems_of,
)

LENGTHS = (np.arange(200) * 7919 % 45 + 5).tolist()
POEMS = np.repeat(np.arange(20), np.arange(1, 21)).tolist()


def rows_of(batches):
    return sorted(row for batch in batches for row in batch)


class Poems(torch.utils.data.Dataset):
    """Rows that say how long they are, and count how often one is loaded."""

    def __init__(self, lengths):
        self.lengths = lengths
        self.loaded = []

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        self.loaded.append(row)
        return row


KINDS = {
    "bucketing": lambda **given: BucketingSampler(LENGTHS, 16, **given),
    "dynamic": lambda **given: DynamicBatchSampler(LENGTHS, 400, 32, **given),
    "poem": lambda **given: PoemAwareSampler(POEMS, 20, 16, **given),
    "sequence": lambda **given: ChunkSequenceSampler(POEMS, 4, **given),
}


@pytest.fixture(params=KINDS)
def made(request):
    return KINDS[request.param]


def test_every_row_comes_once_an_epoch_and_len_is_exact(made):
    sampler = made()
    for _ in range(3):
        expected = len(sampler)
        batches = list(sampler)

        assert len(batches) == expected
        assert rows_of(batches) == list(range(len(rows_of(batches))))


def test_epochs_differ_without_being_told_and_come_again_when_they_are_asked_for(made):
    sampler = made()
    first, second = list(sampler), list(sampler)
    sampler.set_epoch(0)

    assert first != second
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) == second
    assert list(made(seed=1)) != first


def test_unshuffled_epochs_are_alike(made):
    sampler = made(shuffle=False)

    assert list(sampler) == list(sampler)


@pytest.mark.parametrize("world", [2, 3, 7])
def test_ranks_together_have_the_epoch_of_one(made, world):
    alone = list(made())
    shares = [list(made(rank=rank, world=world)) for rank in range(world)]
    in_turn = [batch for step in zip(*shares, strict=True) for batch in step]

    assert in_turn[: len(alone)] == alone
    assert in_turn[len(alone) :] == alone[: len(in_turn) - len(alone)]
    assert made(rank=0, world=world).uneven_batches == len(in_turn) - len(alone)


def test_batches_that_ranks_cannot_share_can_be_dropped(made):
    alone = list(made())
    samplers = [made(rank=rank, world=3, uneven="drop") for rank in range(3)]
    dropped = samplers[0].uneven_batches
    in_turn = [batch for step in zip(*samplers, strict=True) for batch in step]

    assert in_turn == alone[: len(alone) - dropped]
    assert dropped == len(alone) % 3


def two_epochs(sampler):
    for _ in range(2):
        yield from sampler


def test_resuming_anywhere_is_going_on_unbroken(made):
    unbroken, an_epoch = list(two_epochs(made())), len(made())
    for place in range(len(unbroken) + 1):
        stopped, resumed = made(), made()
        seen = list(islice(two_epochs(stopped), place))
        resumed.load_state_dict(stopped.state_dict())
        left = an_epoch - place % an_epoch
        rest = [*resumed, *(resumed if place < an_epoch else [])] if place < len(unbroken) else []

        assert [*seen, *rest] == unbroken
        assert stopped.state_dict() == {"epoch": place // an_epoch, "batch": place % an_epoch}
        assert len(rest) % an_epoch == left % an_epoch


def test_another_number_of_ranks_goes_on_at_the_same_batch(made):
    alone = list(made())
    first = [made(rank=rank, world=2) for rank in range(2)]
    begun = [iter(sampler) for sampler in first]
    seen = [next(each) for _ in range(2) for each in begun]
    later = [made(rank=rank, world=3) for rank in range(3)]
    for sampler in later:
        sampler.load_state_dict(first[0].state_dict())
    rest = [batch for step in zip(*later, strict=True) for batch in step]

    assert [*seen, *rest][: len(alone)] == alone
    assert later[0].state_dict() == {"epoch": 1, "batch": 0}


def test_a_pass_that_was_broken_off_starts_over():
    sampler = BucketingSampler(LENGTHS, 16)
    next(iter(sampler))

    assert rows_of(sampler) == list(range(200))


def test_set_epoch_does_not_lose_the_place_in_the_epoch_that_goes_on():
    sampler = BucketingSampler(LENGTHS, 16)
    sampler.load_state_dict({"epoch": 3, "batch": 5})
    sampler.set_epoch(3)

    assert len(sampler) == 13 - 5
    sampler.set_epoch(4)
    assert len(sampler) == 13


def test_a_rest_too_small_for_all_ranks_ends_the_epoch():
    sampler = BucketingSampler(LENGTHS, 16, world=2, uneven="drop")
    sampler.load_state_dict({"epoch": 0, "batch": 12})

    assert (len(sampler), list(sampler)) == (0, [])
    assert sampler.state_dict() == {"epoch": 1, "batch": 0}
    assert len(sampler) == 6


@pytest.mark.parametrize("state", [{"epoch": -1, "batch": 0}, {"epoch": 0, "batch": 14}, {"epoch": 0, "batch": -1}])
def test_a_position_that_does_not_exist_is_an_error(state):
    with pytest.raises(RunError, match="does not exist: that epoch has 13 batches"):
        BucketingSampler(LENGTHS, 16).load_state_dict(state)


def test_samplers_of_nothing_have_no_batches():
    sampler = BucketingSampler([])

    assert (len(sampler), list(sampler)) == (0, [])


def test_a_token_budget_holds_when_batches_are_padded():
    batches = list(DynamicBatchSampler([*LENGTHS, 1000], max_tokens=400, max_batch_size=32))

    assert all(len(batch) * max([*LENGTHS, 1000][row] for row in batch) <= 400 for batch in batches if 200 not in batch)
    assert [200] in batches
    assert max(map(len, batches)) <= 32


def test_dropping_the_last_makes_all_batches_full_and_drops_others_each_epoch():
    sampler = BucketingSampler(LENGTHS, 16, drop_last=True)
    first, second = list(sampler), list(sampler)

    assert {len(batch) for batch in first + second} == {16}
    assert len(first) == len(second) == 12
    assert rows_of(first) != rows_of(second)
    assert rows_of(BucketingSampler(LENGTHS, 16, drop_last=True, shuffle=False)) == list(range(192))


def test_no_poem_has_more_chunks_than_its_share():
    sampler = PoemAwareSampler(POEMS, max_chunks_per_poem=5, batch_size=8)
    first, second = rows_of(sampler), rows_of(sampler)

    assert np.bincount(np.array(POEMS)[first]).tolist() == np.minimum(np.arange(1, 21), 5).tolist()
    assert first != second


def test_chunks_of_a_poem_come_with_those_of_like_length_where_lengths_are_known():
    lengths = [5, 50] * 105
    batches = list(PoemAwareSampler(POEMS, 99, 5, lengths=lengths))

    assert all(len({lengths[row] for row in batch}) == 1 for batch in batches)


def test_chunk_sequences_are_runs_of_one_poem():
    for batch in ChunkSequenceSampler(POEMS, sequence_length=4):
        assert batch == list(range(batch[0], batch[0] + len(batch)))
        assert len({POEMS[row] for row in batch}) == 1


def test_a_data_loader_takes_them_as_batch_samplers():
    data = TensorDataset(torch.arange(200))
    loader = DataLoader(data, batch_sampler=BucketingSampler(LENGTHS, 16))
    seen = [batch.tolist() for (batch,) in loader]

    assert len(loader) == len(seen) == 13
    assert rows_of(seen) == list(range(200))
    assert [batch.tolist() for (batch,) in loader] != seen


def test_a_subset_is_sampled_by_its_own_numbers_and_no_row_is_loaded():
    poems = Poems(LENGTHS)
    subset = Subset(Subset(poems, range(50, 150)), [3, 5, 70, 71])
    sampler = DynamicBatchSampler(subset, 60)
    before = list(poems.loaded)
    rows = [row.tolist() for row in DataLoader(subset, batch_sampler=sampler)]

    assert before == []
    assert lengths_of(subset).tolist() == [LENGTHS[row] for row in (53, 55, 120, 121)]
    assert rows_of(rows) == [53, 55, 120, 121]


def test_lengths_come_from_wherever_they_are(tmp_path):
    windows = cut(np.array([120, 7]), size=50, overlap=10, shortest=5)

    assert lengths_of(of_lengths(tmp_path / "d", [3, 0, 2])).tolist() == [3, 0, 2]
    assert lengths_of(torch.tensor([1, 2])).tolist() == [1, 2]
    assert lengths_of(windows).tolist() == [50, 50, 40, 7]
    assert poems_of(windows).tolist() == [0, 0, 0, 1]
    assert rows_of(PoemAwareSampler(windows, 2)) in ([0, 1, 3], [0, 2, 3], [1, 2, 3])


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1.5], [-1], TensorDataset(torch.zeros(2)), Subset([1], [0]), None, 5])
def test_data_without_lengths_is_refused(data):
    with pytest.raises(DataError, match="does not say how many tokens each row has"):
        BucketingSampler(data)


def test_a_dataset_on_disk_has_no_poems_to_its_rows(tmp_path):
    with pytest.raises(DataError, match="does not say which poem each chunk is of"):
        ChunkSequenceSampler(of_lengths(tmp_path / "d", [3]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BucketingSampler([1], 0),
        lambda: BucketingSampler([1], rank=2, world=2),
        lambda: BucketingSampler([1], uneven="pad"),
        lambda: BucketingSampler([1]).set_epoch(-1),
        lambda: DynamicBatchSampler([1], 0),
        lambda: DynamicBatchSampler([1], 1, 0),
        lambda: PoemAwareSampler([1], 0),
        lambda: PoemAwareSampler([1], 1, 0),
        lambda: PoemAwareSampler([1], lengths=[1, 2]),
        lambda: ChunkSequenceSampler([1], 0),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(wrong):
    with pytest.raises(PlanError, match="Sampler: 1 problem"):
        wrong()


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match="bucket_size"):
        BucketingSampler([1], bucket_size=3)


def test_no_global_generator_is_touched(made):
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    list(made())

    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])
    assert isinstance(made(), EpochSampler)
