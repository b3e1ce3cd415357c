"""Every engine gives the reference's ids on any text."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.engine_check import difference
from headway.data.engines import BUILDERS
from headway.data.tokenizers import Tokenizer, load_tokenizer

FAST = [name for name in BUILDERS if name != "tokenizers" and find_spec(name)]
SPACES = [" ", "  ", "\n", "\n\n", "\x0b", "\x0c", "\t", "\r\n", "\xa0", "\u2003", "\u3000", "\u200b", "\x1c", "\x85"]
OTHERS = [
    "'s",
    "'LL",
    "’",
    "“",
    "a",
    "The",
    "é",
    "日本",
    "1",
    "²",
    "<|endoftext|>",
    "<|endof",
    "\x00",
    "\U0001f642",
    "-",
]
AWKWARD = st.sampled_from([*SPACES, *OTHERS])
TEXTS = st.one_of(st.text(max_size=40), st.lists(AWKWARD, max_size=12).map("".join))


@cache
def loaded(engine: str) -> Tokenizer:
    return load_tokenizer("gpt2", engine=engine, folder=Path())


@pytest.mark.parametrize("engine", FAST)
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, max_size=8))
def test_engines_agree_with_the_reference(engine: str, texts: list[str]):
    expected = loaded("tokenizers").encode(texts)

    given_ids = loaded(engine).encode(texts)

    assert difference(texts, expected, given_ids) is None
    assert (given_ids.ids.dtype, given_ids.offsets.dtype) == (np.uint16, np.int64)


@pytest.mark.parametrize("engine", FAST)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXTS, max_size=8))
def test_a_batch_is_its_texts_alone(engine: str, texts: list[str]):
    batch = loaded(engine).encode(texts)

    alone = [loaded(engine).encode([text]).ids for text in texts]

    assert batch.ids.tolist() == [token for ids in alone for token in ids.tolist()]
    assert np.diff(batch.offsets).tolist() == [len(ids) for ids in alone]


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60))
def test_decoding_gives_the_text_back(text: str):
    for tokenizer in (
        loaded("gigatoken" if "gigatoken" in FAST else "tokenizers"),
        load_tokenizer("bytes", folder=Path()),
    ):
        assert tokenizer.vocabulary is not None

        assert tokenizer.vocabulary.decode(tokenizer.encode([text]).ids) == text


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60))
def test_words_are_what_split_gives(text: str):
    tokenizer = load_tokenizer("words", folder=Path())

    encoded = tokenizer.encode([text])

    assert [tokenizer.symbols[i] for i in encoded.ids] == text.split()
