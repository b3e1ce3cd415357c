"""What codes look like: how many of their numbers work."""

from __future__ import annotations

import numpy as np

from headway.learners.autoencoder.figures import Absent, CodeFacts, Figure
from headway.learners.autoencoder.scores import Doubles
from headway.learners.autoencoder.words import Singles

# A hundredth of what is usual counts as nothing.
_SMALL = 0.01
_ROWS_AT_ONCE = 1 << 16


def code_facts(codes: Singles, variance_ratio: Figure) -> CodeFacts:
    """Statistics of the codes of some windows, one a row."""
    windows, size = codes.shape
    sums, products, lengths = np.zeros(size), np.zeros((size, size)), 0.0
    for low in range(0, windows, _ROWS_AT_ONCE):
        some = codes[low : low + _ROWS_AT_ONCE].astype(np.float64)
        sums += some.sum(axis=0)
        products += some.T @ some
        lengths += float(np.linalg.norm(some, axis=1).sum())
    means, mean = sums / windows, float(sums.sum() / codes.size)
    mean_square = float(np.trace(products) / codes.size)
    covariance = products / windows - np.outer(means, means)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0))
    effective = _effective(covariance, noise=1e-12 * mean_square)
    return CodeFacts(
        mean=mean,
        std=float(np.sqrt(max(0.0, mean_square - mean * mean))),
        length=lengths / windows,
        sparsity=_share_below(codes, _SMALL * float(np.sqrt(mean_square))),
        dead=size if isinstance(effective, Absent) else int((deviations <= _SMALL * deviations.max()).sum()),
        effective=effective,
        utilisation=effective if isinstance(effective, Absent) else effective / size,
        variance_ratio=variance_ratio,
    )


def _effective(covariance: Doubles, noise: float) -> Figure:
    # The sums over eigenvalues are the trace, and the trace of the square.
    variance = float(np.trace(covariance))
    if variance <= noise:
        return Absent("all codes are the same")
    return variance * variance / float(np.square(covariance).sum())


def _share_below(codes: Singles, limit: float) -> float:
    below = sum(
        int((np.abs(codes[low : low + _ROWS_AT_ONCE]) <= limit).sum()) for low in range(0, len(codes), _ROWS_AT_ONCE)
    )
    return below / codes.size
