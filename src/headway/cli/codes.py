"""Codes as files: `.npy` holds the numbers alone, `.jsonl` one object a window that says what it is a code of."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from headway.cli.given import Given
from headway.errors import DataError, RunError

if TYPE_CHECKING:
    from headway.data.npy import Ints
    from headway.learners.autoencoder.corpus import Corpus
    from headway.learners.autoencoder.words import Singles

KINDS = (".npy", ".jsonl")


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Codes from a file, with the lengths of their windows where it tells them."""

    codes: Singles
    lengths: Ints | None


def check_kind(path: Path) -> None:
    """A RunError where a file's name says that it holds no codes."""
    if path.suffix.lower() not in KINDS:
        raise RunError(f"{path} does not end in {' or '.join(KINDS)}, as files of codes do; give it one of these names")


def as_array(codes: Singles) -> bytes:
    """What a `.npy` of codes holds."""
    file = io.BytesIO()
    np.save(file, codes, allow_pickle=False)
    return file.getvalue()


def as_lines(codes: Singles, corpus: Corpus, given: Sequence[Given]) -> Iterator[bytes]:
    """A line of JSON for each window: its text's number and source, its first token, its length, its code."""
    documents, lengths = corpus.documents.tolist(), corpus.lengths.tolist()
    for document, start, length, code in zip(documents, _starts(corpus), lengths, codes, strict=True):
        window = {
            "document": document,
            "source": given[document].source,
            "start": start,
            "length": length,
            "code": np.ascontiguousarray(code),
        }
        yield orjson.dumps(window, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


def read_codes(path: Path) -> Stored:
    """The codes in a file; a DataError says what else is there."""
    check_kind(path)
    try:
        found = _read_array(path) if path.suffix.lower() == ".npy" else _read_lines(path)
    except OSError as cause:
        raise DataError(f"cannot read {path} ({cause.strerror or cause})") from cause
    if found.codes.ndim != 2 or not np.isfinite(found.codes).all():
        raise DataError(f"{path} holds no rows of numbers, one a code; write some with: headway autoencoder encode")
    return found


def _starts(corpus: Corpus) -> list[int]:
    """Where each window begins in its document, in tokens that the model reads."""
    # What windows own follows one after the other; what a window does not own comes first in it.
    owned = np.add.reduceat(corpus.owned.astype(np.int64), corpus.starts[:-1])
    before = np.cumsum(owned) - owned
    first = np.r_[True, np.diff(corpus.documents) != 0]
    of_document = before[first][np.cumsum(first) - 1]
    return (before - of_document - (corpus.lengths - owned)).tolist()


def _read_array(path: Path) -> Stored:
    try:
        array = np.load(path, allow_pickle=False)
        return Stored(np.asarray(array, np.float32), None)
    except (ValueError, EOFError) as cause:
        raise DataError(f"{path} is no array of numbers as numpy saves them") from cause


def _read_lines(path: Path) -> Stored:
    codes: list[Any] = []
    lengths: list[int] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            window = orjson.loads(line)
            codes.append(np.asarray(window["code"], np.float32))
            lengths.append(int(window["length"]))
        except (ValueError, KeyError, TypeError) as cause:
            raise DataError(f'{path}, line {number}: no object with "code" and "length" ({cause})') from cause
    if len({code.shape for code in codes}) != 1:
        raise DataError(f"{path} holds no codes, or codes of different sizes")
    return Stored(np.stack(codes), np.array(lengths, np.int64))
