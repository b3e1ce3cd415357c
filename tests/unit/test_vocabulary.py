"""Symbols and the text they spell, without a tokenizer."""

import hashlib
import json
from typing import Any

import pytest

from headway.data.vocabulary import Vocabulary, spell_bytes, unspell_bytes
from headway.errors import DataError


class TestVocabulary:
    @pytest.mark.parametrize(
        ("spelling", "symbols", "text"),
        [
            ("bytes", ["ĠcafÃ", "©", "Ċ", "<|endoftext|>"], " café\n<|endoftext|>"),
            ("bytes", ["Ã"], "\ufffd"),
            ("bytes", ["<｜x｜>"], "<｜x｜>"),
            ("words", ["a", "b"], "a b"),
            ("metaspace", ["▁a", "b", "▁c", "<0xC3>", "<0xA9>"], "ab cé"),
            ("wordpiece", ["play", "##ing", "now"], "playing now"),
            ("plain", ["a", "b"], "ab"),
            ("verse", ["<POEM_START>", "a", ",", "<LINE_BREAK>", "b", "<POEM_END>"], "a,\nb"),
        ],
    )
    def test_symbols_join_to_text_by_their_spelling(self, spelling: Any, symbols: list[str], text: str):
        vocabulary = Vocabulary(symbols, spelling)

        assert vocabulary.decode(range(len(symbols))) == text

    def test_json_carries_everything(self):
        vocabulary = Vocabulary(["Ġ\ud800", "b"], "bytes")

        again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))

        assert (again, again.digest, len(again)) == (vocabulary, vocabulary.digest, 2)
        assert again.index == {"Ġ\ud800": 0, "b": 1}

    def test_json_carries_how_many_are_special_and_nothing_where_none_is(self):
        vocabulary = Vocabulary(["<PAD>", "b"], "verse", 1)

        again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))

        assert (again, again.specials, again.digest) == (vocabulary, 1, vocabulary.digest)
        assert Vocabulary(["a"], "words").to_json() == {"format": 1, "spelling": "words", "symbols": ["a"]}

    def test_the_digest_without_special_symbols_is_that_of_older_datasets(self):
        assert Vocabulary(["a"], "words").digest == hashlib.sha256(b'["words", ["a"]]').hexdigest()

    def test_any_change_changes_the_digest(self):
        vocabularies = [
            Vocabulary(["a", "b"], "words"),
            Vocabulary(["b", "a"], "words"),
            Vocabulary(["a", "b"], "plain"),
            Vocabulary(["a", "b"], "plain", 1),
            Vocabulary(["a", "b"], "plain", 2),
        ]

        assert len({vocabulary.digest for vocabulary in vocabularies}) == 5

    @pytest.mark.parametrize(
        "value",
        [
            [],
            {},
            {"format": 2, "spelling": "words", "symbols": []},
            {"format": 1, "spelling": "other", "symbols": []},
            {"format": 1, "spelling": "words", "symbols": [1]},
            {"format": 1, "spelling": "words"},
            {"format": 1, "spelling": "words", "symbols": ["a"], "specials": 2},
            {"format": 1, "spelling": "words", "symbols": ["a"], "specials": -1},
            {"format": 1, "spelling": "words", "symbols": ["a"], "specials": True},
        ],
    )
    def test_something_else_is_refused(self, value: Any):
        with pytest.raises(DataError, match="vocabulary"):
            Vocabulary.from_json(value)

    def test_every_byte_has_its_character(self):
        everything = bytes(range(256))

        assert unspell_bytes(spell_bytes(everything)) == everything
        assert spell_bytes(b" the\n") == "ĠtheĊ"
