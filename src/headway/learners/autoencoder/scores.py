"""Cosines of outputs with what they should be, summed by document and kind of token, and what chance does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Array, Ints
from headway.errors import DataError, RunError
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.figures import Absent, Figure, Interval, Side
from headway.learners.autoencoder.words import KINDS, Kind, Table

Doubles = NDArray[np.float64]
Predict = Callable[[slice, Corpus], Array]

# Tokens worked on at once: 100 MB of doubles at 300 numbers a vector.
AT_ONCE = 1 << 14
_RESAMPLES = 2000
_DRAWN_AT_ONCE = 1 << 20
# What is left of a cosine of 1 after rounding.
_NOTHING_LEFT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The windows that outputs are scored on, and what each document holds of every kind of token."""

    corpus: Corpus
    table: Table
    places: Ints
    """Of each window: the number of its document among those here."""
    counts: Doubles
    """Tokens by document and kind, each token once."""

    @classmethod
    def of(cls, corpus: Corpus, table: Table) -> Ground:
        """A DataError where no token could be scored."""
        documents, places = np.unique(corpus.documents, return_inverse=True)
        owners = np.repeat(places, corpus.lengths)[corpus.owned]
        cells = owners * KINDS + table.kinds[corpus.counted]
        counts = np.bincount(cells, minlength=len(documents) * KINDS).reshape(-1, KINDS).astype(np.float64)
        if not counts[:, Kind.SCORED].any():
            raise DataError(
                f"there is nothing to score: none of the {len(corpus.counted):,} tokens of {len(documents):,} "
                "documents is a word with a vector; give vectors that fit the text, or hold more of it out"
            )
        return cls(corpus, table, places.astype(np.int64), counts)

    @property
    def weights(self) -> Doubles:
        """Scored tokens of each document."""
        return self.counts[:, Kind.SCORED]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Some tokens that count, each with the output for it."""

    tokens: Ints
    """Where they stand in the corpus."""
    ids: Array
    places: Ints
    outputs: Array
    cosines: Doubles


def scored(ground: Ground, predict: Predict, blocks: Iterable[slice] | None = None) -> Iterator[Scored]:
    """What is predicted for each token that a window owns, by blocks of windows."""
    corpus, table = ground.corpus, ground.table
    for windows in corpus.batches(AT_ONCE) if blocks is None else blocks:
        part = corpus.part(windows)
        outputs = predict(windows, part)
        if outputs.shape != (part.tokens, table.dimensions):
            raise ValueError(f"{part.tokens} vectors of {table.dimensions} numbers are due, not {outputs.shape}")
        ids, outputs = part.counted, outputs[part.owned]
        _check(outputs)
        tokens = corpus.starts[windows.start] + np.flatnonzero(part.owned)
        places = np.repeat(ground.places[windows], part.lengths)[part.owned]
        yield Scored(tokens, ids, places, outputs, cosines(outputs, table.units[ids]))


def tally(ground: Ground, batches: Iterable[Scored]) -> Doubles:
    """The cosines added up by document and kind."""
    sums = np.zeros(ground.counts.size)
    for batch in batches:
        cells = batch.places * KINDS + ground.table.kinds[batch.ids]
        sums += np.bincount(cells, weights=batch.cosines, minlength=sums.size)
    return sums.reshape(ground.counts.shape)


def cosines(outputs: Array, targets: Array) -> Doubles:
    """The cosine of each row with its target; 0 where either has no direction."""
    left, right = outputs.astype(np.float64), targets.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    dots = np.einsum("ij,ij->i", left, right)
    return np.divide(dots, lengths, out=np.zeros(len(left)), where=lengths > 0)


def skill_of(cosine: float, constant: float) -> Figure:
    """How much of what a constant leaves is reached: 0 is a constant, 1 is perfect, below 0 is worse."""
    left = 1 - constant
    return (cosine - constant) / left if left > _NOTHING_LEFT else Absent("a constant is perfect here")


def resampled(sums: Doubles, *, seed: int) -> Doubles:
    """Column totals of documents drawn with replacement, one row per draw of as many as there are."""
    documents = len(sums)
    draw = np.random.Generator(np.random.Philox(seed))
    totals = np.empty((_RESAMPLES, sums.shape[1]))
    step = max(1, _DRAWN_AT_ONCE // documents)
    for low in range(0, _RESAMPLES, step):
        drawn = draw.integers(documents, size=(min(step, _RESAMPLES - low), documents))
        for column in range(sums.shape[1]):
            totals[low : low + len(drawn), column] = sums[drawn, column].sum(axis=1)
    return totals


def interval_of(values: Doubles) -> Interval:
    """Where 95 % of the values lie."""
    low, high = np.percentile(values, (2.5, 97.5)).tolist()
    return Interval(low, high)


def side_of(corpus: Corpus, table: Table) -> Side:
    """What one side of a split holds."""
    counts = np.bincount(corpus.counted, minlength=len(table.kinds))
    tokens = np.bincount(table.kinds, weights=counts, minlength=KINDS).astype(np.int64).tolist()
    words = ~table.marks
    found = words & table.known
    return Side(
        documents=len(np.unique(corpus.documents)),
        windows=len(corpus),
        longest=int(corpus.lengths.max(initial=0)),
        tokens=int(counts.sum()),
        context=corpus.tokens - int(counts.sum()),
        scored=tokens[Kind.SCORED],
        absent=tokens[Kind.ABSENT],
        special=tokens[Kind.SPECIAL],
        nothing=tokens[Kind.NOTHING],
        words=int(counts[words].sum()),
        words_found=int(counts[found].sum()),
        types=int((counts[words] > 0).sum()),
        types_found=int((counts[found] > 0).sum()),
    )


def _check(outputs: Array) -> None:
    broken = int((~np.isfinite(outputs)).any(axis=1).sum())
    if broken:
        raise RunError(
            f"{broken:,} of {len(outputs):,} outputs are not finite numbers, so nothing can be scored; "
            "the weights have diverged: train with a lower learning rate"
        )
