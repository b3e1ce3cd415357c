"""How often the patterns of a level were learned: exact, from one reading, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headway.learners.patterns.compact import merged

if TYPE_CHECKING:
    from headway.learners.patterns.level import LevelStore
    from headway.learners.patterns.tally import Tally

Numbers = NDArray[np.int64]

PERCENTILES = (25, 50, 75, 90, 95, 99)
_BANDS = ((1, 1), (2, 5), (6, 10), (11, 50), (51, None))
_MOST_POINTS = 8


@dataclass(frozen=True, slots=True)
class Bin:
    """The patterns from one rank to another, the most frequent first."""

    first_rank: int
    last_rank: int
    observed: int
    least: int
    most: int

    @property
    def mean(self) -> float:
        """The mean frequency of its patterns."""
        return self.observed / (self.last_rank - self.first_rank + 1)


@dataclass(frozen=True, eq=False)
class Frequencies:
    """`numbers[i]` patterns were learned `values[i]` times; values ascend, and there are few of them.

    So many patterns cannot all be frequent: of n observations there are at most the root of 2n different frequencies.
    """

    values: Numbers
    numbers: Numbers

    @classmethod
    def of(cls, counts: Iterable[NDArray[Any]]) -> Frequencies:
        """From the counts of patterns, piece by piece."""
        values, numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for piece in counts:
            found, many = np.unique(piece.astype(np.int64), return_counts=True)
            both, at = np.unique(np.concatenate([values, found]), return_inverse=True)
            sums = np.zeros(len(both), np.int64)
            np.add.at(sums, at, np.concatenate([numbers, many.astype(np.int64)]))
            values, numbers = both, sums
        return cls(values, numbers)

    @property
    def unique(self) -> int:
        """How many different patterns."""
        return int(self.numbers.sum())

    @property
    def observed(self) -> int:
        """How many patterns were learned, repeats included."""
        return int(np.dot(self.values, self.numbers))

    @property
    def singletons(self) -> int:
        """How many patterns were seen just once."""
        return int(self.numbers[self.values == 1].sum())

    @cached_property
    def _upto(self) -> Numbers:
        return np.cumsum(self.numbers)

    def at(self, place: int) -> int:
        """The frequency of the pattern in this place, counted from the rarest, which has place 0."""
        return int(self.values[np.searchsorted(self._upto, place, side="right")])

    def percentile(self, percent: int) -> int | None:
        """The least frequency that so many per cent of the patterns do not exceed; None of nothing."""
        if not self.unique:
            return None
        return self.at(max(0, -(-self.unique * percent // 100) - 1))

    @property
    def median(self) -> float | None:
        """The middle one, or the mean of the two in the middle; None of nothing."""
        if not self.unique:
            return None
        return (self.at((self.unique - 1) // 2) + self.at(self.unique // 2)) / 2

    @property
    def mean(self) -> float | None:
        """None of nothing."""
        return self.observed / self.unique if self.unique else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the patterns there are; None of nothing."""
        if self.mean is None:
            return None
        return float(np.sqrt(np.dot((self.values - self.mean) ** 2, self.numbers) / self.unique))

    def bands(self) -> dict[str, int]:
        """How many patterns have a frequency of 1, 2 to 5, 6 to 10, 11 to 50, and more."""
        found: dict[str, int] = {}
        for least, most in _BANDS:
            name = f"over {least - 1}" if most is None else str(least) if least == most else f"{least}-{most}"
            inside = (self.values >= least) & (self.values <= (most or np.iinfo(np.int64).max))
            found[name] = int(self.numbers[inside].sum())
        return found

    def ranks(self) -> Iterator[Bin]:
        """Frequency by rank, in bins that double: rank 1, 2 to 3, 4 to 7 and so on."""
        values, numbers = self.values[::-1], self.numbers[::-1]
        upto = np.cumsum(numbers)
        sums = np.cumsum(values * numbers)
        first, before = 1, 0
        while first <= self.unique:
            last = min(2 * first - 1, self.unique)
            here = int(np.searchsorted(upto, last))
            above = int(upto[here - 1]) if here else 0
            total = (int(sums[here - 1]) if here else 0) + (last - above) * int(values[here])
            most = int(values[np.searchsorted(upto, first)])
            yield Bin(first, last, total - before, int(values[here]), most)
            first, before = last + 1, total

    def summary(self) -> dict[str, Any]:
        """All of it, ready for JSON; what nothing was measured of is None."""
        return {
            "unique": self.unique,
            "observed": self.observed,
            "singletons": self.singletons,
            "singleton_share": self.singletons / self.unique if self.unique else None,
            "mean": self.mean,
            "deviation": self.deviation,
            "least": int(self.values[0]) if len(self.values) else None,
            "median": self.median,
            "most": int(self.values[-1]) if len(self.values) else None,
            "percentiles": {str(percent): self.percentile(percent) for percent in PERCENTILES},
            "bands": self.bands(),
            "ranks": [
                {"first": each.first_rank, "last": each.last_rank, "mean": each.mean}
                | {"least": each.least, "most": each.most}
                for each in self.ranks()
            ],
        }


@dataclass(frozen=True, slots=True)
class LevelReading:
    """What one reading of a level tells."""

    frequencies: Frequencies
    symbols: int
    """Of all different patterns together."""
    symbols_observed: int
    """Of all that was learned, repeats included."""
    text_bytes: int | None
    """What the learned tokens are in UTF-8; None above level 0 and where tokens do not spell the text exactly."""


def read_level(store: LevelStore, token_bytes: Numbers | None = None) -> LevelReading:
    """Read a level once; `token_bytes` is the size of every token of a vocabulary."""
    sums = [0, 0, 0]

    def counts(parts: Iterable[Tally]) -> Iterator[NDArray[Any]]:
        for part in parts:
            weights = part.counts.astype(np.int64)
            sums[0] += len(part.symbols)
            sums[1] += int(np.dot(weights, part.lengths))
            if token_bytes is not None:
                sums[2] += int(np.dot(np.repeat(weights, part.lengths), token_bytes[part.symbols]))
            yield part.counts

    found = Frequencies.of(counts(store.merged()))
    return LevelReading(found, sums[0], sums[1], None if token_bytes is None else sums[2])


def growth(store: LevelStore) -> list[tuple[int, int]]:
    """Observed and unique patterns after some of the files of a level, exact: how fast what is new runs out.

    A level whose files were merged into one has its end alone.
    """
    readers, number = store.readers, len(store.runs)
    ends = sorted({round(number * (i + 1) / _MOST_POINTS) for i in range(_MOST_POINTS)} - {0})
    points: list[tuple[int, int]] = []
    for end in ends if number else []:
        observed = sum(run.observed for run in store.runs[:end])
        points.append((observed, sum(len(part) for part in merged(readers[:end]))))
    return points
