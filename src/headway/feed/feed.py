"""The Feed: a pure function from a Position to a batch of documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from headway.data.dataset import Dataset, open_dataset
from headway.data.npy import Ints
from headway.errors import RunError
from headway.feed.batch import Batch
from headway.feed.layout import boundaries
from headway.feed.order import order
from headway.plan.values import Position


class Done(NamedTuple):
    """How much lies before a position."""

    documents: int
    tokens: int


@dataclass(frozen=True)
class _Epoch:
    """The batches of one epoch: batch i holds the places edges[i]..edges[i+1] of the order."""

    order: Ints | None
    offsets: Ints
    edges: Ints

    @property
    def batches(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True, eq=False)
class Feed:
    """Batches of a Dataset by position; the same arguments give the same batches on every machine."""

    dataset: Dataset
    budget_tokens: int
    seed: int = 0
    shuffle: bool = False
    epochs: int = 1
    documents: int | None = None

    def batches(self, position: Position = Position.START) -> Iterator[tuple[Batch, Position]]:
        """Every batch from a position on, each with the position after it."""
        self._check(position)
        while position < self.end:
            batch, position = self.at(position), self._after(position)
            yield batch, position

    def at(self, position: Position) -> Batch:
        """The batch at a position; a RunError where there is none."""
        self._check(position)
        if position >= self.end:
            raise RunError(f"there is no batch at {_said(position)}: the feed ends at {_said(self.end)}")
        epoch = self._epoch(position.epoch)
        first, last = int(epoch.edges[position.batch]), int(epoch.edges[position.batch + 1])
        rows = slice(first, last) if epoch.order is None else epoch.order[first:last]
        return Batch(position, rows, last - first, int(epoch.offsets[last] - epoch.offsets[first]), self.dataset)

    def done(self, position: Position) -> Done:
        """Documents and tokens before a position."""
        self._check(position)
        if position >= self.end:
            return Done(self.total_documents, self.total_tokens)
        before = Done(position.epoch * self.dataset.documents, position.epoch * self.dataset.tokens)
        if position.batch == 0:
            return before
        epoch = self._epoch(position.epoch)
        edge = int(epoch.edges[position.batch])
        return Done(before.documents + edge, before.tokens + int(epoch.offsets[edge]))

    @cached_property
    def total_documents(self) -> int:
        """Documents over all epochs, up to the limit."""
        everything = self.epochs * self.dataset.documents
        return everything if self.documents is None else min(self.documents, everything)

    @cached_property
    def total_tokens(self) -> int:
        """Tokens over all epochs, up to the limit."""
        rest = int(self._epoch(self._whole_epochs).offsets[-1]) if self._rest else 0
        return self._whole_epochs * self.dataset.tokens + rest

    @cached_property
    def total_batches(self) -> int:
        """Batches over all epochs, up to the limit."""
        epochs = self._whole_epochs + bool(self._rest)
        if self.shuffle:
            return sum(self._epoch(epoch).batches for epoch in range(epochs))
        rest = self._epoch(self._whole_epochs).batches if self._rest else 0
        return rest + (self._whole_epochs * self._epoch(0).batches if self._whole_epochs else 0)

    @cached_property
    def end(self) -> Position:
        """The position after the last batch."""
        if not self._rest:
            return Position(self._whole_epochs, 0)
        return Position(self._whole_epochs, self._epoch(self._whole_epochs).batches)

    @cached_property
    def cut(self) -> bool:
        """Whether the limit ends inside a batch: a run that ended there cannot continue with a higher limit."""
        if not self._rest:
            return False
        full = Feed(self.dataset, self.budget_tokens, self.seed, self.shuffle, self._whole_epochs + 1)
        return self._rest not in full._epoch(self._whole_epochs).edges

    def spec(self) -> dict[str, Any]:
        """What another process needs to make the same Feed; JSON-able."""
        return {
            "dataset": str(self.dataset.folder.resolve()),
            "budget_tokens": self.budget_tokens,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "epochs": self.epochs,
            "documents": self.documents,
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """The Feed with this spec; the Dataset was verified by whoever made the spec."""
        settings = {name: value for name, value in spec.items() if name != "dataset"}
        return cls(open_dataset(Path(spec["dataset"]), verify=False), **settings)

    @property
    def _whole_epochs(self) -> int:
        return self.total_documents // self.dataset.documents if self.dataset.documents else 0

    @property
    def _rest(self) -> int:
        return self.total_documents % self.dataset.documents if self.dataset.documents else 0

    def _epoch(self, epoch: int) -> _Epoch:
        limit = self._rest if epoch >= self._whole_epochs else self.dataset.documents
        # Without a shuffle all whole epochs are alike: one entry serves them.
        return self._epochs(epoch if self.shuffle else 0, limit)

    @cached_property
    def _epochs(self) -> Any:
        # Two epochs: the one at work and the one that a reader ahead has begun.
        return lru_cache(maxsize=2)(self._lay_out)

    def _lay_out(self, epoch: int, limit: int) -> _Epoch:
        visit = order(self.dataset.documents, seed=self.seed, epoch=epoch, shuffle=self.shuffle)
        offsets = self.dataset.offsets[: limit + 1]
        if visit is not None:
            visit = visit[:limit]
            offsets = np.zeros(limit + 1, dtype=np.int64)
            np.cumsum(self.dataset.offsets[visit + 1] - self.dataset.offsets[visit], out=offsets[1:])
        return _Epoch(visit, offsets, boundaries(offsets, self.budget_tokens))

    def _after(self, position: Position) -> Position:
        """The position after a batch; the last batch of a whole epoch leads to the next epoch."""
        following = Position(position.epoch, position.batch + 1)
        is_last = following.batch == self._epoch(position.epoch).batches
        return Position(position.epoch + 1, 0) if is_last and position.epoch < self._whole_epochs else following

    def _check(self, position: Position) -> None:
        if position.epoch < 0 or position.batch < 0:
            raise RunError(f"{_said(position)} is not a position")
        if position >= self.end:
            return
        batches = self._epoch(position.epoch).batches
        if position.batch > 0 and position.batch >= batches:
            raise RunError(
                f"{_said(position)} does not exist: that epoch has {batches:,} batches; was the data changed?"
            )


def _said(position: Position) -> str:
    return f"epoch {position.epoch}, batch {position.batch}"
