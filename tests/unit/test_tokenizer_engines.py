"""The fastest engine is used only where it equals the reference."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.data import engine_check, engines
from headway.data.blueprints import Blueprint, gpt2_blueprint, separator_of
from headway.data.engine_check import check_engine, choose_engine, trial_texts
from headway.data.engines import Encoded, build_engine
from headway.data.tokenizers import load_tokenizer, select_engine
from headway.data.vocabulary import Vocabulary
from headway.errors import TokenizerError

HERE = Path()


def installed(engine: str) -> str:
    if find_spec(engine) is None:
        pytest.skip(f"the engine {engine} is not installed")
    return engine


def rows(encoded: Encoded) -> list[list[int]]:
    ends = encoded.offsets.tolist()
    return [encoded.ids[a:b].tolist() for a, b in pairwise(ends)]


class TestJoining:
    """Short texts go through gigatoken as one; nothing may show that."""

    TEXTS = ("", " ", "\n", " lead", "trail \n", "x\x0cy", "é “q”", "<|endoftext|>", "'s", "  two", "<|endof", "text|>")

    def pair(self) -> tuple[engines.Engine, engines.Engine]:
        blueprint = gpt2_blueprint()
        return build_engine(installed("gigatoken"), blueprint), build_engine("tokenizers", blueprint)

    def test_every_pair_of_neighbours_keeps_its_tokens(self):
        fast, reference = self.pair()
        texts = [text for left in self.TEXTS for right in self.TEXTS for text in (left, right)]

        assert engine_check.difference(texts, reference.encode(texts), fast.encode(texts)) is None

    def test_a_text_with_the_separator_in_it_keeps_its_tokens(self):
        fast, reference = self.pair()
        texts = ["a\x0bb", "\x0b", "c"]

        assert rows(fast.encode(texts)) == rows(reference.encode(texts))

    def test_many_groups_and_long_texts_keep_their_tokens(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(engines, "_JOINED_CHARACTERS", 64)
        fast, reference = self.pair()
        short = trial_texts()[:400]
        long = ["word " * 1_500, "\n" * 3_000]

        assert rows(fast.encode(short)) == rows(reference.encode(short))
        assert rows(fast.encode(long)) == rows(reference.encode(long))

    @pytest.mark.parametrize(
        "change",
        [
            {"normalizer": {"type": "NFC"}},
            {"pre_tokenizer": None},
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}},
            {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}},
            {"added_tokens": [{"id": 0, "content": "<x>", "lstrip": True}]},
            {"added_tokens": [{"id": 0, "content": "a\x0bb"}]},
            {"model": {"type": "WordLevel", "vocab": {"ċ": 0}, "merges": []}},
            {"model": {"type": "BPE", "vocab": {"ċ": 0, "ċċ": 1}, "merges": ["ċ ċ"]}},
            {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}},
            {"model": {"type": "BPE", "vocab": {"ċ": 0}, "merges": [], "end_of_word_suffix": "</w>"}},
        ],
    )
    def test_texts_are_not_joined_where_that_could_change_tokens(self, change: dict[str, Any]):
        plain: dict[str, Any] = {
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "added_tokens": [],
            "model": {"type": "BPE", "vocab": {"ċ": 7}, "merges": [["a", "b"]]},
        }

        assert separator_of(plain) == ("\x0b", 7)
        assert separator_of(plain | change) is None


class Wrong:
    """An engine with one mistake: it loses the last token."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        encoded = build_engine("tokenizers", gpt2_blueprint()).encode(texts)
        offsets = np.minimum(encoded.offsets, len(encoded.ids) - 1)
        return Encoded(encoded.ids[:-1], offsets)


class Panic(BaseException):
    """What a panic of Rust looks like from Python."""


def broken(blueprint: Blueprint) -> engines.Engine:
    raise Panic("index out of bounds")


def failing(error: BaseException) -> Any:
    class Failing:
        def encode(self, texts: Sequence[str]) -> Encoded:
            raise error

    return lambda blueprint: Failing()


@pytest.fixture
def present(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every engine counts as installed; tests then replace builders."""
    monkeypatch.setattr(engines, "find_spec", lambda name: name)
    return monkeypatch


class TestEngineChoice:
    def test_the_fastest_equal_engine_is_taken(self):
        installed("gigatoken")

        assert select_engine("gpt2", folder=HERE, sample=["Some text.\n\nMore of it. " * 9]).engine == "gigatoken"
        assert load_tokenizer("gpt2", folder=HERE).engine == "gigatoken"

    def test_an_engine_that_differs_is_passed_over_with_the_reason(self, present: pytest.MonkeyPatch):
        present.setitem(engines.BUILDERS, "gigatoken", lambda blueprint: Wrong())
        present.setitem(engines.BUILDERS, "fastokens", broken)
        present.setitem(engines.BUILDERS, "tiktoken", failing(Panic("slice")))

        choice = choose_engine(gpt2_blueprint())

        assert choice.engine == "tokenizers"
        assert "differs from tokenizers on " in choice.rejected["gigatoken"]
        assert "index out of bounds" in choice.rejected["fastokens"]
        assert "slice" in choice.rejected["tiktoken"]

    def test_the_reason_of_a_refusal_names_no_place_in_foreign_code_and_no_setting(self, present: pytest.MonkeyPatch):
        def broken_in_rust(blueprint: Blueprint) -> engines.Engine:
            raise Panic("no such model\n\nLocation:\n    src/load.rs:241:24")

        present.setitem(engines.BUILDERS, "gigatoken", broken_in_rust)

        reason = choose_engine(gpt2_blueprint()).rejected["gigatoken"]

        assert reason == "the tokenizer engine gigatoken failed on gpt2: no such model"
        with pytest.raises(TokenizerError, match=r"no such model; choose another with data\.engine"):
            build_engine("gigatoken", gpt2_blueprint())

    def test_a_difference_only_the_corpus_shows_is_found(self, present: pytest.MonkeyPatch):
        reference = build_engine("tokenizers", gpt2_blueprint())

        class WrongOnOneWord:
            def encode(self, texts: Sequence[str]) -> Encoded:
                return reference.encode([text.replace("Xyzzy", "xyzzy") for text in texts])

        present.setitem(engines.BUILDERS, "gigatoken", lambda blueprint: WrongOnOneWord())

        assert check_engine("gigatoken", gpt2_blueprint()) is None
        problem = check_engine("gigatoken", gpt2_blueprint(), sample=["plain", "then Xyzzy"])
        assert problem is not None and "Xyzzy" in problem

    def test_a_wanted_engine_that_differs_is_an_error(self, present: pytest.MonkeyPatch):
        present.setitem(engines.BUILDERS, "gigatoken", lambda blueprint: Wrong())

        with pytest.raises(TokenizerError, match=r"data.engine = 'gigatoken' cannot be used: .*differs"):
            select_engine("gpt2", engine="gigatoken", folder=HERE)

    def test_the_reference_may_be_wanted(self):
        assert select_engine("gpt2", engine="tokenizers", folder=HERE).rejected == {}

    def test_a_wanted_engine_that_is_equal_is_taken(self):
        assert select_engine("gpt2", engine=installed("gigatoken"), folder=HERE).engine == "gigatoken"

    def test_a_missing_engine_is_an_error_that_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(engines, "find_spec", lambda name: None)

        with pytest.raises(TokenizerError, match="pip install fastokens"):
            load_tokenizer("gpt2", engine="fastokens", folder=HERE)

    def test_an_unknown_engine_is_an_error_that_lists_the_known(self):
        with pytest.raises(TokenizerError, match="known are auto, gigatoken"):
            load_tokenizer("gpt2", engine="fast", folder=HERE)

    def test_a_failure_while_encoding_names_the_engine(self, present: pytest.MonkeyPatch):
        present.setitem(engines.BUILDERS, "gigatoken", failing(Panic("overflow")))

        with pytest.raises(TokenizerError, match=r"gigatoken failed on gpt2: overflow; choose another"):
            load_tokenizer("gpt2", engine="gigatoken", folder=HERE).encode(["x"])

    def test_ctrl_c_is_not_an_engine_failure(self, present: pytest.MonkeyPatch):
        present.setitem(engines.BUILDERS, "gigatoken", failing(KeyboardInterrupt()))

        with pytest.raises(KeyboardInterrupt):
            load_tokenizer("gpt2", engine="gigatoken", folder=HERE).encode(["x"])

    @pytest.mark.parametrize("engine", engines.BUILDERS)
    def test_an_engine_without_what_it_needs_says_so(self, engine: str):
        nothing = Blueprint(
            name="n", digest="", size=1, reference="tokenizers", vocabulary=lambda: Vocabulary([], "plain")
        )

        with pytest.raises(TokenizerError, match="needs"):
            build_engine(installed(engine), nothing)

    def test_trial_texts_are_always_the_same(self):
        assert trial_texts() == trial_texts()
        assert len(set(trial_texts())) > 1_000

    def test_encodings_of_equal_rows_but_other_counts_differ(self):
        left = Encoded(np.array([1, 2], np.uint16), np.array([0, 2]))
        right = Encoded(np.array([1, 2, 3], np.uint16), np.array([0, 2]))

        assert engine_check.difference(["a"], left, right) == "in the number of ids"

    def test_the_fast_engine_loads_no_awkward_arrays(self):
        installed("gigatoken")
        code = (
            "import sys; from pathlib import Path; from headway.data.tokenizers import load_tokenizer as load;"
            "load('gpt2', engine='gigatoken', folder=Path()).encode(['a', 'b']);"
            "sys.exit('awkward' in sys.modules or 'tokenizers' in sys.modules)"
        )

        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
