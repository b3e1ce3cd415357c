"""Tokenizers by name: GPT-2, files, tiktoken encodings, words, bytes."""

import gzip
import hashlib
import json
import sys
from base64 import b64encode
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import AddedToken, models, pre_tokenizers
from tokenizers import Tokenizer as HuggingFace

from headway.data import blueprints, engines, gpt2
from headway.data.blueprints import Blueprint, find_blueprint, gpt2_blueprint, separator_of
from headway.data.engines import Encoded, build_engine
from headway.data.tokenizers import load_tokenizer, remap, select_engine, unite
from headway.data.vocabulary import Vocabulary
from headway.errors import TokenizerError

HERE = Path()
RANKS_URL = b"https://openaipublic.blob.core.windows.net/encodings/r50k_base.tiktoken"
RANKS_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


def installed(engine: str) -> str:
    if find_spec(engine) is None:
        pytest.skip(f"the engine {engine} is not installed")
    return engine


def rows(encoded: Encoded) -> list[list[int]]:
    ends = encoded.offsets.tolist()
    return [encoded.ids[a:b].tolist() for a, b in pairwise(ends)]


class TestGpt2:
    def test_the_vocabulary_is_openais_to_the_byte(self):
        lines = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in gpt2.ranks().items())

        assert hashlib.sha256(lines).hexdigest() == RANKS_SHA256
        assert len(gpt2.symbols()) == gpt2.SIZE == len(set(gpt2.symbols()))

    def test_a_changed_vocabulary_file_is_refused(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(gpt2, "SHA256", "0" * 64)

        with pytest.raises(TokenizerError, match="does not have SHA-256"):
            gpt2.merges()

    def test_an_unreadable_vocabulary_file_is_refused(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        (tmp_path / "vocab.bpe.gz").write_bytes(gzip.compress(b"x" * 100)[:20])
        monkeypatch.setattr(gpt2, "files", lambda package: tmp_path)

        with pytest.raises(TokenizerError, match="install headway again"):
            gpt2.merges()

    @pytest.mark.parametrize("engine", engines.BUILDERS)
    def test_the_end_of_text_mark_is_one_token(self, engine: str):
        tokenizer = load_tokenizer("gpt2", engine=installed(engine), folder=HERE)

        encoded = tokenizer.encode(["a<|endoftext|>b", "", "Hello world"])

        assert rows(encoded) == [[64, 50256, 65], [], [15496, 995]]
        assert (encoded.ids.dtype, encoded.offsets.dtype) == (np.uint16, np.int64)
        assert (tokenizer.engine, tokenizer.name, tokenizer.digest) == (engine, "gpt2", gpt2.SHA256)

    @pytest.mark.parametrize("engine", engines.BUILDERS)
    def test_no_texts_give_no_ids(self, engine: str):
        encoded = load_tokenizer("gpt2", engine=installed(engine), folder=HERE).encode([])

        assert (encoded.ids.tolist(), encoded.offsets.tolist()) == ([], [0])
        assert encoded.ids.dtype == np.uint16

    @pytest.mark.parametrize("engine", engines.BUILDERS)
    def test_a_lone_surrogate_is_an_error_that_says_where(self, engine: str):
        tokenizer = load_tokenizer("gpt2", engine=installed(engine), folder=HERE)

        with pytest.raises(TokenizerError, match=r"text 1 .* U\+D800 at character 2"):
            tokenizer.encode(["fine é", "ab\ud800"])

    def test_the_separator_is_the_one_its_own_document_gives(self):
        assert gpt2_blueprint().separator == separator_of(json.loads(gpt2.document())) == ("\x0b", 199)

    def test_symbols_are_those_of_the_reference(self):
        reference = HuggingFace.from_str(gpt2.document())

        assert load_tokenizer("gpt2", engine="tokenizers", folder=HERE).symbols == [
            reference.id_to_token(number) for number in range(gpt2.SIZE)
        ]


def save_document(folder: Path, document: dict[str, Any]) -> str:
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    return "tokenizer.json"


class TestTokenizerFiles:
    @pytest.mark.parametrize("spec", ["gpt2.json", "."])
    @pytest.mark.parametrize("engine", ["auto", "tokenizers"])
    def test_a_file_or_its_folder_works_like_the_built_in(self, tmp_path: Path, spec: str, engine: str):
        for name in ("gpt2.json", "tokenizer.json"):
            (tmp_path / name).write_text(gpt2.document(), encoding="utf-8")

        tokenizer = load_tokenizer(spec, engine=engine, folder=tmp_path)

        expected = load_tokenizer("gpt2", engine="tokenizers", folder=HERE)
        assert rows(tokenizer.encode(["Hello <|endoftext|> x", "y"])) == rows(
            expected.encode(["Hello <|endoftext|> x", "y"])
        )
        assert tokenizer.vocabulary == expected.vocabulary
        assert tokenizer.digest != expected.digest

    def test_decoration_and_truncation_of_the_file_are_not_applied(self, tmp_path: Path):
        plain = HuggingFace(models.WordLevel({"[UNK]": 0, "a": 1, "[CLS]": 2}, unk_token="[UNK]"))
        plain.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
        plain.add_special_tokens([AddedToken("[CLS]", special=True)])
        plain.enable_truncation(2)
        plain.enable_padding(length=9)
        plain.save(str(tmp_path / "tokenizer.json"))

        tokenizer = load_tokenizer("tokenizer.json", engine="tokenizers", folder=tmp_path)

        assert rows(tokenizer.encode(["a a b [CLS] a"])) == [[1, 1, 0, 2, 1]]
        assert tokenizer.vocabulary == Vocabulary(["[UNK]", "a", "[CLS]"], "words")

    def test_engines_that_cannot_read_a_file_are_passed_over(self, tmp_path: Path):
        unigram = HuggingFace(models.Unigram([("<unk>", 0.0), ("▁a", -1.0), ("▁", -2.0), ("b", -3.0)], 0, False))
        unigram.save(str(tmp_path / "tokenizer.json"))

        choice = select_engine("tokenizer.json", folder=tmp_path)

        assert choice.engine == "tokenizers"
        assert "tiktoken" in choice.rejected

    def test_more_than_65536_ids_are_32_bits_wide_and_holes_have_a_name(self, tmp_path: Path):
        vocabulary = {"a": 0, "b": 70_000}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "a"}
        tokenizer = load_tokenizer(
            save_document(tmp_path, {"version": "1.0", "model": model}), engine="tokenizers", folder=tmp_path
        )

        encoded = tokenizer.encode(["b"])

        assert (encoded.ids.dtype, encoded.ids.tolist()) == (np.uint32, [70_000])
        assert tokenizer.symbols[69_999] == "<unused 69999>"

    @pytest.mark.parametrize(
        ("decoder", "spelling"),
        [
            (None, "words"),
            ({"type": "ByteLevel"}, "bytes"),
            ({"type": "Metaspace"}, "metaspace"),
            ({"type": "Sequence", "decoders": [{"type": "Replace"}, {"type": "Fuse"}]}, "metaspace"),
            ({"type": "WordPiece"}, "wordpiece"),
            ({"type": "Fuse"}, "plain"),
        ],
    )
    def test_the_decoder_of_a_file_says_how_symbols_spell(self, tmp_path: Path, decoder: Any, spelling: str):
        document = {"model": {"type": "WordLevel", "vocab": {"a": 0}}, "decoder": decoder}

        assert find_blueprint(save_document(tmp_path, document), folder=tmp_path).vocabulary().spelling == spelling

    @pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"model": {"vocab": {}}}', b"\xff"])
    def test_another_json_is_no_tokenizer(self, tmp_path: Path, content: bytes):
        (tmp_path / "t.json").write_bytes(content)

        with pytest.raises(TokenizerError, match=r"t\.json is not a tokenizer\.json"):
            load_tokenizer("t.json", folder=tmp_path)

    def test_a_model_no_engine_can_build_is_an_error(self, tmp_path: Path):
        spec = save_document(tmp_path, {"model": {"type": "Nonsense", "vocab": {"a": 0}}})

        with pytest.raises(TokenizerError, match=r"tokenizers failed on tokenizer\.json"):
            load_tokenizer(spec, engine="tokenizers", folder=tmp_path)

    def test_dropout_is_refused(self, tmp_path: Path):
        spec = save_document(tmp_path, {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})

        with pytest.raises(TokenizerError, match="dropout"):
            load_tokenizer(spec, folder=tmp_path)

    def test_a_name_that_is_no_file_is_an_error_with_a_suggestion(self, tmp_path: Path):
        with pytest.raises(TokenizerError, match=r"; did you mean 'gpt2'\? If not, give the path of"):
            load_tokenizer("gtp2", folder=tmp_path)
        with pytest.raises(TokenizerError, match="did you mean 'verse'"):
            load_tokenizer("verses", folder=tmp_path)

    def test_a_file_that_cannot_be_read_is_an_error(self, tmp_path: Path):
        (tmp_path / "tokenizer.json").mkdir()

        with pytest.raises(TokenizerError, match="cannot read the tokenizer"):
            load_tokenizer(".", folder=tmp_path)


class TestTiktoken:
    @pytest.fixture
    def cached(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The rank file of r50k_base where tiktoken looks before it downloads."""
        installed("tiktoken")
        lines = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in gpt2.ranks().items())
        (tmp_path / hashlib.sha1(RANKS_URL).hexdigest()).write_bytes(lines)
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    @pytest.mark.usefixtures("cached")
    @pytest.mark.parametrize("engine", ["tiktoken", "gigatoken"])
    def test_an_encoding_gives_the_tokens_of_its_file(self, engine: str):
        tokenizer = load_tokenizer("tiktoken:r50k_base", engine=installed(engine), folder=HERE)

        assert rows(tokenizer.encode(["Hello world", "<|endoftext|>"])) == [[15496, 995], [50256]]
        assert tokenizer.symbols == list(gpt2.symbols())
        assert (tokenizer.name, tokenizer.dtype) == ("tiktoken:r50k_base", np.uint16)

    @pytest.mark.usefixtures("cached")
    def test_tiktoken_is_its_own_reference(self):
        choice = select_engine("tiktoken:r50k_base", folder=HERE)

        assert choice.engine == ("gigatoken" if find_spec("gigatoken") else "tiktoken")
        assert "tokenizers" not in choice.rejected or "needs" in choice.rejected["tokenizers"]

    def test_an_unknown_encoding_is_an_error_with_a_suggestion(self):
        installed("tiktoken")

        with pytest.raises(TokenizerError, match="did you mean 'cl100k_base'"):
            load_tokenizer("tiktoken:cl100k_bse", folder=HERE)

    def test_an_encoding_that_cannot_be_fetched_is_an_error_that_says_how(self, monkeypatch: pytest.MonkeyPatch):
        tiktoken = pytest.importorskip("tiktoken")

        def no_network(name: str) -> None:
            raise OSError("no route to host")

        monkeypatch.setattr(tiktoken, "get_encoding", no_network)

        with pytest.raises(TokenizerError, match=r"no route to host.*TIKTOKEN_CACHE_DIR"):
            load_tokenizer("tiktoken:cl100k_base", folder=HERE)

    def test_gpt2s_encoding_needs_no_network(self, monkeypatch: pytest.MonkeyPatch):
        tiktoken = pytest.importorskip("tiktoken")

        def no_network(name: str) -> None:
            raise OSError("no route to host")

        monkeypatch.setattr(tiktoken, "get_encoding", no_network)
        tokenizer = load_tokenizer("tiktoken:gpt2", engine="tiktoken", folder=HERE)

        assert rows(tokenizer.encode(["Hello world", "<|endoftext|>"])) == [[15496, 995], [50256]]
        assert tokenizer.symbols == list(gpt2.symbols())

    @pytest.mark.usefixtures("cached")
    def test_the_carried_table_is_tiktokens(self):
        tiktoken = pytest.importorskip("tiktoken")
        theirs = tiktoken.get_encoding("r50k_base")

        ours = blueprints._gpt2_ranks()

        assert ours.pattern == theirs._pat_str
        assert ours.specials == theirs._special_tokens

    def test_without_the_package_the_error_says_how_to_get_it(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "tiktoken", None)

        with pytest.raises(TokenizerError, match="pip install tiktoken"):
            load_tokenizer("tiktoken:cl100k_base", folder=HERE)

    def test_gigatoken_refuses_an_encoding_whose_split_rule_it_lacks(self):
        installed("gigatoken")
        table = blueprints.Ranks("p50k_base", "", {}, {})
        blueprint = Blueprint(
            name="p",
            digest="",
            size=1,
            reference="tiktoken",
            vocabulary=lambda: Vocabulary([], "bytes"),
            ranks=lambda: table,
        )

        with pytest.raises(TokenizerError, match="no split rule for p50k_base"):
            build_engine("gigatoken", blueprint)


class TestWordsAndBytes:
    def test_words_number_in_order_of_appearance(self):
        tokenizer = load_tokenizer("words", folder=HERE)

        encoded = tokenizer.encode(["b a  b", "", "c a"])

        assert rows(encoded) == [[0, 1, 0], [], [2, 1]]
        assert (tokenizer.symbols, tokenizer.vocabulary, tokenizer.growing) == (["b", "a", "c"], None, True)

    def test_starting_over_forgets_the_words(self):
        tokenizer = load_tokenizer("words", folder=HERE)
        tokenizer.encode(["b a"])

        tokenizer.start_over()

        assert (rows(tokenizer.encode(["a"])), tokenizer.symbols) == ([[0]], ["a"])

    def test_united_words_do_not_depend_on_the_parts(self):
        left, right = unite([["b", "é"], ["a", "b"]]), unite([["a"], ["é", "b"], []])

        assert left == right == Vocabulary(["a", "b", "é"], "words")
        assert remap(["é", "a"], left).tolist() == [2, 0]
        assert left.decode([2, 0]) == "é a"

    @pytest.mark.parametrize("pattern", [r"(\w)\w+|\d", r"\w\w+|\d", r"\b|\w\w+|\d", r"(?=c)|\w\w+|\d"])
    def test_an_expression_chooses_the_words(self, pattern: str):
        tokenizer = load_tokenizer(f"words:{pattern}", folder=HERE)

        tokenizer.encode(["ab: 1, xy"])

        assert tokenizer.symbols == ["ab", "1", "xy"]

    def test_an_engine_that_would_have_no_effect_is_an_error(self):
        with pytest.raises(TokenizerError, match="has no effect"):
            select_engine("words", engine="gigatoken", folder=HERE)

    def test_options_change_the_digest(self):
        specs = ["words", "verse", r"words:\w+", r"words:\S+", "bytes", "gpt2"]

        assert len({load_tokenizer(spec, engine="tokenizers", folder=HERE).digest for spec in specs}) == len(specs)

    @pytest.mark.parametrize(("pattern", "message"), [("(", "not a regular expression"), (r"\w*", "use + instead of")])
    def test_an_unusable_expression_is_an_error(self, pattern: str, message: str):
        with pytest.raises(TokenizerError) as caught:
            load_tokenizer(f"words:{pattern}", folder=HERE)

        assert message in str(caught.value)

    def test_bytes_are_utf_8(self):
        tokenizer = load_tokenizer("bytes", folder=HERE)

        encoded = tokenizer.encode(["aé", "", "b"])

        assert rows(encoded) == [[97, 0xC3, 0xA9], [], [98]]
        assert (tokenizer.symbols[32], len(tokenizer.symbols)) == ("Ġ", 256)
        assert rows(tokenizer.encode(["ab", "c"])) == [[97, 98], [99]]

    @pytest.mark.parametrize("spec", ["words", "bytes"])
    def test_a_lone_surrogate_is_an_error(self, spec: str):
        with pytest.raises(TokenizerError, match="lone surrogate"):
            load_tokenizer(spec, folder=HERE).encode(["\udfff"])

    @pytest.mark.parametrize("spec", ["words", "words:x", "verse", "bytes"])
    def test_no_engine_is_chosen(self, spec: str):
        assert select_engine(spec, folder=HERE).engine == load_tokenizer(spec, folder=HERE).engine == "python"

    @pytest.mark.parametrize("spec", ["gpt2", "bytes"])
    def test_starting_over_keeps_a_fixed_vocabulary(self, spec: str):
        tokenizer = load_tokenizer(spec, engine="tokenizers", folder=HERE)
        before = list(tokenizer.symbols)

        tokenizer.start_over()

        assert tokenizer.symbols == before
