"""What every model has to be compared with, fitted on the training side alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headway.data.npy import Array, Ints
from headway.errors import DataError
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.figures import Side
from headway.learners.autoencoder.pca import LinearCodec
from headway.learners.autoencoder.scores import AT_ONCE, Doubles, Predict, side_of
from headway.learners.autoencoder.words import KINDS, Kind, Singles, Table

# Numbers of flattened windows that a linear code is fitted on: a few seconds; of more windows a sample is drawn.
MOST_NUMBERS = 1 << 27
# Flattened windows held at once: 8 MB.
_NUMBERS_AT_ONCE = 1 << 21

CONSTANT = "constant direction"
POSITIONS = "constant of each position"
FREQUENT = "most frequent word"
ORACLE = "window mean (oracle)"


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Windows as rows of `size` unit vectors, zeros where they are shorter, cut where they are longer.

    Only words with a vector of the source are there, zeros in place of all others: what a line spends on the places of
    marks it lacks for the words, which are what is scored, and a baseline that is weakened flatters the model.
    """

    corpus: Corpus
    table: Table
    size: int

    def __iter__(self) -> Iterator[Singles]:
        """Some rows at a time; can be gone through again."""
        for windows in self.spans():
            yield flat_rows(self.corpus.part(windows), self.table, size=self.size)

    def spans(self) -> Iterator[slice]:
        """The windows of each block."""
        step = max(1, _NUMBERS_AT_ONCE // (self.size * self.table.dimensions))
        for low in range(0, len(self.corpus), step):
            yield slice(low, min(low + step, len(self.corpus)))


def flat_rows(part: Corpus, table: Table, *, size: int) -> Singles:
    """Windows as a linear code takes them: see `Flat`."""
    rows = np.zeros((len(part), size, table.dimensions), np.float32)
    windows, positions = np.repeat(np.arange(len(part)), part.lengths), part.positions
    there = (positions < size) & (table.kinds[part.ids] == Kind.SCORED)
    rows[windows[there], positions[there]] = table.units[part.ids[there]]
    return rows.reshape(len(part), -1)


@dataclass(frozen=True, slots=True, eq=False)
class Baselines:
    """Constants and linear codes that know the training side and nothing else."""

    side: Side
    constants: Doubles
    """By kind of token, the best constant direction; zeros where the training side has none of that kind."""
    positions: Doubles
    """The best constant of each position in a window."""
    frequent: int
    """The scored word that is most frequent; of words that share a vector, the lowest id."""
    linear: LinearCodec
    codes: tuple[int, ...]
    """How many of its components are looked at: first as many as the model has numbers, then others."""
    code: int
    """Numbers of the model; more than codes[0] where the training side has too few windows."""
    size: int
    """Tokens that the linear code's windows have at the most."""
    windows: int
    """Windows it was fitted on."""

    @classmethod
    def fit(cls, train: Corpus, table: Table, *, code: int, seed: int, also: tuple[int, ...] = ()) -> Baselines:
        """Everything from the training side; `also` are more sizes of linear codes to report."""
        side = side_of(train, table)
        if not side.scored:
            raise DataError(
                f"the training side has no word with a vector among its {side.tokens:,} tokens; "
                "give vectors that fit the text"
            )
        if len(train) < 2:
            raise DataError("the training side is a single window, and nothing can be learned from one; give more text")
        counts = np.bincount(train.counted, minlength=len(table.kinds)).astype(np.float64)
        constants = _constants(counts, table)
        size = side.longest
        sample = _sample(train, table, size, seed)
        # A centred cloud of n points has at most n - 1 directions.
        most = max(1, min(len(sample) - 1, size * table.dimensions))
        codes = (min(code, most), *sorted({each for each in also if each <= most and each != code}))
        return cls(
            side=side,
            constants=constants,
            positions=_positions(train, table, size, constants[Kind.SCORED]),
            frequent=_most_frequent(counts, table),
            linear=LinearCodec.fit(Flat(sample, table, size), max(codes)),
            codes=codes,
            code=code,
            size=size,
            windows=len(sample),
        )

    def predictions(self, table: Table) -> dict[str, Predict]:
        """By name, what each baseline says for the tokens of some windows."""
        return {
            CONSTANT: lambda _, part: self.constants[table.kinds[part.ids]],
            POSITIONS: lambda _, part: self.positions[np.minimum(part.positions, self.size - 1)],
            FREQUENT: lambda _, part: np.broadcast_to(table.units[self.frequent], (part.tokens, table.dimensions)),
            ORACLE: lambda _, part: _window_means(part, table),
        }

    def linear_predictions(self, flat: Flat) -> dict[int, Predict]:
        """By size, what linear codes say; tokens past the longest window of the training side get the constant."""
        codes = np.concatenate([self.linear.encode(rows) for rows in flat])
        return {size: self._linear(codes, size) for size in self.codes}

    def _linear(self, codes: Singles, size: int) -> Predict:
        def predict(windows: slice, part: Corpus) -> Array:
            kept = np.zeros_like(codes[windows])
            kept[:, :size] = codes[windows, :size]
            rows = self.linear.decode(kept).reshape(len(part), self.size, -1)
            positions = part.positions
            outputs = rows[np.repeat(np.arange(len(part)), part.lengths), np.minimum(positions, self.size - 1)]
            return np.where((positions < self.size)[:, None], outputs, self.constants[Kind.SCORED])

        return predict


def _sample(train: Corpus, table: Table, size: int, seed: int) -> Corpus:
    most = max(2, MOST_NUMBERS // (size * table.dimensions))
    if len(train) <= most:
        return train
    draw = np.random.Generator(np.random.Philox(seed))
    return train.part(np.sort(draw.choice(len(train), most, replace=False)))


def _constants(counts: Doubles, table: Table) -> Doubles:
    sums = np.zeros((KINDS, table.dimensions))
    for kind in (Kind.SCORED, Kind.ABSENT, Kind.SPECIAL):
        ids = np.flatnonzero((table.kinds == kind) & (counts > 0))
        for low in range(0, len(ids), AT_ONCE):
            some = ids[low : low + AT_ONCE]
            sums[kind] += counts[some] @ table.units[some].astype(np.float64)
    return _directions(sums)


def _positions(train: Corpus, table: Table, size: int, otherwise: Doubles) -> Doubles:
    sums = np.zeros((size, table.dimensions))
    for windows in train.batches(AT_ONCE):
        part = train.part(windows)
        counts = part.owned & (table.kinds[part.ids] == Kind.SCORED)
        _add_by(sums, part.positions[counts], table.units[part.ids[counts]])
    found = _directions(sums)
    return np.where(found.any(axis=1, keepdims=True), found, otherwise)


def _window_means(part: Corpus, table: Table) -> Doubles:
    counts = part.owned & (table.kinds[part.ids] == Kind.SCORED)
    windows = np.repeat(np.arange(len(part)), part.lengths)
    sums = np.zeros((len(part), table.dimensions))
    _add_by(sums, windows[counts], table.units[part.ids[counts]])
    return sums[windows]


def _add_by(sums: Doubles, places: Ints, rows: Singles) -> None:
    """Add each row to the sum at its place."""
    order = np.argsort(places, kind="stable")
    found, first = np.unique(places[order], return_index=True)
    if len(found):
        sums[found] += np.add.reduceat(rows[order].astype(np.float64), first, axis=0)


def _directions(sums: Doubles) -> Doubles:
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def _most_frequent(counts: Doubles, table: Table) -> int:
    scored = np.where(table.kinds == Kind.SCORED, counts, 0)
    return int(np.argmax(np.bincount(table.same, weights=scored, minlength=len(scored))))
