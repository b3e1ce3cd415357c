"""Where batches begin and end, computed from the lengths of documents alone."""

from dataclasses import dataclass

import numpy as np

from headway.data.npy import Ints

# Following one pointer costs about as much as searching among so many documents for the next one.
_SPARSE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """The batches of one epoch: batch i holds the rows at the places edges[i]..edges[i+1] of the order."""

    order: Ints | None
    """The rows in the order of their visit; None is the natural order."""
    edges: Ints
    """int64[batches + 1]."""

    @property
    def batches(self) -> int:
        """How many there are."""
        return len(self.edges) - 1


def whole(lengths: Ints, budget_tokens: int) -> Ints:
    """int64[batches + 1]: consecutive documents while they fit into the budget, at least one document each."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return boundaries(offsets, budget_tokens)


def boundaries(offsets: Ints, budget_tokens: int) -> Ints:
    """`whole` of documents that are given by their offsets."""
    if budget_tokens < 1:
        raise ValueError(f"a batch needs a budget of at least one token, not {budget_tokens}")
    documents = len(offsets) - 1
    expected = int(offsets[-1] - offsets[0]) // budget_tokens
    steps = _search(offsets, budget_tokens) if expected * _SPARSE < documents else _follow(offsets, budget_tokens)
    return np.asarray(steps, dtype=np.int64)


def _search(offsets: Ints, budget: int) -> list[int]:
    """One search per batch: best when batches hold many documents."""
    documents, at = len(offsets) - 1, 0
    steps = [0]
    while at < documents:
        fits = int(np.searchsorted(offsets, offsets[at] + budget, side="right")) - 1
        at = max(at + 1, fits)
        steps.append(at)
    return steps


def _follow(offsets: Ints, budget: int) -> list[int]:
    """The next boundary of every document at once, then the chain from the first: best when batches hold few."""
    documents, at = len(offsets) - 1, 0
    fits = np.searchsorted(offsets, offsets[:-1] + budget, side="right") - 1
    after = np.maximum(fits, np.arange(1, documents + 1)).tolist()
    steps = [0]
    while at < documents:
        at = after[at]
        steps.append(at)
    return steps
