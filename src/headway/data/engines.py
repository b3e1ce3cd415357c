"""Engines that turn text into token ids, one thread each."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headway.data.blueprints import Blueprint, IdType, Ranks
from headway.errors import TokenizerError

Ids = NDArray[Any]
# Below this mean length, texts are joined: a call costs as much as tokenising some 300 characters.
_JOIN_BELOW = 4_000
# Larger loses the cache, smaller pays for more calls; measured flat from 2^18 to 2^20.
_JOINED_CHARACTERS = 1 << 19


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of some texts one after the other; text i has `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Ids
    offsets: NDArray[np.int64]


class Engine(Protocol):
    """Encodes a list of texts on the calling thread."""

    def encode(self, texts: Sequence[str]) -> Encoded: ...


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class _OneByOne:
    """Encodes with a function from one text to an array of ids."""

    def __init__(self, encode_one: Callable[[str], Ids], dtype: IdType) -> None:
        self._encode_one = encode_one
        self._dtype = dtype

    def encode(self, texts: Sequence[str]) -> Encoded:
        parts = [self._encode_one(text) for text in texts]
        if not parts:
            return Encoded(np.empty(0, self._dtype), np.zeros(1, np.int64))
        offsets = _offsets(np.fromiter(map(len, parts), np.int64, len(parts)))
        return Encoded(np.concatenate(parts, dtype=self._dtype, casting="unsafe"), offsets)


class _Joining:
    """Encodes many short texts as one, joined by the separator, and longer ones one by one."""

    def __init__(
        self, encode_one: Callable[[str | bytes], Ids], blueprint: Blueprint, separator: tuple[str, int]
    ) -> None:
        self._single = _OneByOne(encode_one, blueprint.dtype)
        self._encode_one = encode_one
        self._dtype = blueprint.dtype
        self._character, self._id = separator

    def encode(self, texts: Sequence[str]) -> Encoded:
        mean = sum(map(len, texts)) // max(1, len(texts))
        if len(texts) < 2 or mean >= _JOIN_BELOW:
            return self._single.encode(texts)
        size = max(2, _JOINED_CHARACTERS // (mean + 1))
        groups = [self._group(texts[start : start + size]) for start in range(0, len(texts), size)]
        if len(groups) == 1:
            return groups[0]
        lengths = np.concatenate([np.diff(group.offsets) for group in groups])
        return Encoded(np.concatenate([group.ids for group in groups]), _offsets(lengths))

    def _join(self, texts: Sequence[str]) -> str | bytes:
        # One character beyond ASCII would widen the whole joined text, only to be narrowed to UTF-8 again.
        if all(map(str.isascii, texts)):
            return self._character.join(texts)
        return self._character.encode().join([text.encode() for text in texts])

    def _group(self, texts: Sequence[str]) -> Encoded:
        ids = self._encode_one(self._join(texts)).astype(self._dtype)
        kept = ids != self._id
        at = np.flatnonzero(~kept)
        # More separators than we put in: a text holds one itself.
        if len(at) != len(texts) - 1:
            return self._single.encode(texts)
        offsets = np.empty(len(texts) + 1, np.int64)
        offsets[0], offsets[-1] = 0, len(ids) - len(at)
        offsets[1:-1] = at - np.arange(len(at))
        return Encoded(ids[kept], offsets)


class _Fastokens:
    """The `fastokens` package, whose batch call gives flat buffers."""

    def __init__(self, tokenizer: Any, dtype: IdType) -> None:
        self._tokenizer = tokenizer
        self._dtype = dtype

    def encode(self, texts: Sequence[str]) -> Encoded:
        ids, offsets = self._tokenizer.encode_batch_flat(list(texts))
        flat = np.frombuffer(ids, np.uint32).astype(self._dtype)
        return Encoded(flat, np.frombuffer(offsets, np.uint64).astype(np.int64))


def _gigatoken(blueprint: Blueprint) -> Engine:
    import gigatoken

    if blueprint.document:
        tokenizer = gigatoken.Tokenizer.from_json(blueprint.document())
    elif blueprint.ranks:
        tokenizer = _gigatoken_from_ranks(blueprint.ranks())
    else:
        raise ValueError("needs a tokenizer.json or ranks")
    # `encode` on the backend: `encode_batch` imports awkward, 50 MB and a quarter second in every process.
    encode_one: Callable[[str | bytes], Ids] = tokenizer.backend.encode
    if blueprint.separator:
        return _Joining(encode_one, blueprint, blueprint.separator)
    return _OneByOne(encode_one, blueprint.dtype)


def _gigatoken_from_ranks(table: Ranks) -> Any:
    import tempfile
    from base64 import b64encode
    from pathlib import Path

    import gigatoken

    schemes = {"gpt2": "gpt2", "r50k_base": "gpt2", "cl100k_base": "gpt4", "o200k_base": "o200k"}
    if table.name not in schemes:
        raise ValueError(f"has no split rule for {table.name}")
    lines = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in table.ranks.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranks.tiktoken"
        path.write_bytes(lines)
        return gigatoken.Tokenizer.from_tiktoken(path, schemes[table.name], dict(table.specials))


def _fastokens(blueprint: Blueprint) -> Engine:
    # One thread per process: workers are the parallelism, and the pool reads this once.
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    import fastokens

    if not blueprint.document:
        raise ValueError("needs a tokenizer.json")
    return _Fastokens(fastokens.Tokenizer.from_json_str(blueprint.document()), blueprint.dtype)


def _tiktoken(blueprint: Blueprint) -> Engine:
    import tiktoken

    if not blueprint.ranks:
        raise ValueError("needs tiktoken ranks")
    table = blueprint.ranks()
    encoding = tiktoken.Encoding(
        table.name,
        pat_str=table.pattern,
        mergeable_ranks=dict(table.ranks),
        special_tokens=dict(table.specials),
    )

    # A lone surrogate must not become U+FFFD, so tiktoken never sees one.
    def encode_one(text: str) -> Ids:
        if not text.isascii():
            text.encode()
        return encoding.encode_to_numpy(text, allowed_special="all")

    return _OneByOne(encode_one, blueprint.dtype)


def _tokenizers(blueprint: Blueprint) -> Engine:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    if not blueprint.document:
        raise ValueError("needs a tokenizer.json")
    tokenizer = Tokenizer.from_str(blueprint.document())

    def encode_one(text: str) -> Ids:
        return np.array(tokenizer.encode(text, add_special_tokens=False).ids, blueprint.dtype)

    return _OneByOne(encode_one, blueprint.dtype)


# Fastest first; the reference of a blueprint is always tried last.
BUILDERS: dict[str, Callable[[Blueprint], Engine]] = {
    "gigatoken": _gigatoken,
    "fastokens": _fastokens,
    "tiktoken": _tiktoken,
    "tokenizers": _tokenizers,
}


ANOTHER = "; choose another with data.engine"


@contextmanager
def engine_errors(engine: str, blueprint: Blueprint, *, advice: str = "") -> Generator[None]:
    """Whatever an engine raises, panics of Rust included, becomes a TokenizerError that names the engine."""
    try:
        yield
    except (TokenizerError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as cause:
        # Engines are foreign code: a panic of a Rust extension is a BaseException, not an Exception.
        # What follows an empty line is a place in the engine's own source.
        why = str(cause).partition("\n\n")[0] or type(cause).__name__
        raise TokenizerError(f"the tokenizer engine {engine} failed on {blueprint.name}: {why}{advice}") from cause


def build_engine(name: str, blueprint: Blueprint, *, advice: str = ANOTHER) -> Engine:
    """The named engine, unchecked; a TokenizerError when it is unknown, not installed or does not fit."""
    if name not in BUILDERS:
        raise TokenizerError(f"unknown tokenizer engine {name!r}; known are auto, {', '.join(BUILDERS)}")
    if find_spec(name) is None:
        raise TokenizerError(f"the tokenizer engine {name} is not installed; run: pip install {name}")
    with engine_errors(name, blueprint, advice=advice):
        return BUILDERS[name](blueprint)
