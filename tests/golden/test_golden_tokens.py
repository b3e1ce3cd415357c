"""Tokens recorded from the trainer of KATO: every engine must give exactly these."""

import gzip
import json
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from headway.data.engines import BUILDERS
from headway.data.tokenizers import load_tokenizer

TOKENS = Path(__file__).parents[3] / "shared/golden/kato/tokens.jsonl.gz"
pytestmark = pytest.mark.skipif(not TOKENS.exists(), reason="the golden data of KATO is not beside this checkout")


def recorded() -> list[tuple[str, list[str]]]:
    with gzip.open(TOKENS, "rt", encoding="utf-8") as lines:
        return [(row["text"], row["tokens"]) for row in map(json.loads, lines)]


@pytest.mark.parametrize("engine", BUILDERS)
@pytest.mark.parametrize("at_once", [1, 50, 100_000])
def test_every_engine_gives_the_recorded_tokens(engine: str, at_once: int):
    if find_spec(engine) is None:
        pytest.skip(f"the engine {engine} is not installed")
    rows = recorded()
    tokenizer = load_tokenizer("gpt2", engine=engine, folder=Path())
    symbols = tokenizer.symbols

    given: list[list[str]] = []
    for start in range(0, len(rows), at_once):
        encoded = tokenizer.encode([text for text, _ in rows[start : start + at_once]])
        ends = encoded.offsets.tolist()
        given += [[symbols[i] for i in encoded.ids[a:b]] for a, b in pairwise(ends)]

    assert given == [tokens for _, tokens in rows]


def test_decoding_recorded_tokens_gives_the_text_back():
    tokenizer = load_tokenizer("gpt2", engine="tokenizers", folder=Path())
    assert tokenizer.vocabulary is not None

    wrong = [text for text, tokens in recorded() if tokenizer.vocabulary.join(tokens) != text]

    assert wrong == []
