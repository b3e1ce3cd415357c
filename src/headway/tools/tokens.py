"""Tokens and windows by the names of the seeds: what the tokenizer of verse and the cutting of documents give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from headway.data import verse
from headway.data.tokenizers import load_own, unite
from headway.data.vocabulary import Vocabulary
from headway.errors import RunError
from headway.learners.autoencoder.config import WindowSection
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.material import windows_in
from headway.tools.poetry_config import DataConfig
from headway.tools.poetry_tables import CUT

_NONE = np.zeros(0, np.int64)


class PoetryTokenizer:
    """Poems to tokens and back: words, marks, breaks of lines and stanzas, emoji; nothing is left out.

    Ids are those of a data set of the same texts: marks of the tokenizer first, <PAD> with 0, then words in order.
    """

    pad_token_id = verse.SPECIALS.index(verse.PAD)
    unk_token_id = verse.SPECIALS.index(verse.UNKNOWN)

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary

    @property
    def is_built(self) -> bool:
        """Whether words have ids."""
        return self._vocabulary is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that have an id; a RunError before they were gathered."""
        if self._vocabulary is None:
            raise RunError("this tokenizer knows no words yet; gather them with build_vocabulary(texts)")
        return self._vocabulary

    @property
    def vocab_size(self) -> int:
        """How many ids there are."""
        return len(self.vocabulary)

    def build_vocabulary(self, texts: Iterable[str]) -> Self:
        """Give every word of some texts an id, the same whatever their order."""
        own = load_own("verse")
        own.encode(list(texts))
        self._vocabulary = unite([own.symbols], own.base)
        return self

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a poem, its beginning and its end among them."""
        return [piece.symbol for piece in verse.pieces(text)]

    def encode(self, text: str) -> list[int]:
        """The ids of a poem's tokens; that of <UNK> for words without one."""
        index = self.vocabulary.index
        return [index.get(symbol, self.unk_token_id) for symbol in self.tokenize(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids stand for; breaks are line ends again."""
        return self.vocabulary.decode(ids)


class SequenceGenerator:
    """Poems to windows of at most `max_length` tokens, in which every token is owned exactly once.

    With truncate or pad each poem is one window, and `cut_off` counts what that lost.
    """

    def __init__(
        self,
        tokenizer: PoetryTokenizer | None = None,
        max_length: int = 50,
        overlap: int | None = None,
        min_length: int | None = None,
        chunking_method: str = "sliding",
    ) -> None:
        config = DataConfig(
            max_length=max_length, overlap=overlap, min_length=min_length, chunking_method=chunking_method
        )
        self.tokenizer = PoetryTokenizer() if tokenizer is None else tokenizer
        self.cut_off = {"texts": 0, "tokens": 0}
        self._longest = max_length if chunking_method in CUT else None
        self._section = WindowSection(**config.part()["learner"]["window"])

    def generate(self, texts: Sequence[str]) -> Corpus:
        """The windows of some texts; a tokenizer without a vocabulary gets that of these."""
        if not self.tokenizer.is_built:
            self.tokenizer.build_vocabulary(texts)
        rows = [np.array(self.tokenizer.encode(text), np.int64) for text in texts]
        beyond = [0 if self._longest is None else max(0, len(row) - self._longest) for row in rows]
        self.cut_off = {"texts": sum(map(bool, beyond)), "tokens": sum(beyond)}
        rows = [row[: self._longest] for row in rows]
        offsets = np.cumsum([0, *map(len, rows)])
        symbols = self.tokenizer.vocabulary.symbols
        found = windows_in(np.concatenate([_NONE, *rows]), offsets, symbols, self._section)
        places = list(
            zip(*(each.tolist() for each in (found.documents, found.starts, found.ends, found.owned)), strict=True)
        )
        return Corpus(
            ids=np.concatenate([_NONE, *(rows[document][start:end] for document, start, end, _ in places)]),
            starts=np.cumsum([0, *found.lengths]),
            owned=np.concatenate([_NONE > 0, *(np.arange(start, end) >= own for _, start, end, own in places)]),
            documents=found.documents,
        )
