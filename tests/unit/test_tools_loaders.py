import gc
import threading
from collections import namedtuple
from itertools import islice

import numpy as np
import pytest
import torch
from made_dataset import of_lengths
from made_threads import PATIENCE_SECONDS
from torch.utils.data import DataLoader, Dataset, Subset

from headway.errors import DataError, PlanError, RunError
from headway.tools.loaders import AsyncDataPrefetcher, CollateFunction, EpochLoader, create_optimized_dataloader
from headway.tools.samplers import BucketingSampler

LENGTHS = (np.arange(60) * 31 % 13 + 1).tolist()


class Poems(Dataset):
    """Row i is so many times the number i."""

    lengths = LENGTHS

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        return [row] * self.lengths[row]


def numbers(batches):
    return [batch.ids[:, 0].tolist() for batch in batches]


def ended(name="prefetch"):
    for thread in threading.enumerate():
        if thread.name.startswith(name):
            thread.join(PATIENCE_SECONDS)
    return not any(thread.name.startswith(name) for thread in threading.enumerate())


def test_rows_are_padded_to_the_longest_of_them():
    found = CollateFunction()([[7, 8, 9], np.array([5], dtype=np.uint16), torch.tensor([1, 2]), []])

    assert found.ids.tolist() == [[7, 8, 9], [5, 0, 0], [1, 2, 0], [0, 0, 0]]
    assert found.lengths.tolist() == [3, 1, 2, 0]
    assert found.mask.tolist() == [[True] * 3, [True, False, False], [True, True, False], [False] * 3]
    assert found.ids.dtype == torch.int64


def test_padding_can_be_at_the_left_and_of_any_value():
    found = CollateFunction(padding_value=-1, padding_side="left")([[7, 8, 9], [5]])

    assert found.ids.tolist() == [[7, 8, 9], [-1, -1, 5]]
    assert found.mask.tolist() == [[True] * 3, [False, False, True]]


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_of_vectors_are_padded_by_whole_vectors(side):
    rows = [torch.ones(3, 2), torch.full((1, 2), 5.0)]
    found = CollateFunction(padding_side=side)(rows)

    assert found.ids.shape == (2, 3, 2)
    assert [found.ids[i][found.mask[i]].tolist() for i in range(2)] == [row.tolist() for row in rows]
    assert found.ids[~found.mask].tolist() == [[0, 0], [0, 0]]


def test_a_loader_gives_every_row_once_padded_to_the_budget():
    loader = create_optimized_dataloader(Poems(), max_tokens=40, max_batch_size=8)
    batches = list(loader)

    assert len(batches) == len(create_optimized_dataloader(Poems(), max_tokens=40, max_batch_size=8))
    assert sorted(row for batch in numbers(batches) for row in batch) == list(range(60))
    assert all(batch.ids.numel() <= 40 for batch in batches)
    assert numbers(loader) != numbers(batches)


def test_a_loader_can_have_so_many_rows_a_batch():
    loader = create_optimized_dataloader(Poems(), batch_size=16)

    assert sorted(len(batch.ids) for batch in loader) == [12, 16, 16, 16]


def test_a_loader_reads_a_dataset_on_disk(tmp_path):
    loader = create_optimized_dataloader(of_lengths(tmp_path / "d", [3, 1, 2, 4]), batch_size=2)
    rows = [ids[mask].tolist() for batch in loader for ids, _, mask in zip(*batch, strict=True)]

    assert sorted(rows) == [[0, 1, 2], [3], [4, 5], [6, 7, 8, 9]]
    assert len(loader.dataset) == 4


def test_a_loader_takes_lengths_that_the_data_does_not_have():
    rows = [[1, 2, 3], [4], [5, 6]]

    assert sorted(numbers(create_optimized_dataloader(rows, lengths=[3, 1, 2], batch_size=1))) == [[1], [4], [5]]
    with pytest.raises(DataError, match="does not say how many tokens"):
        create_optimized_dataloader(rows)


def test_a_loader_of_a_subset_loads_its_rows():
    loader = create_optimized_dataloader(Subset(Poems(), [40, 3, 17]), batch_size=2)

    assert sorted(row for batch in numbers(loader) for row in batch) == [3, 17, 40]


def test_collation_can_be_ones_own():
    loader = create_optimized_dataloader(Poems(), batch_size=60, collate_fn=len)

    assert list(loader) == [60]


def loaders():
    return {
        "alone": lambda: create_optimized_dataloader(Poems(), batch_size=7),
        "ahead": lambda: AsyncDataPrefetcher(create_optimized_dataloader(Poems(), batch_size=7), 3),
        "plain ahead": lambda: AsyncDataPrefetcher(
            DataLoader(Poems(), batch_sampler=BucketingSampler(Poems(), 7), collate_fn=CollateFunction()), 3
        ),
    }


@pytest.fixture(params=loaders())
def made(request):
    return loaders()[request.param]


def two_epochs(loader):
    for _ in range(2):
        yield from loader


def test_a_state_is_what_the_user_received_however_much_is_read_ahead(made):
    unbroken = numbers(two_epochs(made()))
    for place in range(0, len(unbroken), 4):
        stopped, resumed = made(), made()
        seen = numbers(islice(two_epochs(stopped), place))
        resumed.load_state_dict(stopped.state_dict())
        expected = len(resumed)
        rest = numbers(resumed)

        assert len(rest) == expected
        assert [*seen, *rest, *(numbers(resumed) if place < 9 else [])] == unbroken


def test_a_loader_takes_what_the_seeds_say_of_theirs():
    loader = create_optimized_dataloader(Poems(), 16, num_workers=1, prefetch_factor=2, persistent_workers=True)

    assert numbers(loader) == numbers(create_optimized_dataloader(Poems(), 16))
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (1, 2, True)
    assert {len(batch) for batch in numbers(create_optimized_dataloader(Poems(), 16, drop_last=True))} == {16}
    with pytest.raises(PlanError, match="drop_last: batches of max_tokens have no full size; give batch_size as well"):
        create_optimized_dataloader(Poems(), drop_last=True)


def test_workers_that_read_ahead_do_not_move_the_state():
    loader = create_optimized_dataloader(Poems(), batch_size=7, num_workers=1)
    begun = iter(loader)
    seen = numbers(islice(begun, 2))

    assert seen == numbers(islice(create_optimized_dataloader(Poems(), batch_size=7), 2))
    assert loader.state_dict() == {"epoch": 0, "batch": 2}


def test_a_pass_broken_off_starts_over_even_if_all_had_been_read(made):
    loader = made()
    first = numbers(made())
    begun = iter(loader)
    next(begun)
    begun.close()

    assert numbers(loader) == first
    assert numbers(loader) != first


def test_an_epoch_can_be_chosen(made):
    loader, other = made(), made()
    epochs = numbers(two_epochs(loader))
    other.set_epoch(1)

    assert numbers(other) == epochs[9:]
    assert other.state_dict() == {"epoch": 2, "batch": 0}


def test_a_loader_read_ahead_once_counts_for_itself_afterwards():
    loader = create_optimized_dataloader(Poems(), batch_size=7)
    ahead = numbers(AsyncDataPrefetcher(loader))
    alone = numbers(loader)

    assert alone != ahead
    assert loader.state_dict() == {"epoch": 2, "batch": 0}


def test_a_prefetcher_reads_anything_in_order():
    prefetcher = AsyncDataPrefetcher(range(100), buffer_size=5)

    assert list(prefetcher) == list(range(100))
    assert list(prefetcher) == list(range(100))
    assert len(prefetcher) == 100
    assert ended()


def test_a_prefetcher_reads_as_much_ahead_as_it_may_and_no_more():
    read, third = [], threading.Event()

    def source():
        for number in range(10):
            read.append(number)
            if number == 2:
                third.set()
            yield number

    begun = iter(AsyncDataPrefetcher(source(), buffer_size=2))

    assert next(begun) == 0
    assert third.wait(PATIENCE_SECONDS)
    begun.close()
    assert read == [0, 1, 2]


def test_passes_at_the_same_time_do_not_disturb_each_other():
    prefetcher = AsyncDataPrefetcher(range(20))

    assert list(zip(prefetcher, prefetcher, strict=True)) == [(number, number) for number in range(20)]


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
def test_an_error_of_the_loader_is_raised_where_its_batch_would_have_come(kind):
    def failing():
        yield from range(3)
        raise kind("the disk is gone")

    begun = iter(AsyncDataPrefetcher(failing(), buffer_size=5))
    seen = list(islice(begun, 3))

    assert seen == [0, 1, 2]
    with pytest.raises(kind, match="the disk is gone"):
        next(begun)
    assert list(begun) == []
    assert ended()


def test_closing_ends_the_thread_and_the_pass():
    with AsyncDataPrefetcher(range(100)) as prefetcher:
        begun = iter(prefetcher)
        next(begun)

    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())
    assert list(begun) == []


def test_a_forgotten_pass_ends_its_thread():
    begun = iter(AsyncDataPrefetcher(range(100)))
    next(begun)
    del begun
    gc.collect()

    assert ended()


def test_a_device_receives_every_tensor_of_a_batch():
    pair = namedtuple("pair", "left right")
    batch = {"ids": torch.ones(2), "more": [pair(torch.ones(1), "text"), (torch.ones(1), 5)]}
    moved = next(iter(AsyncDataPrefetcher([batch], device="meta")))

    assert moved["ids"].device.type == moved["more"][0].left.device.type == moved["more"][1][0].device.type == "meta"
    assert (moved["more"][0].right, moved["more"][1][1]) == ("text", 5)
    assert isinstance(moved["more"], list) and isinstance(moved["more"][0], pair)


def test_a_loader_without_positions_says_so():
    with pytest.raises(RunError, match=r"AsyncDataPrefetcher.state_dict: a range has no positions"):
        AsyncDataPrefetcher(range(3)).state_dict()


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(PlanError, match="buffer_size should be 1 or more"):
        AsyncDataPrefetcher(range(3), 0)
    with pytest.raises(PlanError, match="padding_side is 'right' or 'left'"):
        CollateFunction(padding_side="top")
    assert isinstance(create_optimized_dataloader(Poems()), EpochLoader)
