"""Batch samplers by the names of the seeds, for programs that use torch's DataLoader.

What is in which batch is decided by headway.feed.bucket; here it meets torch. A sampler goes to a DataLoader as its
`batch_sampler`. A pass over it is an epoch and the next pass the next epoch, with or without `set_epoch`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, cast

import numpy as np
from torch import Tensor
from torch.utils.data import Sampler, Subset

from headway.data.dataset import Dataset
from headway.data.npy import Ints
from headway.errors import DataError, PlanError, RunError
from headway.feed.bucket import Uneven, bucket, limited, runs, turns
from headway.feed.layout import Epoch
from headway.feed.order import order
from headway.plan.values import Position

_UNBOUNDED = 1 << 62


class EpochSampler(Sampler[list[int]]):
    """Lists of row numbers, one a batch; the same arguments give the same lists in every process, on every platform.

    Of each `world` batches that follow one another a rank takes one, and all ranks take as many: what is left over is
    filled up with the first batches of the epoch (`uneven="repeat"`) or left out ("drop").
    """

    def __init__(
        self, lay_out: Callable[[int], Epoch], *, rank: int = 0, world: int = 1, uneven: Uneven = "repeat"
    ) -> None:
        name = type(self).__name__
        checked(0 <= rank < world, name, f"rank should be 0 or more and less than world = {world}, not {rank}")
        checked(uneven in ("repeat", "drop"), name, f"uneven is 'repeat' or 'drop', not {uneven!r}")
        # Two epochs: the one at work and the one that whoever reads ahead has begun.
        self._laid = lru_cache(maxsize=2)(lay_out)
        self._turns = partial(turns, rank=rank, world=world, uneven=uneven)
        self._world = world
        self._next = self._at = Position.START
        self.is_led = False
        """Whether passes that begin now leave it to others to say what was `reached`."""

    def __iter__(self) -> Iterator[list[int]]:
        begin, positions = self._next, self.positions()
        self._next, self._at = Position(begin.epoch, 0), begin
        numbers = self._numbers(begin).tolist()
        if not numbers:
            self.reached(Position(begin.epoch + 1, 0))
        laid = self._laid(begin.epoch)
        return self._noted(laid, numbers, repeat(None) if self.is_led else positions)

    def __len__(self) -> int:
        """The batches of the next pass: those of an epoch, or after `load_state_dict` the rest of one."""
        return len(self._numbers(self._next))

    @property
    def uneven_batches(self) -> int:
        """How many batches of the next pass are repeated, or left out, so that all ranks have as many."""
        return abs(len(self) * self._world - (self._laid(self._next.epoch).batches - self._next.batch))

    def set_epoch(self, epoch: int) -> None:
        """Make this epoch the next pass: from its beginning, but for one that is to be continued."""
        checked(epoch >= 0, type(self).__name__, f"an epoch is 0 or more, not {epoch}")
        if epoch != self._next.epoch:
            self._next = self._at = Position(epoch, 0)

    def state_dict(self) -> dict[str, int]:
        """The position after the batch handed out last; a DataLoader with workers has then asked ahead of its user.

        Loaders of `create_optimized_dataloader` and an AsyncDataPrefetcher count what their user received instead.
        """
        return {"epoch": self._at.epoch, "batch": self._at.batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Let the next pass begin at a position, whatever the number of ranks was; a RunError where there is none."""
        position = Position(state["epoch"], state["batch"])
        batches = self._laid(max(position.epoch, 0)).batches
        if position.epoch < 0 or not 0 <= position.batch <= batches:
            raise RunError(
                f"epoch {position.epoch}, batch {position.batch} does not exist: that epoch has {batches:,} batches; "
                f"was the data changed, or a setting?"
            )
        self._next = self._at = position

    def positions(self) -> Iterator[Position]:
        """The position after each batch of the next pass."""
        begin, last = self._next, len(self)
        return (
            Position(begin.epoch, begin.batch + step * self._world) if step < last else Position(begin.epoch + 1, 0)
            for step in range(1, last + 1)
        )

    def reached(self, position: Position) -> None:
        """Take note that the user has all batches before a position."""
        self._at = position
        if position.batch == 0:
            self._next = position

    @contextmanager
    def led(self) -> Generator[None]:
        """Passes that begin here are those of a loader, which asks for batches before its user does."""
        before, self.is_led = self.is_led, True
        try:
            yield
        finally:
            self.is_led = before

    def _numbers(self, begin: Position) -> Ints:
        return self._turns(self._laid(begin.epoch).batches, first=begin.batch)

    def _noted(self, epoch: Epoch, numbers: list[int], positions: Iterable[Position | None]) -> Iterator[list[int]]:
        rows = cast(Ints, epoch.order)
        for number, position in zip(numbers, positions, strict=False):
            if position is not None:
                self.reached(position)
            yield rows[epoch.edges[number] : epoch.edges[number + 1]].tolist()


class BucketingSampler(EpochSampler):
    """Batches of `batch_size` rows of like length."""

    def __init__(  # noqa: PLR0913 - keywords of a facade
        self,
        lengths_or_dataset: Any,
        batch_size: int = 32,
        *,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        uneven: Uneven = "repeat",
    ) -> None:
        """With `drop_last` all batches are full: the rows too many sit out, others every epoch."""
        at_least_one("BucketingSampler", {"batch_size": batch_size})
        lengths = lengths_of(lengths_or_dataset)
        many = len(lengths) - (len(lengths) % batch_size if drop_last else 0)

        def lay_out(epoch: int) -> Epoch:
            visit = order(len(lengths), seed=seed, epoch=epoch, shuffle=shuffle)
            rows = np.arange(many) if visit is None else np.sort(visit[:many])
            return _alike(rows, lengths, batch_size, (shuffle, seed, epoch))

        super().__init__(lay_out, rank=rank, world=world, uneven=uneven)


class DynamicBatchSampler(EpochSampler):
    """Batches of rows of like length that take at most `max_tokens` when they are padded; longer rows are alone."""

    def __init__(  # noqa: PLR0913 - keywords of a facade
        self,
        lengths_or_dataset: Any,
        max_tokens: int = 4096,
        max_batch_size: int = 64,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        uneven: Uneven = "repeat",
    ) -> None:
        at_least_one("DynamicBatchSampler", {"max_tokens": max_tokens, "max_batch_size": max_batch_size})
        lengths = lengths_of(lengths_or_dataset)

        def lay_out(epoch: int) -> Epoch:
            return bucket(lengths, budget=max_tokens, most_rows=max_batch_size, seed=seed, epoch=epoch, shuffle=shuffle)

        super().__init__(lay_out, rank=rank, world=world, uneven=uneven)


class PoemAwareSampler(EpochSampler):
    """Batches with no more than so many chunks of a poem in an epoch: a choice that every epoch makes anew.

    Which poem a chunk is of says a number for each, or the `documents` of a dataset or of Windows. Chunks that are
    together are of like length where there are `lengths`.
    """

    def __init__(  # noqa: PLR0913 - keywords of a facade
        self,
        poems_or_dataset: Any,
        max_chunks_per_poem: int = 8,
        batch_size: int = 32,
        *,
        lengths: Any = None,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        uneven: Uneven = "repeat",
    ) -> None:
        name, poems = "PoemAwareSampler", poems_of(poems_or_dataset)
        at_least_one(name, {"max_chunks_per_poem": max_chunks_per_poem, "batch_size": batch_size})
        known = _column(poems_or_dataset, "lengths") if lengths is None else lengths_of(lengths)
        widths = np.ones(len(poems), np.int64) if known is None else known
        checked(len(widths) == len(poems), name, f"there are {len(widths)} lengths for {len(poems)} chunks")

        def lay_out(epoch: int) -> Epoch:
            rows = limited(poems, most=max_chunks_per_poem, seed=seed, epoch=epoch, shuffle=shuffle)
            return _alike(rows, widths, batch_size, (shuffle, seed, epoch))

        super().__init__(lay_out, rank=rank, world=world, uneven=uneven)


class ChunkSequenceSampler(EpochSampler):
    """Batches of up to `sequence_length` chunks of one poem that follow one another; the batches in random order."""

    def __init__(  # noqa: PLR0913 - keywords of a facade
        self,
        poems_or_dataset: Any,
        sequence_length: int = 8,
        *,
        shuffle: bool = True,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        uneven: Uneven = "repeat",
    ) -> None:
        poems = poems_of(poems_or_dataset)
        at_least_one("ChunkSequenceSampler", {"sequence_length": sequence_length})

        def lay_out(epoch: int) -> Epoch:
            return runs(poems, most_rows=sequence_length, seed=seed, epoch=epoch, shuffle=shuffle)

        super().__init__(lay_out, rank=rank, world=world, uneven=uneven)


def lengths_of(data: Any) -> Ints:
    """The length of each row: from a list or an array, a Dataset, Windows, anything with `lengths`, or a Subset of it.

    No row is loaded for that.
    """
    return _found(data, "lengths", "how many tokens each row has")


def poems_of(data: Any) -> Ints:
    """The poem of each chunk: from a list or an array, Windows, anything with `documents`, or a Subset of it."""
    return _found(data, "documents", "which poem each chunk is of")


def checked(fine: bool, where: str, problem: str) -> None:
    """A PlanError unless all is well."""
    if not fine:
        raise PlanError(where, [problem])


def at_least_one(where: str, given: Mapping[str, int]) -> None:
    """A PlanError that names the first of these settings which is 0 or less."""
    for name, value in given.items():
        checked(value >= 1, where, f"{name} should be 1 or more, not {value}")


def _found(data: Any, name: str, meaning: str) -> Ints:
    found = _integers(data) if isinstance(data, list | tuple | np.ndarray | Tensor) else _column(data, name)
    if found is None or found.min(initial=0) < 0:
        raise DataError(
            f"{type(data).__name__} does not say {meaning}: give a list of whole numbers, or a dataset that has them "
            f"as its attribute {name!r}"
        )
    return found


def _column(data: Any, name: str) -> Ints | None:
    """A number for each row from an attribute of the data; None where it has none."""
    if isinstance(data, Subset):
        whole = _column(data.dataset, name)
        return None if whole is None else whole[np.asarray(data.indices, dtype=np.int64)]
    if isinstance(data, Dataset):
        return data.document_lengths() if name == "lengths" else None
    return _integers(getattr(data, name, None))


def _integers(values: Any) -> Ints | None:
    try:
        array = np.asarray(values)
    except ValueError:
        # Rows of unlike length, for one, are no numbers.
        return None
    return array.astype(np.int64) if array.ndim == 1 and (array.dtype.kind in "iu" or array.size == 0) else None


def _alike(rows: Ints, lengths: Ints, batch_size: int, drawn: tuple[bool, int, int]) -> Epoch:
    """So many of these rows a batch, together with those of like length."""
    shuffle, seed, epoch = drawn
    laid = bucket(lengths[rows], budget=_UNBOUNDED, most_rows=batch_size, seed=seed, epoch=epoch, shuffle=shuffle)
    return Epoch(rows[cast(Ints, laid.order)], laid.edges)
