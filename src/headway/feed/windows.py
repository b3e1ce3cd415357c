"""Windows: stretches of documents, no longer than a model reads at once, in which every token is owned exactly once."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from headway.data.npy import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Window i is the tokens starts[i]:ends[i] of a document; those before owned[i] are context from other windows.

    All are int64 and count within the document; windows are in the order of documents and of their tokens.
    """

    documents: Ints
    starts: Ints
    ends: Ints
    owned: Ints

    @property
    def lengths(self) -> Ints:
        """int64[windows]: the tokens of each window, context included."""
        return self.ends - self.starts


def cut(
    lengths: Ints,
    *,
    size: int,
    overlap: int,
    shortest: int,
    ends: Ints | None = None,
    offsets: Ints | None = None,
) -> Windows:
    """Windows of at most `size` tokens over documents of these lengths, each but the first after `overlap` of context.

    A window is shorter than `shortest` only where its document is; a short rest gets more context instead. `ends` are
    the places of the token stream before which a window had better end, in order; document i starts there at
    offsets[i].
    """
    if not 0 <= overlap < size or not 1 <= shortest <= size:
        raise ValueError(
            f"windows of {size} tokens cannot share {overlap} and have at least {shortest}: "
            f"overlap is less than size, shortest lies between 1 and size"
        )
    preferred, bases = _preferred(ends, offsets, len(lengths))
    found = array("q")
    for document, (tokens, base) in enumerate(zip(np.asarray(lengths).tolist(), bases, strict=True)):
        done = 0
        while done < tokens:
            start = max(0, done - overlap)
            end = min(tokens, start + size)
            if preferred and end < tokens:
                last = bisect_right(preferred, base + end) - 1
                least = base + max(done + 1, start + shortest)
                if last >= 0 and preferred[last] >= least:
                    end = preferred[last] - base
            if end - start < shortest:
                start = max(0, end - size)
            found.extend((document, start, end, done))
            done = end
    return Windows(*np.array(found, dtype=np.int64).reshape(-1, 4).T.copy())


def coverage(windows: Windows, lengths: Ints) -> float:
    """The share of the tokens that a window owns, one that several own counted once; 1 where there are no tokens."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    begins = offsets[windows.documents] + windows.owned
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], (offsets[windows.documents] + windows.ends)[order]
    reached = np.zeros(len(ends), dtype=np.int64)
    reached[1:] = np.maximum.accumulate(ends)[:-1]
    unique = int(np.maximum(ends - np.maximum(begins, reached), 0).sum())
    return unique / int(offsets[-1]) if offsets[-1] else 1.0


def _preferred(ends: Ints | None, offsets: Ints | None, documents: int) -> tuple[list[int], list[int]]:
    """The preferred ends, and where each document starts among them."""
    if ends is None:
        return [], [0] * documents
    if offsets is None:
        raise ValueError("preferred ends are places of the token stream: offsets must say where each document starts")
    if len(ends) and np.diff(ends).min(initial=0) < 0:
        raise ValueError("preferred ends must be in order")
    return np.asarray(ends).tolist(), np.asarray(offsets)[:documents].tolist()
