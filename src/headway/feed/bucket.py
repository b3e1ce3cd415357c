"""Batches of rows of like length, so that little is padded; pure functions of lengths, seed and epoch."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Ints
from headway.feed.layout import Epoch
from headway.feed.order import order

Uneven = Literal["repeat", "drop"]
# Batches that are shuffled among themselves: of like length, so that ranks which work on neighbours wait little.
_BLOCK = 8
_WORD = (1 << 64) - 1


def bucket(lengths: Ints, *, budget: int, most_rows: int, seed: int, epoch: int, shuffle: bool = True) -> Epoch:
    """Batches of at most `most_rows` rows, in which rows times the longest fit into the budget.

    Every row is in exactly one batch; one above the budget is a batch of its own. With `shuffle`, rows of the same
    length meet in other batches every epoch, and the order of batches is a random one; without, rows are in the order
    of their lengths. The same arguments give the same batches on every platform.
    """
    if budget < 1 or most_rows < 1:
        raise ValueError(f"a batch needs room for a token and a row, not for {budget} and {most_rows}")
    lengths = np.asarray(lengths, dtype=np.int64)
    # Raw Philox words are the one stream numpy promises never to change.
    words = np.random.Philox(key=np.array([seed & _WORD, epoch & _WORD], dtype=np.uint64))
    # The key of a row is its length plus a fraction; rows of the same key stay in the order of their numbers.
    rows = np.lexsort((_drawn(words, len(lengths)), lengths)) if shuffle else np.argsort(lengths, kind="stable")
    edges = _edges(lengths[rows], budget, most_rows)
    if not shuffle:
        return Epoch(rows, edges)
    block = np.arange(len(edges) - 1) // _BLOCK
    between = _drawn(words, -(-len(block) // _BLOCK))
    within = _drawn(words, len(block))
    return _visited(rows, edges, np.lexsort((within, block, between[block])))


def runs(groups: Ints, *, most_rows: int, seed: int, epoch: int, shuffle: bool = True) -> Epoch:
    """Batches of up to `most_rows` rows of one group that follow one another; with `shuffle` in a random order."""
    if most_rows < 1:
        raise ValueError(f"a batch needs room for a row, not for {most_rows}")
    groups = np.asarray(groups, dtype=np.int64)
    rows = np.argsort(groups, kind="stable")
    edges = np.append(np.flatnonzero(_places(groups[rows]) % most_rows == 0), len(rows))
    visit = order(len(edges) - 1, seed=seed, epoch=epoch, shuffle=shuffle)
    return Epoch(rows, edges) if visit is None else _visited(rows, edges, visit)


def limited(groups: Ints, *, most: int, seed: int, epoch: int, shuffle: bool = True) -> Ints:
    """The numbers of at most `most` rows of each group, in order: a choice for each epoch, or the first of them."""
    groups = np.asarray(groups, dtype=np.int64)
    visit = order(len(groups), seed=seed, epoch=epoch, shuffle=shuffle)
    rows = np.arange(len(groups)) if visit is None else visit
    rows = rows[np.argsort(groups[rows], kind="stable")]
    return np.sort(rows[_places(groups[rows]) < most])


def turns(batches: int, *, rank: int, world: int, first: int = 0, uneven: Uneven = "repeat") -> Ints:
    """The batches of a rank from number `first` on: of each `world` that follow one another, the `rank`-th.

    All ranks get as many. What is left over at the end is dropped, or filled up with the first batches of the epoch.
    """
    left = batches - first
    steps = left // world if uneven == "drop" else -(-left // world)
    return (first + rank + world * np.arange(steps)) % max(batches, 1)


def padding(lengths: Ints, epoch: Epoch) -> float:
    """The share of padding in the batches of an epoch, each padded to its own longest row."""
    visited = np.asarray(lengths, dtype=np.int64)
    visited = visited if epoch.order is None else visited[epoch.order]
    sizes = np.diff(epoch.edges)
    filled = sizes > 0
    area = int((np.maximum.reduceat(visited, epoch.edges[:-1][filled]) * sizes[filled]).sum()) if filled.any() else 0
    return 1 - int(visited[: epoch.edges[-1]].sum()) / area if area else 0.0


def oversized(lengths: Ints, budget: int) -> int:
    """How many rows are longer than the budget, and so are batches of their own above it."""
    return int((np.asarray(lengths) > budget).sum())


def _drawn(words: np.random.Philox, count: int) -> NDArray[np.uint64]:
    return np.asarray(words.random_raw(count), dtype=np.uint64)


def _edges(lengths: Ints, budget: int, most_rows: int) -> Ints:
    """Where batches of rows in the order of their lengths begin, each as large as it may be."""
    counts = np.arange(1, min(most_rows, len(lengths)) + 1)
    edges = [0]
    while (at := edges[-1]) < len(lengths):
        # No more than would fit if all were as short as the first: with that, looking ahead stays linear.
        room = min(most_rows, max(1, budget // int(lengths[at]))) if lengths[at] else most_rows
        ahead = lengths[at : at + room]
        fits = np.searchsorted(ahead * counts[: len(ahead)], budget, side="right")
        edges.append(at + max(1, int(fits)))
    return np.array(edges, dtype=np.int64)


def _visited(rows: Ints, edges: Ints, visit: Ints) -> Epoch:
    """The same batches in another order."""
    sizes = np.diff(edges)[visit]
    ends = np.zeros(len(edges), dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return Epoch(rows[np.arange(len(rows)) + np.repeat(edges[visit] - ends[:-1], sizes)], ends)


def _places(groups: Ints) -> Ints:
    """The place of each row within its group, where groups lie together."""
    begins = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
