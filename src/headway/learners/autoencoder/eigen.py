"""The largest eigenvalues of a large symmetric matrix, of which only products are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Times = Callable[[Singles], Singles]

# Up to this size a matrix is taken apart whole; of a larger one only the largest parts are looked for.
_WHOLE = 1500
_MARGIN = 16
_SETTLED = 1e-8
_NOTHING = 1e-7


class Largest(NamedTuple):
    """Eigenvalues by falling size, without those that are rounding beside the first."""

    sizes: NDArray[np.float64]
    vectors: Singles
    """float32[size, found], a column each."""


def largest(times: Times, size: int, wanted: int) -> Largest:
    """At most so many of a matrix without negative eigenvalues, given as what it makes of some columns."""
    if size <= _WHOLE:
        matrix = times(np.eye(size, dtype=np.float32))
        sizes, vectors = _falling(matrix, wanted)
    else:
        sizes, vectors = _krylov(times, size, wanted)
    some = sizes > max(_NOTHING * float(sizes[0]), 0.0)
    return Largest(sizes[some], vectors[:, some].astype(np.float32))


def orthonormal(rows: NDArray[np.floating[Any]]) -> Singles:
    """Rows at right angles again after rounding; the strongest number of each is positive."""
    made = np.linalg.qr(rows.T.astype(np.float64))[0].T
    strongest = made[np.arange(len(made)), np.abs(made).argmax(axis=1)]
    return (made * np.sign(strongest)[:, None]).astype(np.float32)


def _falling(matrix: NDArray[np.floating[Any]], wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    doubles = matrix.astype(np.float64)
    sizes, vectors = np.linalg.eigh((doubles + doubles.T) / 2)
    return sizes[::-1][:wanted], vectors[:, ::-1][:, :wanted]


def _krylov(times: Times, size: int, wanted: int) -> tuple[NDArray[np.float64], Singles]:
    """By a block Krylov space that grows until what the eigenvalues add up to stays the same."""
    draw = np.random.Generator(np.random.Philox(0))
    width = min(size, wanted + _MARGIN)
    basis = _apart(np.zeros((size, 0), np.float32), draw.standard_normal((size, width)).astype(np.float32))
    images = times(basis)
    before = 0.0
    while True:
        sizes, small = _falling(basis.T @ images, wanted)
        total = float(sizes.sum())
        if basis.shape[1] >= size or total - before <= _SETTLED * total:
            return sizes, basis @ small.astype(np.float32)
        before = total
        block = _apart(basis, images[:, -width:][:, : size - basis.shape[1]])
        basis = np.concatenate([basis, block], axis=1)
        images = np.concatenate([images, times(block)], axis=1)


def _apart(basis: Singles, block: Singles) -> Singles:
    """An orthonormal block at right angles to a basis; once would leave what rounding leaves."""
    for _ in range(2):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0].astype(np.float32)
    return block
