"""What a tokenizer is, apart from the engine that runs it: GPT-2, a tokenizer.json, a tiktoken encoding."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.data import gpt2
from headway.data.vocabulary import Spelling, Vocabulary, byte_alphabet, spell_bytes
from headway.errors import TokenizerError

IdType = type[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True)
class Ranks:
    """A tiktoken encoding: split pattern, rank of every token's bytes, special tokens."""

    name: str
    pattern: str
    ranks: Mapping[bytes, int]
    specials: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """What engines are built from; texts joined by `separator` (a character, its id) keep their own tokens."""

    name: str
    digest: str
    size: int
    reference: str
    vocabulary: Callable[[], Vocabulary]
    document: Callable[[], str] | None = None
    ranks: Callable[[], Ranks] | None = None
    separator: tuple[str, int] | None = None

    @property
    def dtype(self) -> IdType:
        """The smallest of uint16 and uint32 that holds every id."""
        return np.uint16 if self.size <= 1 << 16 else np.uint32


def find_blueprint(spec: str, *, folder: Path) -> Blueprint:
    """The blueprint of `gpt2`, `tiktoken:NAME`, or a tokenizer.json (its path, or its folder)."""
    if spec == "gpt2":
        return gpt2_blueprint()
    if spec.startswith("tiktoken:"):
        return _tiktoken_blueprint(spec)
    return _file_blueprint(spec, folder)


def gpt2_blueprint() -> Blueprint:
    """GPT-2 as Hugging Face reads it: `<|endoftext|>` in a text is one token."""
    symbols = gpt2.symbols()
    return Blueprint(
        name="gpt2",
        digest=gpt2.SHA256,
        size=gpt2.SIZE,
        reference="tokenizers",
        vocabulary=lambda: Vocabulary(list(symbols), "bytes"),
        document=gpt2.document,
        ranks=_gpt2_ranks,
        # What `separator_of(gpt2.document())` gives, without parsing 1.8 MB in every worker.
        separator=("\x0b", symbols.index(byte_alphabet()[0x0B])),
    )


def _tiktoken_blueprint(spec: str) -> Blueprint:
    name = spec.removeprefix("tiktoken:")
    try:
        import tiktoken
    except ImportError as cause:
        raise TokenizerError(f"{spec} needs the package tiktoken; run: pip install tiktoken") from cause
    known = tiktoken.list_encoding_names()
    if name not in known:
        raise TokenizerError(f"unknown tiktoken encoding {name!r}{_meant(name, known)}choose one of {', '.join(known)}")
    table, size = (_gpt2_ranks(), gpt2.SIZE) if name == "gpt2" else _tiktoken_ranks(name)
    digest = hashlib.sha256(json.dumps([table.pattern, dict(table.specials)], sort_keys=True).encode())
    for token, rank in sorted(table.ranks.items(), key=lambda item: item[1]):
        digest.update(b"%d %s\n" % (rank, token.hex().encode()))
    return Blueprint(
        name=spec,
        digest=digest.hexdigest(),
        size=size,
        reference="tiktoken",
        vocabulary=lambda: _ranks_vocabulary(table, size),
        ranks=lambda: table,
    )


def _gpt2_ranks() -> Ranks:
    """GPT-2's table, which needs no network: the package carries it."""
    return Ranks("gpt2", gpt2.PATTERN, gpt2.ranks(), {gpt2.END_OF_TEXT: gpt2.SIZE - 1})


def _tiktoken_ranks(name: str) -> tuple[Ranks, int]:
    """The table of an encoding that tiktoken knows, and how many ids it has."""
    import tiktoken

    try:
        encoding: Any = tiktoken.get_encoding(name)
    except (OSError, ValueError) as cause:
        advice = "tiktoken downloads it once; connect, or set TIKTOKEN_CACHE_DIR to a folder that has it"
        raise TokenizerError(f"the tiktoken encoding {name} cannot be loaded ({cause}); {advice}") from cause
    table = Ranks(name, encoding._pat_str, encoding._mergeable_ranks, encoding._special_tokens)
    return table, encoding.n_vocab


def _ranks_vocabulary(table: Ranks, size: int) -> Vocabulary:
    named = {rank: spell_bytes(token) for token, rank in table.ranks.items()}
    named |= {number: text for text, number in table.specials.items()}
    return Vocabulary([named.get(number, f"<unused {number}>") for number in range(size)], "bytes")


def _file_blueprint(spec: str, folder: Path) -> Blueprint:
    path = folder / spec
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        raw = path.read_bytes()
    except FileNotFoundError as cause:
        known = ["gpt2", "words", "words:REGEX", "verse", "bytes", "tiktoken:NAME"]
        advice = f"give the path of a tokenizer.json, or one of {', '.join(known)}"
        raise TokenizerError(f"no tokenizer {spec!r} (no file {path}){_meant(spec, known)}{advice}") from cause
    except OSError as cause:
        raise TokenizerError(f"cannot read the tokenizer {path}: {cause.strerror}") from cause
    return _document_blueprint(raw, path)


def _document_blueprint(raw: bytes, path: Path) -> Blueprint:
    try:
        document = json.loads(raw)
        named = _numbered(document)
        size = max(named) + 1
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise TokenizerError(f"{path} is not a tokenizer.json of the tokenizers library ({cause!r})") from cause
    if document["model"].get("dropout"):
        raise TokenizerError(f"{path} has dropout, so one text has many encodings; set model.dropout to null in it")
    # What decorates or cuts an encoding is not part of the text's tokens.
    document |= {"truncation": None, "padding": None, "post_processor": None}
    text = json.dumps(document, ensure_ascii=False)
    symbols = [named.get(number, f"<unused {number}>") for number in range(size)]
    spelling = _spelling(document)
    return Blueprint(
        name=path.name,
        digest=hashlib.sha256(raw).hexdigest(),
        size=size,
        reference="tokenizers",
        vocabulary=lambda: Vocabulary(symbols, spelling),
        document=lambda: text,
        separator=separator_of(document),
    )


def _numbered(document: Any) -> dict[int, str]:
    vocabulary = document["model"]["vocab"]
    pairs = (
        vocabulary.items() if isinstance(vocabulary, dict) else ((entry[0], n) for n, entry in enumerate(vocabulary))
    )
    numbered = {int(number): str(symbol) for symbol, number in pairs}
    return numbered | {int(token["id"]): str(token["content"]) for token in document.get("added_tokens") or ()}


def _types(part: Any) -> set[str]:
    """Types of a component of a tokenizer.json and of everything inside it."""
    if isinstance(part, list):
        return set().union(*map(_types, part))
    if not isinstance(part, dict):
        return set()
    own = {part["type"]} if isinstance(part.get("type"), str) else set[str]()
    return own.union(*map(_types, part.values()))


def _spelling(document: dict[str, Any]) -> Spelling:
    decoder = _types(document.get("decoder"))
    if "ByteLevel" in decoder:
        return "bytes"
    if "Metaspace" in decoder or "Replace" in decoder:
        return "metaspace"
    if "WordPiece" in decoder:
        return "wordpiece"
    return "plain" if decoder else "words"


def separator_of(document: dict[str, Any]) -> tuple[str, int] | None:
    """The vertical tab and its id, if joining texts by it changes no token: GPT-2's split rule, and no merge with it.

    It is white space to the split rule, which only sets the last character of a run of white space apart, whatever is
    in the run; and since nothing merges with it, the tokens left and right of it are those of the texts alone.
    """
    model, pre = document["model"], document.get("pre_tokenizer") or {}
    tab = byte_alphabet()[0x0B]
    plain = not document.get("normalizer") and model.get("type") == "BPE" and not model.get("ignore_merges")
    gpt2_split = pre.get("type") == "ByteLevel" and pre.get("use_regex", True) and not pre.get("add_prefix_space", True)
    decorated = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
    if not plain or not gpt2_split or decorated or tab not in model["vocab"]:
        return None
    if any(tab in "".join(merge) for merge in model["merges"]):
        return None
    if any(_reaches_out(token) for token in document.get("added_tokens") or ()):
        return None
    return "\x0b", int(model["vocab"][tab])


def _reaches_out(token: dict[str, Any]) -> bool:
    """Whether an added token looks at, or takes, what stands beside it."""
    return "\x0b" in token["content"] or bool(token.get("lstrip") or token.get("rstrip") or token.get("single_word"))


def _meant(given: str, known: Sequence[str]) -> str:
    """What leads over to advice, with the name that was probably meant."""
    close = difflib.get_close_matches(given, known, n=1)
    return f"; did you mean {close[0]!r}? If not, " if close else "; "
