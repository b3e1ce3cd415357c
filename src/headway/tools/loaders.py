"""Collation, loaders and reading ahead by the names of the seeds, for programs that use torch's DataLoader."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from headway.data.dataset import Dataset
from headway.data.npy import Array
from headway.errors import RunError
from headway.feed.bucket import Uneven
from headway.plan.values import Position
from headway.tools.samplers import BucketingSampler, DynamicBatchSampler, EpochSampler, at_least_one, checked

_Item = tuple[Any, Position | None]


class Collated(NamedTuple):
    """Rows side by side; `mask` says where there is a value and where padding."""

    ids: Tensor
    lengths: Tensor
    mask: Tensor


class CollateFunction:
    """Pads the rows of a batch to the longest of them."""

    def __init__(self, padding_value: float = 0, padding_side: str = "right") -> None:
        fine = padding_side in ("right", "left")
        checked(fine, "CollateFunction", f"padding_side is 'right' or 'left', not {padding_side!r}")
        self.padding_value = padding_value
        self.padding_side = padding_side

    def __call__(self, rows: Sequence[Any]) -> Collated:
        """Rows are lists, arrays or tensors whose first dimension is the one that is padded."""
        values = [_tensor(row) for row in rows]
        lengths = torch.tensor([len(value) for value in values])
        flat, longest = torch.cat(values), int(lengths.max())
        places = torch.arange(longest)
        if self.padding_side == "left":
            places = places.flip(0)
        mask = places < lengths[:, None]
        ids = flat.new_full((len(values), longest, *flat.shape[1:]), self.padding_value)
        ids[mask] = flat
        return Collated(ids, lengths, mask)


class EpochLoader(DataLoader[Any]):
    """A DataLoader over an EpochSampler that knows what its user received, whatever its workers have asked for."""

    def __init__(  # noqa: PLR0913 - those of a DataLoader
        self,
        dataset: Any,
        batch_sampler: EpochSampler,
        *,
        collate_fn: Callable[[list[Any]], Any],
        num_workers: int = 0,
        pin_memory: bool = False,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        super().__init__(
            dataset,
            batch_sampler=batch_sampler,
            collate_fn=collate_fn,
            num_workers=num_workers,
            pin_memory=pin_memory,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
        )
        self.steps = batch_sampler

    def __iter__(self) -> Any:
        """The batches of the next pass of the sampler."""
        positions = repeat(None) if self.steps.is_led else self.steps.positions()
        with self.steps.led():
            return self._noted(zip(super().__iter__(), positions, strict=False))

    def set_epoch(self, epoch: int) -> None:
        """Make this epoch the next pass."""
        self.steps.set_epoch(epoch)

    def state_dict(self) -> dict[str, int]:
        """The position after the batch received last."""
        return self.steps.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Let the next pass begin at a position."""
        self.steps.load_state_dict(state)

    def _noted(self, items: Iterable[_Item]) -> Iterator[Any]:
        for batch, position in items:
            if position is not None:
                self.steps.reached(position)
            yield batch


def create_optimized_dataloader(  # noqa: PLR0913 - keywords of a facade
    dataset: Any,
    batch_size: int | None = None,
    *,
    max_tokens: int = 4096,
    max_batch_size: int = 64,
    lengths: Any = None,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = False,
    rank: int = 0,
    world: int = 1,
    uneven: Uneven = "repeat",
    collate_fn: Callable[[list[Any]], Any] | None = None,
    num_workers: int = 0,
    pin_memory: bool = False,
    prefetch_factor: int | None = None,
    persistent_workers: bool = False,
) -> EpochLoader:
    """A DataLoader with batches of like lengths: `batch_size` rows each, or without it as many as `max_tokens` hold.

    Lengths come from the dataset where it has them. Workers are none: handing over a batch costs more than making it.
    """
    known = dataset if lengths is None else lengths
    order: Any = {"shuffle": shuffle, "seed": seed, "rank": rank, "world": world, "uneven": uneven}
    if batch_size is None:
        problem = "drop_last: batches of max_tokens have no full size; give batch_size as well"
        checked(not drop_last, "create_optimized_dataloader", problem)
        sampler = DynamicBatchSampler(known, max_tokens, max_batch_size, **order)
    else:
        sampler = BucketingSampler(known, batch_size, drop_last=drop_last, **order)
    rows = _Documents(dataset) if isinstance(dataset, Dataset) else dataset
    collate = CollateFunction() if collate_fn is None else collate_fn
    return EpochLoader(
        rows,
        sampler,
        collate_fn=collate,
        num_workers=num_workers,
        pin_memory=pin_memory,
        prefetch_factor=prefetch_factor,
        persistent_workers=persistent_workers,
    )


class AsyncDataPrefetcher:
    """The batches of a loader, or of anything that can be iterated over, read by a thread before they are asked for.

    What goes wrong in the loader is raised where its batch would have come. With `device`, tensors arrive there.
    """

    def __init__(
        self, loader: Iterable[Any], buffer_size: int = 2, *, device: torch.device | str | None = None
    ) -> None:
        at_least_one("AsyncDataPrefetcher", {"buffer_size": buffer_size})
        self._loader = loader
        self._depth = buffer_size
        self._device = None if device is None else torch.device(device)
        self._steps = _steps_of(loader)
        self._passes: weakref.WeakSet[_Pass] = weakref.WeakSet()

    def __iter__(self) -> Iterator[Any]:
        # The loader's pass begins here, not in the thread: it may start processes.
        with nullcontext() if self._steps is None else self._steps.led():
            positions = repeat(None) if self._steps is None else self._steps.positions()
            items = zip(iter(self._loader), positions, strict=False)
        begun = _Pass(items, depth=self._depth, device=self._device, steps=self._steps)
        self._passes.add(begun)
        return begun

    def __len__(self) -> int:
        """The batches of the loader."""
        return len(cast(Any, self._loader))

    def set_epoch(self, epoch: int) -> None:
        """Make this epoch of the loader's sampler the next pass."""
        self._known("set_epoch").set_epoch(epoch)

    def state_dict(self) -> dict[str, int]:
        """The position after the batch received last, however many were read ahead."""
        return self._known("state_dict").state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Let the next pass begin at a position."""
        self._known("load_state_dict").load_state_dict(state)

    def close(self) -> None:
        """End all passes and their threads."""
        for each in list(self._passes):
            each.close()

    def __enter__(self) -> AsyncDataPrefetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _known(self, what: str) -> EpochSampler:
        if self._steps is None:
            raise RunError(
                f"AsyncDataPrefetcher.{what}: a {type(self._loader).__name__} has no positions; "
                f"make the loader with create_optimized_dataloader, or give it one of the samplers as batch_sampler"
            )
        return self._steps


class _Pass:
    """One pass over a loader; it ends its thread when it is closed or forgotten."""

    def __init__(
        self, items: Iterator[_Item], *, depth: int, device: torch.device | None, steps: EpochSampler | None
    ) -> None:
        self._items, self._device, self._steps = items, device, steps
        self._pin = device is not None and device.type == "cuda"
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        # Does not hold the pass, nor does the thread: one that is forgotten in the middle of an epoch goes away.
        self._forgotten = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        self._ahead = deque(self._asked() for _ in range(depth))

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        if not self._ahead:
            raise StopIteration
        error = self._ahead[0].exception()
        item = self._ahead.popleft().result() if error is None else None
        if item is None:
            self.close()
            raise StopIteration if error is None else error
        self._ahead.append(self._asked())
        batch, position = item
        if self._steps is not None and position is not None:
            self._steps.reached(position)
        device = self._device
        # Here and not in the thread, which has another stream than the work that follows.
        return batch if device is None else _each(batch, lambda tensor: tensor.to(device, non_blocking=True))

    def close(self) -> None:
        """Wait for the batch that is being read, and end the thread."""
        self._ahead.clear()
        self._forgotten.detach()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._items = iter(())

    def _asked(self) -> Future[_Item | None]:
        return self._pool.submit(_read, self._items, self._pin)


def _read(items: Iterator[_Item], pin: bool) -> _Item | None:
    """The next item, in memory that a device can read by itself; None after the last."""
    item = next(items, None)
    return item if item is None or not pin else (_each(item[0], Tensor.pin_memory), item[1])


def _each(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same value with every tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _each(each, change) for name, each in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        kind, parts = type(value), [_each(each, change) for each in cast(Sequence[Any], value)]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return value


def _steps_of(loader: Any) -> EpochSampler | None:
    found = loader if isinstance(loader, EpochSampler) else getattr(loader, "batch_sampler", None)
    return found if isinstance(found, EpochSampler) else None


class _Documents:
    """The documents of a Dataset as rows, those of a batch read at once."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return self._dataset.documents

    def __getitems__(self, rows: list[int]) -> list[Array]:
        found = self._dataset.read(np.array(rows, dtype=np.int64))
        return np.split(found.ids, found.starts[1:-1])


def _tensor(row: Any) -> Tensor:
    if isinstance(row, Tensor):
        return row
    array = np.asarray(row)
    # Ids index tables, for which torch takes signed types; an empty list says nothing of a type.
    return torch.tensor(array.astype(np.int64) if array.dtype.kind in "iu" or array.size == 0 else array)
