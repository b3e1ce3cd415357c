"""Texts as a split sees them: what it asks of a Dataset, with words as tokens."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headway.data.dataset import Rows
from headway.data.vocabulary import Vocabulary

SPECIALS = ("<PAD>", "<LINE_BREAK>", "<POEM_START>", "<POEM_END>")


@dataclass(frozen=True)
class Texts:
    """Documents whose tokens are their words between spaces."""

    texts: tuple[str, ...]

    @property
    def documents(self) -> int:
        return len(self.texts)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        words = sorted({word for text in self.texts for word in text.split()} - set(SPECIALS))
        return Vocabulary([*SPECIALS, *words], "words", len(SPECIALS))

    def document_lengths(self) -> np.ndarray:
        return np.array([len(text.split()) for text in self.texts], dtype=np.int64)

    def read(self, rows) -> Rows:
        assert rows == slice(0, self.documents)
        ids = [self.vocabulary.index[word] for text in self.texts for word in text.split()]
        return Rows(np.array(ids, dtype=np.uint16), np.cumsum([0, *self.document_lengths()]), None)


def poem(first: int, words: int = 40) -> str:
    """A text of so many words, like no other with another beginning."""
    return " ".join(f"w{first}x{number}" for number in range(words))
