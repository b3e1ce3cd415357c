"""Which word each output is nearest to, and how much outputs vary: gathered while outputs pass by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Array, Ints
from headway.learners.autoencoder.figures import Absent, Accuracy, Figure
from headway.learners.autoencoder.scores import Doubles, Ground, Scored
from headway.learners.autoencoder.words import Kind, Singles, Table

# Tokens whose nearest word is searched for; of more a sample is drawn.
MOST_TOKENS = 1 << 17
# Similarities held at once: 64 MB.
_SIMILARITIES = 1 << 24


@dataclass(slots=True, eq=False)
class Nearest:
    """Counts how often the nearest word is the right one."""

    candidates: Ints
    units: Singles
    same: Ints
    looked: NDArray[np.bool_]
    """Of each token of the corpus: whether it is looked at."""
    frequent: int
    tokens_of: int
    tokens: int = 0
    right: int = 0
    frequent_here: int = 0

    @classmethod
    def of(cls, ground: Ground, frequent: int, seed: int) -> Nearest:
        """Looks at all scored tokens, or at a sample that the seed decides."""
        corpus, table = ground.corpus, ground.table
        tokens = np.flatnonzero(corpus.owned & (table.kinds[corpus.ids] == Kind.SCORED))
        looked = np.zeros(corpus.tokens, bool)
        looked[_drawn(tokens, seed)] = True
        candidates = table.candidates
        return cls(candidates, table.units[candidates], table.same, looked, frequent, len(tokens))

    def add(self, batch: Scored) -> None:
        """Look at some outputs."""
        here = self.looked[batch.tokens]
        wanted, outputs = self.same[batch.ids[here]], batch.outputs[here].astype(np.float32)
        self.tokens += len(wanted)
        self.frequent_here += int((wanted == self.frequent).sum())
        step = max(1, _SIMILARITIES // len(self.candidates))
        for low in range(0, len(wanted), step):
            some = outputs[low : low + step]
            found = self.candidates[np.argmax(some @ self.units.T, axis=1)]
            self.right += int(((found == wanted[low : low + step]) & some.any(axis=1)).sum())

    def result(self, table: Table) -> Accuracy:
        """The share that is right, beside the share of the most frequent word."""
        return Accuracy(
            share=self.right / self.tokens,
            floor=self.frequent_here / self.tokens,
            floor_word=table.word(self.frequent),
            tokens=self.tokens,
            tokens_of=self.tokens_of,
            candidates=len(self.candidates),
        )


@dataclass(slots=True, eq=False)
class Spreading:
    """Adds up the directions of outputs and of what they should be."""

    outputs: Doubles
    targets: Doubles
    pointing: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, dimensions: int) -> Spreading:
        """Nothing yet."""
        return cls(np.zeros(dimensions), np.zeros(dimensions))

    def add(self, batch: Scored, table: Table) -> None:
        """Take in the scored tokens of a batch."""
        here = table.kinds[batch.ids] == Kind.SCORED
        outputs = _directions(batch.outputs[here])
        self.outputs += outputs.sum(axis=0)
        self.targets += _directions(table.units[batch.ids[here]]).sum(axis=0)
        self.pointing += int(outputs.any(axis=1).sum())
        self.tokens += len(outputs)

    def ratio(self) -> Figure:
        """Variance of the outputs' directions over that of the targets'."""
        targets = 1 - float(np.square(self.targets / self.tokens).sum())
        outputs = self.pointing / self.tokens - float(np.square(self.outputs / self.tokens).sum())
        return max(0.0, outputs) / targets if targets > 1e-9 else Absent("all targets point the same way")


def _directions(rows: Array) -> Doubles:
    rows = rows.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _drawn(tokens: Ints, seed: int) -> Ints:
    if len(tokens) <= MOST_TOKENS:
        return tokens
    return np.random.Generator(np.random.Philox(seed)).choice(tokens, MOST_TOKENS, replace=False)
