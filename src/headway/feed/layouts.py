"""How the rows of a dataset become the batches of each epoch; computed from lengths alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from headway.data.dataset import Dataset
from headway.feed.bucket import bucket
from headway.feed.layout import Epoch, boundaries
from headway.feed.order import order
from headway.feed.rows import Documents, Table, WindowRows


class Layout(Protocol):
    """The same layout gives the same batches on every machine, whoever asks and in whatever order."""

    @property
    def dataset(self) -> Dataset:
        """Where the tokens are."""
        ...

    @property
    def rows(self) -> Table:
        """What batches are made of."""
        ...

    @property
    def varies(self) -> bool:
        """Whether epochs differ."""
        ...

    @property
    def even(self) -> bool:
        """Whether all whole epochs have as many batches."""
        ...

    def epoch(self, number: int, limit: int) -> Epoch:
        """The batches of an epoch that visits `limit` rows."""
        ...


@dataclass(frozen=True, eq=False)
class Whole:
    """Documents in their order or a random one, together while they fit into a budget of tokens."""

    dataset: Dataset
    budget_tokens: int
    seed: int = 0
    shuffle: bool = False

    @property
    def rows(self) -> Table:
        return Documents(self.dataset)

    @property
    def varies(self) -> bool:
        return self.shuffle

    @property
    def even(self) -> bool:
        return not self.shuffle

    def epoch(self, number: int, limit: int) -> Epoch:
        visit = order(self.dataset.documents, seed=self.seed, epoch=number, shuffle=self.shuffle)
        offsets = self.dataset.offsets[: limit + 1]
        if visit is not None:
            visit = visit[:limit]
            offsets = np.zeros(limit + 1, dtype=np.int64)
            np.cumsum(self.dataset.offsets[visit + 1] - self.dataset.offsets[visit], out=offsets[1:])
        return Epoch(visit, boundaries(offsets, self.budget_tokens))

    def spec(self) -> dict[str, Any]:
        """What another process needs beside the dataset; JSON-able."""
        return {"budget_tokens": self.budget_tokens, "seed": self.seed, "shuffle": self.shuffle}


@dataclass(frozen=True, eq=False)
class Bucketed:
    """Windows of like length together, padded to a budget of tokens."""

    rows: WindowRows
    budget_tokens: int
    most_rows: int
    seed: int = 0
    shuffle: bool = True

    @property
    def dataset(self) -> Dataset:
        return self.rows.dataset

    @property
    def varies(self) -> bool:
        return self.shuffle

    @property
    def even(self) -> bool:
        # Rows are cut into batches in the order of their lengths, which is that of every epoch.
        return True

    def epoch(self, number: int, limit: int) -> Epoch:
        lengths = self.rows.windows.lengths
        if limit != len(lengths):
            raise ValueError(f"windows are visited all or not at all, not {limit} of {len(lengths)}")
        return bucket(
            lengths,
            budget=self.budget_tokens,
            most_rows=self.most_rows,
            seed=self.seed,
            epoch=number,
            shuffle=self.shuffle,
        )


def evened(epoch: Epoch, world: int) -> Epoch:
    """The same batches, and empty ones at the end, until each of `world` equals gets as many."""
    missing = -(len(epoch.edges) - 1) % world
    if not missing:
        return epoch
    return Epoch(epoch.order, np.concatenate([epoch.edges, np.repeat(epoch.edges[-1:], missing)]))
