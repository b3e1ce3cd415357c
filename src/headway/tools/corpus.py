"""Texts cut as the seeds cut them: books into paragraphs, paragraphs into tokens, tokens into chunks or sentences."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from headway.data.segment import segments
from headway.tools.calls import MAX_TOKENS

if TYPE_CHECKING:
    from headway.data.tokenizers import Tokenizer


class Book(TypedDict):
    """A text ready for `train_hierarchical_single_pass`."""

    title: str
    author: str
    paragraphs: list[str]


class CorpusSegmenter:
    """Cuts texts into books of paragraphs; a corpus is a list of them."""

    @staticmethod
    def segment(
        text: str,
        *,
        method: Literal["simple", "article", "book"] = "simple",
        title: str = "Untitled",
        author: str = "Unknown",
    ) -> Book:
        """The paragraphs of ten characters and more, without the headings of an article or the chapters of a book."""
        return {"title": title, "author": author, "paragraphs": segments(text, method)}


class TokenProcessor:
    """Turns paragraphs into the tokens, chunks and sentences that level 0 learns."""

    def __init__(self, tokenizer_name: str = "gpt2") -> None:
        self.tokenizer_name = tokenizer_name

    def tokenize(self, text: str, max_tokens: int = MAX_TOKENS) -> list[str]:
        """The first tokens of a text, as the tokenizer spells them."""
        self._tokenizer.start_over()
        encoded = self._tokenizer.encode([text])
        symbols = self._tokenizer.symbols
        return [symbols[number] for number in encoded.ids[:max_tokens].tolist()]

    def chunks(self, tokens: list[str], chunk_size: int) -> list[list[str]]:
        """Pieces of `chunk_size`; one or two tokens left over join the piece before them."""
        return _cut(tokens, np.arange(len(tokens), dtype=np.uint32), np.zeros(0, np.uint8), width=chunk_size, least=2)

    def sentences(self, tokens: list[str], min_sentence_tokens: int = 3) -> list[list[str]]:
        """Pieces that end with a sentence, the shorter ones left out."""
        from headway.data.vocabulary import Vocabulary
        from headway.learners.patterns.marks import sentence_marks

        vocabulary = Vocabulary(sorted(set(tokens)), "plain")
        ids = np.array([vocabulary.index[token] for token in tokens], np.uint32)
        marks = sentence_marks(vocabulary, self.tokenizer_name)
        return _cut(tokens, ids, marks, width=2, least=max(2, min_sentence_tokens))

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from headway.data.tokenizers import load_tokenizer

        return load_tokenizer(self.tokenizer_name, folder=Path.cwd())


def _cut(tokens: list[str], ids: NDArray[Any], marks: NDArray[Any], *, width: int, least: int) -> list[list[str]]:
    """The level-0 patterns of one paragraph; `ids` are those that `marks` speaks of."""
    from headway.learners.patterns.kernels import cutting
    from headway.learners.patterns.still import still

    ends = still(np.array([0, len(tokens)], np.int64))
    rule = (width, still(marks), least)
    starts, lengths, _, _ = cutting.cut(still(ids), ends, ends, rule, (0, 0, 0), len(tokens) + 1)
    return [tokens[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
