"""KATO's names of many sequences over one vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.vocabulary import Vocabulary
from headway.learners.patterns.kernels import digest
from headway.learners.patterns.naming import name_of, pieces
from headway.learners.patterns.still import still
from headway.learners.patterns.tally import Keys, Offsets, Symbols

PREFIX = "PTRN|"


class Namer:
    """Names of sequences by KATO's rule, for one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._table = digest.piece_table(*pieces(vocabulary.symbols))

    def tokens(self, ids: Symbols, starts: Offsets, lengths: NDArray[Any]) -> NDArray[np.uint32]:
        """Digests of level-0 patterns."""
        return digest.token_names(still(ids), still(starts), still(lengths, np.int32), self._table)


def parent_digests(children: NDArray[np.uint32], starts: Offsets, lengths: NDArray[Any]) -> NDArray[np.uint32]:
    """Digests of patterns whose symbols are names."""
    return digest.parent_names(still(children), still(starts), still(lengths, np.int32))


def blank_digests(lengths: NDArray[Any]) -> NDArray[np.uint32]:
    """Digests of patterns whose symbols are all the empty name, as a level above one of width 1 sees them."""
    digests = np.empty((len(lengths), 5), np.uint32)
    for length in np.unique(lengths).tolist():
        name = bytes.fromhex(name_of([[""]] * length))
        digests[lengths == length] = np.frombuffer(name, ">u4")
    return digests


def hex_of(digests: NDArray[np.uint32]) -> str:
    """The 40 hex digits of every digest, one after another."""
    return digests.astype(">u4").tobytes().hex()


def names_of(digests: NDArray[np.uint32]) -> list[str]:
    """Names as KATO's answers give them."""
    text = hex_of(digests)
    return [PREFIX + text[at : at + 40] for at in range(0, len(text), 40)]


def keys_of(digests: NDArray[np.uint32]) -> Keys:
    """The first 64 bits of every name."""
    return digest.keys_of(still(digests))
