"""Whose code each window is given when codes are shuffled."""

from __future__ import annotations

import numpy as np

from headway.data.npy import Ints


def donors(lengths: Ints, *, seed: int) -> Ints:
    """For each of two or more windows another one: of the same length, or of the nearest where it is alone in its."""
    draw = np.random.Generator(np.random.Philox(seed))
    order = draw.permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    ordered = lengths[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(np.append(first, len(ordered)))
    base, size = np.repeat(first, sizes), np.repeat(sizes, sizes)
    here = np.arange(len(ordered))
    # Each hands its code on to the next of its length: nobody keeps its own.
    given = base + (here - base + 1) % size
    gaps = np.diff(ordered)
    below, above = np.append(np.inf, gaps), np.append(gaps, np.inf)
    given = np.where(size == 1, np.where(below <= above, here - 1, here + 1), given)
    found = np.empty(len(lengths), np.int64)
    found[order] = order[given]
    return found
