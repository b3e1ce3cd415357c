"""Texts that were never in a dataset, put beside its learned documents so that the two can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headway.data.dataset import Dataset, Rows
from headway.data.npy import Ints
from headway.data.split import Overlap, Split, overlap
from headway.data.tokenizers import load_tokenizer
from headway.data.vocabulary import Vocabulary


def seen_before(dataset: Dataset, learned: Ints, texts: Sequence[str], *, tokenizer: str, alike: float) -> Overlap:
    """What some texts have in common with the documents that were learned; the texts are what is counted."""
    return overlap(*_beside(dataset, learned, texts, tokenizer), alike=alike)


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """Documents of a dataset, and texts after them, as one corpus."""

    documents: int
    vocabulary: Vocabulary
    rows: Rows

    def read(self, rows: slice | Ints) -> Rows:
        """All of them."""
        del rows
        return self.rows


def _beside(dataset: Dataset, learned: Ints, texts: Sequence[str], tokenizer: str) -> tuple[_Beside, Split]:
    """What is learned and what is given, with the one on the learned and the other on the held-out side."""
    own = load_tokenizer(tokenizer, folder=dataset.folder)
    encoded = own.encode(list(texts))
    vocabulary = dataset.vocabulary
    strange = [symbol for symbol in own.symbols if symbol not in vocabulary.index]
    index = vocabulary.index | {symbol: len(vocabulary) + number for number, symbol in enumerate(strange)}
    known = np.array([index[symbol] for symbol in own.symbols], np.int64)
    ids, starts, _, _ = dataset.read(learned)
    joined = Rows(
        np.concatenate([ids.astype(np.int64), known[encoded.ids]]),
        np.concatenate([starts, starts[-1] + encoded.offsets[1:]]),
        None,
    )
    documents = len(learned) + len(texts)
    there = _Beside(documents, replace(vocabulary, symbols=[*vocabulary.symbols, *strange]), joined)
    nothing = np.zeros(0, np.int64)
    return there, Split(np.arange(len(learned)), nothing, np.arange(len(learned), documents))
