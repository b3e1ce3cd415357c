"""Codes of whatever a caller has, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError, PlanError, RunError
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.linear import FlatCodec
from headway.learners.autoencoder.trained import Trained

Codes = NDArray[np.float32]


def encode(model: Trained, given: Any) -> Codes:
    """float32[windows, numbers] of texts, of ids (one window, or several), or of word vectors [T, D] or [N, T, D]."""
    if isinstance(given, str):
        return model.encode([given]).codes
    rows: Any = given if isinstance(given, np.ndarray) else list(given)
    if len(rows) and all(isinstance(each, str) for each in rows):
        return model.encode(rows).codes
    numbers = _numbers(rows)
    if numbers is not None and numbers.dtype.kind == "f":
        return _of_vectors(model, numbers)
    return _of_ids(model, rows if numbers is None or numbers.ndim == 2 else [numbers])


def decode(model: Trained, codes: Any, length: int | Sequence[int] | None) -> list[str]:
    """The text of each code, of so many tokens."""
    sizes = model.section.window.size if length is None else length
    return model.decode(np.asarray(codes, np.float32), np.asarray(sizes, np.int64))


def between(model: Trained, first: Any, last: Any, steps: int) -> Codes:
    """Codes on the straight line between two windows, or two codes, both included."""
    if steps < 2:
        raise PlanError("interpolate", [f"steps: a line has 2 points or more, not {steps}"])
    ends = [_one(model, each) for each in (first, last)]
    shares = np.linspace(0, 1, steps, dtype=np.float32)[:, None]
    return ((1 - shares) * ends[0] + shares * ends[1]).astype(np.float32)


def _one(model: Trained, given: Any) -> Codes:
    """The code of the first window of a text, of ids or of word vectors, or the code itself."""
    numbers = None if isinstance(given, str) else np.asarray(given)
    if numbers is None or numbers.dtype.kind != "f" or numbers.shape[:-1] not in ((), (1,)):
        return encode(model, given)[0]
    code = numbers.astype(np.float32).reshape(-1)
    if len(code) != model.codec.code:
        raise DataError(f"a code of this model has {model.codec.code} numbers, this one has {len(code)}")
    return code


def _numbers(rows: Any) -> NDArray[Any] | None:
    """Rows as one array; None where they are of unlike length."""
    if len(rows) and not np.isscalar(rows[0]) and len({len(each) for each in rows}) > 1:
        return None
    return np.asarray(rows)


def _of_ids(model: Trained, windows: Sequence[Any] | NDArray[Any]) -> Codes:
    words, most = len(model.lexicon.vocabulary), model.section.window.size
    rows = [np.asarray(each) for each in windows]
    for row in rows:
        if row.ndim != 1 or row.dtype.kind not in "iu" or not 1 <= len(row) <= most:
            raise DataError(f"give texts, or windows of 1 to {most} whole numbers, the ids of words")
        if row.min() < 0 or row.max() >= words:
            raise DataError(f"ids of this model's words are 0 to {words - 1}, these {row.min()} to {row.max()}")
    ids = model.lexicon.read_as[np.concatenate(rows)]
    if (ids < 0).any():
        raise DataError("some of these ids are words without a vector, which this model leaves out (absent = drop)")
    starts = np.cumsum([0, *map(len, rows)])
    return model.codec.encode(Corpus(ids, starts, np.ones(len(ids), bool), np.arange(len(rows))))[:, : model.codec.code]


def _of_vectors(model: Trained, vectors: NDArray[Any]) -> Codes:
    import torch
    import torch.nn.functional as F

    from headway.learners.autoencoder.codec import Still

    if isinstance(model.codec, FlatCodec):
        raise RunError("a linear code reads words, not vectors; give texts or ids")
    dimensions, most = model.table.dimensions, model.section.window.size
    windows = vectors if vectors.ndim == 3 else vectors[None]
    if windows.ndim != 3 or windows.shape[2] != dimensions or not 1 <= windows.shape[1] <= most:
        raise DataError(
            f"windows of this model are 1 to {most} vectors of {dimensions} numbers, not {list(vectors.shape)}"
        )
    network = model.codec.model.network
    # As the model reads its own table: directions, whose numbers have a mean square of 1.
    read = F.normalize(torch.from_numpy(windows.astype(np.float32)), dim=-1) * dimensions**0.5
    with Still(model.codec.model):
        return network.read(read, torch.full((len(read),), read.shape[1])).z.numpy()
