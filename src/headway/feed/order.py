"""The order in which an epoch visits the documents."""

import numpy as np

from headway.data.npy import Ints

_WORD = (1 << 64) - 1


def order(documents: int, *, seed: int, epoch: int, shuffle: bool) -> Ints | None:
    """A permutation that depends on nothing but its arguments, on every platform; None is the natural order."""
    if not shuffle:
        return None
    # Raw Philox words are the one stream numpy promises never to change. The document's index takes the low bits, so
    # keys are distinct and any sort gives the same order.
    words = np.random.Philox(key=np.array([seed & _WORD, epoch & _WORD], dtype=np.uint64)).random_raw(documents)
    low = np.uint64((1 << max(documents - 1, 0).bit_length()) - 1)
    keys = (np.asarray(words, dtype=np.uint64) & ~low) | np.arange(documents, dtype=np.uint64)
    keys.sort()
    return (keys & low).astype(np.int64)
