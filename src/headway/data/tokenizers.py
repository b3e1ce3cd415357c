"""Tokenizers by name: GPT-2, any tokenizer.json, tiktoken encodings, words, verse, bytes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.data import verse
from headway.data.blueprints import Blueprint, IdType, find_blueprint
from headway.data.engine_check import Choice, choose_engine
from headway.data.engines import ANOTHER, Encoded, Engine, build_engine, engine_errors
from headway.data.vocabulary import Vocabulary, byte_alphabet
from headway.errors import TokenizerError

__all__ = ["Encoded", "Tokenizer", "is_own", "load_own", "load_tokenizer", "remap", "select_engine", "unite"]

_OWN = ("words", "verse", "bytes")


class Tokenizer(Protocol):
    """Turns texts into token ids; the same texts always give the same ids."""

    name: str
    digest: str
    engine: str
    dtype: IdType
    growing: bool
    base: Vocabulary | None
    """What every vocabulary of a growing one begins with; None when it does not grow."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """Symbols of all ids; None while the texts decide (growing)."""
        ...

    @property
    def symbols(self) -> list[str]:
        """Symbols in the order of the ids given so far."""
        ...

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Ids of all texts, flat, and where each text starts."""
        ...

    def start_over(self) -> None:
        """Forget the symbols met, if growing."""
        ...


def is_own(spec: str) -> bool:
    """Whether a plan names a tokenizer of ours, which has no engines."""
    return spec in _OWN or spec.startswith("words:")


def load_own(spec: str) -> Tokenizer:
    """The tokenizer of ours that a plan names."""
    if spec == "verse":
        return VerseTokenizer()
    return BytesTokenizer() if spec == "bytes" else WordsTokenizer(spec)


def load_tokenizer(spec: str, *, engine: str = "auto", folder: Path) -> Tokenizer:
    """The tokenizer a plan names; `auto` checks engines against the reference on fixed texts, a name is trusted."""
    if is_own(spec):
        return load_own(spec)
    blueprint = find_blueprint(spec, folder=folder)
    name = choose_engine(blueprint).engine if engine == "auto" else engine
    return ModelTokenizer(blueprint, build_engine(name, blueprint), name)


def select_engine(
    spec: str, *, engine: str = "auto", folder: Path, sample: Sequence[str] = (), loaded: Tokenizer | None = None
) -> Choice:
    """The engine to give `load_tokenizer`, checked on a sample of the corpus, and why each faster one was refused.

    A tokenizer of this spec that is `loaded` already lends its engine to the check.
    """
    if is_own(spec):
        if engine not in ("auto", "python"):
            raise TokenizerError(f"data.engine = {engine!r} has no effect on {spec!r}; remove it")
        return Choice("python")
    if isinstance(loaded, ModelTokenizer):
        return choose_engine(loaded.blueprint, wanted=engine, sample=sample, loaded={loaded.engine: loaded.runner})
    return choose_engine(find_blueprint(spec, folder=folder), wanted=engine, sample=sample)


class ModelTokenizer:
    """A tokenizer with a fixed vocabulary, run by an engine."""

    growing = False
    base: Vocabulary | None = None

    def __init__(self, blueprint: Blueprint, engine: Engine, engine_name: str) -> None:
        self.blueprint = blueprint
        self.runner = engine
        self.name = blueprint.name
        self.digest = blueprint.digest
        self.dtype = blueprint.dtype
        self.engine = engine_name

    @property
    def vocabulary(self) -> Vocabulary:
        """Symbols of all ids."""
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return self.blueprint.vocabulary()

    @property
    def symbols(self) -> list[str]:
        """Symbols of all ids."""
        return self.vocabulary.symbols

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Ids of all texts, flat, and where each text starts."""
        try:
            with engine_errors(self.engine, self.blueprint, advice=ANOTHER):
                return self.runner.encode(texts)
        except TokenizerError:
            _refuse_surrogates(texts)
            raise

    def start_over(self) -> None:
        """Nothing to forget."""


class BytesTokenizer:
    """One token per byte of UTF-8."""

    growing = False
    base: Vocabulary | None = None
    name = "bytes"
    engine = "python"
    dtype: IdType = np.uint16
    digest = hashlib.sha256(b"headway bytes 1").hexdigest()

    @property
    def vocabulary(self) -> Vocabulary:
        """The 256 bytes, spelled as in byte-level tokenizers."""
        return Vocabulary(list(byte_alphabet()), "bytes")

    @property
    def symbols(self) -> list[str]:
        """Symbols of all ids."""
        return self.vocabulary.symbols

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Ids of all texts, flat, and where each text starts."""
        _refuse_surrogates(texts)
        joined = "".join(texts)
        lengths = map(len, texts) if joined.isascii() else (len(text.encode()) for text in texts)
        ids = np.frombuffer(joined.encode(), np.uint8).astype(self.dtype)
        return Encoded(ids, _offsets(lengths, len(texts)))

    def start_over(self) -> None:
        """Nothing to forget."""


class _Numbers(dict[str, int]):
    """Word to number, in order of first appearance."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class WordsTokenizer:
    """Runs of non-spaces, or the matches of an expression; ids are local until parts are united."""

    growing = True
    base: Vocabulary | None = Vocabulary([], "words")
    vocabulary: Vocabulary | None = None
    engine = "python"
    dtype: IdType = np.uint32

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._numbers = _Numbers()
        _, given, pattern = spec.partition(":")
        self._split: Callable[[str], Iterable[str]] = _word_finder(pattern) if given else str.split
        # \w and \d follow the Unicode version of the running Python; another version may split otherwise.
        version = unicodedata.unidata_version if given else ""
        self.digest = hashlib.sha256(f"headway words 1\0{spec}\0{version}".encode()).hexdigest()

    @property
    def symbols(self) -> list[str]:
        """Words in the order of the ids given since the start."""
        return list(self._numbers)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Local ids of all texts, flat, and where each text starts."""
        _refuse_surrogates(texts)
        words = [list(self._split(text)) for text in texts]
        offsets = _offsets(map(len, words), len(words))
        number = self._numbers.__getitem__
        return Encoded(np.fromiter(map(number, chain.from_iterable(words)), self.dtype, int(offsets[-1])), offsets)

    def start_over(self) -> None:
        """Forget all words, so that the next part begins at id 0."""
        self._numbers = _Numbers()


class _Spellings(dict[str, int]):
    """Token as a text writes it to number; several spellings may share the number of one symbol."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = _Numbers({symbol: number for number, symbol in enumerate(verse.SPECIALS)})

    def __missing__(self, spelling: str) -> int:
        number = self[spelling] = self.numbers[verse.symbol_of(spelling)]
        return number


class VerseTokenizer:
    """The tokens of verse, each text a poem; special symbols have fixed ids, words have local ones until united."""

    growing = True
    base: Vocabulary | None = Vocabulary(list(verse.SPECIALS), "verse", len(verse.SPECIALS))
    vocabulary: Vocabulary | None = None
    name = "verse"
    engine = "python"
    dtype: IdType = np.uint32
    digest = verse.DIGEST

    def __init__(self) -> None:
        self._spellings = _Spellings()

    @property
    def symbols(self) -> list[str]:
        """Special symbols, then words in the order of the ids given since the start."""
        return list(self._spellings.numbers)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Local ids of all texts, flat, and where each text starts."""
        _refuse_surrogates(texts)
        number = self._spellings.__getitem__
        start, end = (np.array([verse.SPECIALS.index(mark)], self.dtype) for mark in (verse.POEM_START, verse.POEM_END))
        blocks = [np.zeros(0, self.dtype)]
        lengths: list[int] = []
        for text in texts:
            found = [np.fromiter(map(number, block), self.dtype, len(block)) for block in verse.spellings(text)]
            blocks += (start, *found, end)
            lengths.append(2 + sum(map(len, found)))
        return Encoded(np.concatenate(blocks), _offsets(lengths, len(lengths)))

    def start_over(self) -> None:
        """Forget all words, so that the next part begins with the special symbols only."""
        self._spellings = _Spellings()


def unite(parts: Iterable[Iterable[str]], base: Vocabulary | None = None) -> Vocabulary:
    """One vocabulary of all parts: the base, then words by code point; the same whatever the parts and their order."""
    base = base or Vocabulary([], "words")
    return replace(base, symbols=base.symbols + sorted(set().union(*parts).difference(base.symbols)))


def remap(symbols: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """The united id of every local id."""
    return np.fromiter(map(vocabulary.index.__getitem__, symbols), np.uint32, len(symbols))


def _offsets(lengths: Iterable[int], count: int) -> NDArray[np.int64]:
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=offsets[1:])
    return offsets


def _word_finder(pattern: str) -> Callable[[str], Iterable[str]]:
    try:
        compiled = re.compile(pattern)
    except re.error as cause:
        raise TokenizerError(f"data.tokenizer = 'words:{pattern}' is not a regular expression: {cause}") from cause
    if compiled.match("") is not None:
        raise TokenizerError(f"data.tokenizer = 'words:{pattern}' matches the empty text; use + instead of *")
    if compiled.groups:
        return lambda text: (word for match in compiled.finditer(text) if (word := match.group()))
    return lambda text: filter(None, compiled.findall(text))


def _refuse_surrogates(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        try:
            if not text.isascii():
                text.encode()
        except UnicodeEncodeError as cause:
            character = f"a lone surrogate U+{ord(text[cause.start]):04X} at character {cause.start}"
            raise TokenizerError(f"text {number} of the batch has {character}; repair or drop that document") from cause
