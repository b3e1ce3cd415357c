"""The Feed: a pure function from a Position to a batch of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from headway.data.dataset import Dataset, open_dataset
from headway.data.npy import Ints
from headway.errors import RunError
from headway.feed.batch import Batch
from headway.feed.layout import Epoch
from headway.feed.layouts import Layout, Whole, evened
from headway.plan.values import Place, Position


class Done(NamedTuple):
    """How much lies before a position."""

    documents: int
    tokens: int


@dataclass(frozen=True)
class _Epoch:
    """The batches of one epoch, and how many tokens and documents lie before each place of its order."""

    order: Ints | None
    edges: Ints
    tokens: Ints
    documents: Ints | None

    @property
    def batches(self) -> int:
        return len(self.edges) - 1

    def done(self, place: int) -> Done:
        documents = place if self.documents is None else int(self.documents[place])
        return Done(documents, int(self.tokens[place]))


@dataclass(frozen=True, eq=False)
class Feed:
    """Batches of a layout by position; the same arguments give the same batches on every machine.

    With several equals at work (`place`), each step takes the next `world` batches: this one's is the `rank`-th.
    """

    layout: Layout
    epochs: int = 1
    documents: int | None = None
    place: Place = field(default_factory=Place)

    @property
    def dataset(self) -> Dataset:
        """The tokens that all batches come from."""
        return self.layout.dataset

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
        number = position.batch + self.place.rank
        first, last = int(epoch.edges[number]), int(epoch.edges[number + 1])
        rows = slice(first, last) if epoch.order is None else epoch.order[first:last]
        before, after = epoch.done(first), epoch.done(last)
        documents, tokens = after.documents - before.documents, after.tokens - before.tokens
        return Batch(position, rows, documents, tokens, self.layout.rows)

    def done(self, position: Position) -> Done:
        """Documents and tokens before a position."""
        self._check(position)
        if position >= self.end:
            return Done(self.total_documents, self.total_tokens)
        before = self._before(position.epoch)
        if position.batch == 0:
            return before
        epoch = self._epoch(position.epoch)
        inside = epoch.done(int(epoch.edges[position.batch]))
        return Done(before.documents + inside.documents, before.tokens + inside.tokens)

    @cached_property
    def total_documents(self) -> int:
        """Documents over all epochs, up to the limit."""
        everything = self.epochs * self._whole.documents
        return everything if self.documents is None else min(self.documents, everything)

    @cached_property
    def total_tokens(self) -> int:
        """Tokens over all epochs, up to the limit."""
        return self._before(self._whole_epochs).tokens + (int(self._last.tokens[-1]) if self._rest else 0)

    @cached_property
    def total_batches(self) -> int:
        """Batches over all epochs, up to the limit."""
        epochs = self._whole_epochs + bool(self._rest)
        if not self.layout.even:
            return sum(self._epoch(epoch).batches for epoch in range(epochs))
        rest = self._last.batches if self._rest else 0
        return rest + (self._whole_epochs * self._epoch(0).batches if self._whole_epochs else 0)

    @cached_property
    def largest_bytes(self) -> int:
        """What the token ids of the largest batch take (where epochs differ, in the first); no row is divided."""
        epoch = self._epoch(0)
        return int(np.diff(epoch.tokens[epoch.edges]).max(initial=0)) * self.dataset.dtype.itemsize

    @cached_property
    def end(self) -> Position:
        """The position after the last batch."""
        if not self._rest:
            return Position(self._whole_epochs, 0)
        return Position(self._whole_epochs, self._last.batches)

    @cached_property
    def cut(self) -> bool:
        """Whether the limit ends inside a batch: a run that ended there cannot continue with a higher limit."""
        if not self._rest:
            return False
        full = replace(self, epochs=self._whole_epochs + 1, documents=None)
        return self._rest not in full._epoch(self._whole_epochs).edges

    def spec(self) -> dict[str, Any]:
        """What another process needs to make the same Feed; JSON-able."""
        if not isinstance(self.layout, Whole):
            raise TypeError("only whole documents are handed to other processes")
        return {
            "dataset": str(self.dataset.folder.resolve()),
            "layout": self.layout.spec(),
            "epochs": self.epochs,
            "documents": self.documents,
        }

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """The Feed with this spec; the Dataset was verified by whoever made the spec."""
        dataset = open_dataset(Path(spec["dataset"]), verify=False)
        return cls(Whole(dataset, **spec["layout"]), spec["epochs"], spec["documents"])

    @cached_property
    def _whole(self) -> Done:
        """What a whole epoch holds."""
        epoch = self._epochs(0, self._rows)
        return epoch.done(int(epoch.edges[-1])) if epoch.batches else Done(0, 0)

    @property
    def _rows(self) -> int:
        return len(self.layout.rows.offsets) - 1

    @property
    def _whole_epochs(self) -> int:
        return self.total_documents // self._whole.documents if self._whole.documents else 0

    @property
    def _rest(self) -> int:
        return self.total_documents % self._whole.documents if self._whole.documents else 0

    @property
    def _last(self) -> _Epoch:
        return self._epoch(self._whole_epochs)

    def _before(self, epochs: int) -> Done:
        return Done(epochs * self._whole.documents, epochs * self._whole.tokens)

    def _epoch(self, epoch: int) -> _Epoch:
        limit = self._rest if epoch >= self._whole_epochs else self._rows
        # Where nothing varies all whole epochs are alike: one entry serves them.
        return self._epochs(epoch if self.layout.varies else 0, limit)

    @cached_property
    def _epochs(self) -> Any:
        # Two epochs: the one at work and the one that a reader ahead has begun.
        return lru_cache(maxsize=2)(self._lay_out)

    def _lay_out(self, epoch: int, limit: int) -> _Epoch:
        rows = self.layout.rows
        laid: Epoch = evened(self.layout.epoch(epoch, limit), self.place.world)
        if laid.order is None:
            firsts = None if rows.firsts is None else _running(rows.firsts[:limit])
            return _Epoch(None, laid.edges, rows.offsets[: limit + 1], firsts)
        tokens = _running(rows.offsets[laid.order + 1] - rows.offsets[laid.order])
        return _Epoch(
            laid.order, laid.edges, tokens, None if rows.firsts is None else _running(rows.firsts[laid.order])
        )

    def _after(self, position: Position) -> Position:
        """The position after a step; the last step of a whole epoch leads to the next epoch."""
        following = Position(position.epoch, position.batch + self.place.world)
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
        if position.batch % self.place.world:
            raise RunError(f"{_said(position)} is no step of {self.place.world} equals; continue with another number")


def _running(lengths: Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _said(position: Position) -> str:
    return f"epoch {position.epoch}, batch {position.batch}"
