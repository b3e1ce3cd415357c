"""Which tokens may end a sentence and which may follow its end, as kato-lm decides by the tokenizer's name."""

import numpy as np
from numpy.typing import NDArray

from headway.data.vocabulary import Vocabulary

_BYTE_LEVEL = ("gpt2", "gpt-2", "roberta", "bart", "llama", "phi")
_WORD_PIECE = ("bert", "albert", "electra", "deberta")


def sentence_marks(vocabulary: Vocabulary, tokenizer: str) -> NDArray[np.uint8]:
    """Per token id: bit 0 for `.`, `!` and `?`; bit 1 for a token that shows that one before it ended a sentence."""
    name = tokenizer.lower()
    ends = [symbol in (".", "!", "?") for symbol in vocabulary.symbols]
    if any(known in name for known in _BYTE_LEVEL):
        follows = [symbol.startswith(("Ġ", "Â")) for symbol in vocabulary.symbols]
    elif any(known in name for known in _WORD_PIECE):
        follows = [not symbol.startswith("##") for symbol in vocabulary.symbols]
    else:
        follows = [symbol.startswith((" ", "Ġ", "Â")) or symbol[:1].isupper() for symbol in vocabulary.symbols]
    return np.array(ends, np.uint8) + np.uint8(2) * np.array(follows, np.uint8)
