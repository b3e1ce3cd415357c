"""Which words mean much the same, as far as a table of vectors knows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Ints
from headway.learners.autoencoder.words import Kind, Table

# Similarities held at once: 64 MB.
_SIMILARITIES = 1 << 24


def nearest_words(table: Table, learned: NDArray[np.bool_], *, count: int) -> Ints:
    """int64[V, count]: the learned words nearest to each by cosine, nearest first; its own id fills what is left.

    Only words with a vector of the source have any, and are any. Words of one direction are one word: The and the.
    """
    found = np.repeat(np.arange(len(table.kinds), dtype=np.int64)[:, None], count, axis=1)
    words = np.flatnonzero((table.kinds == Kind.SCORED) & learned)
    candidates = words[np.unique(table.same[words], return_index=True)[1]]
    width = min(count, len(candidates) - 1)
    if width < 1:
        return found
    units, place = table.units[candidates], np.zeros(len(table.same), np.int64)
    place[table.same[candidates]] = np.arange(len(candidates))
    step = max(1, _SIMILARITIES // len(candidates))
    # Words of one direction have the same neighbours, so only the candidates are looked up.
    near = np.empty((len(candidates), width), np.int64)
    for low in range(0, len(candidates), step):
        rows = np.arange(low, min(low + step, len(candidates)))
        similarities = units[rows] @ units.T
        similarities[np.arange(len(rows)), rows] = -np.inf
        best = np.sort(np.argpartition(-similarities, width - 1, axis=1)[:, :width], axis=1)
        order = np.argsort(-np.take_along_axis(similarities, best, axis=1), axis=1, kind="stable")
        near[rows] = candidates[np.take_along_axis(best, order, axis=1)]
    found[words, :width] = near[place[table.same[words]]]
    return found
