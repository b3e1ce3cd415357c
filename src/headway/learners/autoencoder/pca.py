"""The linear code: the best that a matrix can do, in closed form. The figure that every network has to beat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.learners.autoencoder.eigen import largest, orthonormal

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LinearCodec:
    """A centre and directions from it: a code is how far a window lies along each."""

    mean: Singles
    """float32[N], the mean of the windows."""
    directions: Singles
    """float32[code, N], orthonormal, by falling variance; rows of zeros where there is no more of it."""

    @classmethod
    def fit(cls, flat_batches: Iterable[Singles], code: int) -> LinearCodec:
        """The code of so many numbers that loses least of some windows, given some rows at a time.

        They are gone through again and again, so that no more than one part of them is ever held.
        """
        count, total = 0, np.zeros(0)
        for rows in flat_batches:
            total = rows.sum(axis=0, dtype=np.float64) + (total if count else 0.0)
            count += len(rows)
        _check(count, len(total), code)
        mean = (total / count).astype(np.float32)

        def times(block: Singles) -> Singles:
            made = np.zeros_like(block)
            for rows in flat_batches:
                apart = rows - mean
                made += apart.T @ (apart @ block)
            return made

        return _filled(mean, orthonormal(largest(times, len(mean), code).vectors.T), code)

    @property
    def code(self) -> int:
        """Numbers of a code."""
        return len(self.directions)

    def encode(self, x: Singles) -> Singles:
        """float32[n, code] of windows [n, N]."""
        return np.asarray((x - self.mean) @ self.directions.T, np.float32)

    def decode(self, z: Singles) -> Singles:
        """float32[n, N] of codes [n, code]."""
        return np.asarray(z @ self.directions + self.mean, np.float32)

    def arrays(self) -> dict[str, Singles]:
        """All it is made of, by name."""
        return {"mean": self.mean, "directions": self.directions}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LinearCodec:
        """The codec that gave these arrays."""
        return cls(np.asarray(arrays["mean"], np.float32), np.asarray(arrays["directions"], np.float32))


class LinearSums:
    """All that a linear code depends on, gathered from any number of batches in bounded memory.

    Windows are kept as they are while they are fewer than their numbers; then only the sums of their products are.
    """

    def __init__(self) -> None:
        self._count = 0
        self._sum: Doubles = np.zeros(0)
        self._rows: list[Singles] = []
        self._products: _Products | None = None

    @property
    def windows(self) -> int:
        """Windows added so far."""
        return self._count

    def add(self, rows: Singles) -> None:
        """Count some windows [n, N] in; a ValueError for windows of another size."""
        if not self._count:
            self._sum = np.zeros(rows.shape[1])
        if rows.shape[1:] != self._sum.shape:
            raise ValueError(f"windows of {len(self._sum)} numbers are due, not of {rows.shape[1:]}")
        self._sum += rows.sum(axis=0, dtype=np.float64)
        self._count += len(rows)
        self._rows.append(np.array(rows, np.float32))
        if self._products is None and self._count >= len(self._sum):
            self._products = _Products.around((self._sum / self._count).astype(np.float32))
        if self._products is not None:
            # As one: how the rows so far came, in how many parts or from a checkpoint, must not show in the rounding.
            self._products.add(np.concatenate(self._rows))
            self._rows = []

    def finish(self, code: int) -> LinearCodec:
        """The code of everything added; can be asked for again after more. A ValueError before two windows."""
        _check(self._count, len(self._sum), code)
        mean = (self._sum / self._count).astype(np.float32)
        if self._products is None:
            found = _of_rows(np.concatenate(self._rows) - mean, code)
        else:
            found = self._products.directions(mean, self._count, code)
        return _filled(mean, found, code)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything gathered so far, by name, for a checkpoint."""
        found: dict[str, NDArray[Any]] = {"count": np.array([self._count], np.int64), "sum": self._sum}
        if self._products is not None:
            return found | {"products": self._products.sums, "around": self._products.centre}
        return found | ({"rows": np.concatenate(self._rows)} if self._rows else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LinearSums:
        """Sums that go on where `arrays` was asked for, in memory of their own."""
        made = cls()
        made._count = int(arrays["count"][0])
        made._sum = np.array(arrays["sum"], np.float64)
        if "products" in arrays:
            made._products = _Products(np.array(arrays["products"]), np.array(arrays["around"]))
        if "rows" in arrays:
            made._rows = [np.array(arrays["rows"])]
        return made


@dataclass(frozen=True, slots=True, eq=False)
class _Products:
    """Sums of products of what windows have more than a centre near their mean: so little is lost to rounding."""

    sums: Singles
    centre: Singles

    @classmethod
    def around(cls, centre: Singles) -> _Products:
        return cls(np.zeros((len(centre), len(centre)), np.float32), centre)

    def add(self, rows: Singles) -> None:
        apart = rows - self.centre
        self.sums[...] += apart.T @ apart

    def directions(self, mean: Singles, count: int, code: int) -> Singles:
        off = mean - self.centre

        def times(block: Singles) -> Singles:
            return np.asarray(self.sums @ block - count * np.outer(off, off @ block), np.float32)

        return orthonormal(largest(times, len(off), code).vectors.T)


def _check(windows: int, numbers: int, code: int) -> None:
    if windows < 2:
        raise ValueError(f"a linear code needs 2 windows or more, not {windows}")
    if not 1 <= code <= numbers:
        raise ValueError(f"a code of windows of {numbers} numbers has 1 to {numbers}, not {code}")


def _filled(mean: Singles, found: Singles, code: int) -> LinearCodec:
    """With zeros for the directions that there are not."""
    directions = np.zeros((code, len(mean)), np.float32)
    directions[: len(found)] = found
    return LinearCodec(mean, directions)


def _of_rows(apart: Singles, code: int) -> Singles:
    """The directions of fewer windows than they have numbers, by the products of windows with windows."""
    gram = apart @ apart.T
    found = largest(lambda block: np.asarray(gram @ block, np.float32), len(gram), code)
    return orthonormal((apart.T @ found.vectors).T / np.sqrt(found.sizes)[:, None])
