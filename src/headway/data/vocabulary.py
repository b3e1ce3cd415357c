"""The symbols behind token ids, and how they spell text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, Self, get_args

from headway.data.written import written
from headway.errors import DataError

Spelling = Literal["bytes", "words", "metaspace", "wordpiece", "plain", "verse"]
FORMAT = 1
_BYTE_SYMBOLS = re.compile("(?:<0x[0-9A-F]{2}>)+")


@cache
def byte_alphabet() -> tuple[str, ...]:
    """The printable character that stands for each byte 0..255 in byte-level token strings."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in shown else next(spare)) for byte in range(256))


@cache
def _byte_of() -> dict[str, bytes]:
    return {character: bytes([byte]) for byte, character in enumerate(byte_alphabet())}


def spell_bytes(token: bytes) -> str:
    """The byte-level token string of some bytes: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_alphabet_table())


@cache
def _alphabet_table() -> dict[int, str]:
    return dict(enumerate(byte_alphabet()))


def unspell_bytes(symbol: str) -> bytes:
    """The bytes of a byte-level token string; a character outside the alphabet stands for its own UTF-8."""
    table = _byte_of()
    return b"".join(table.get(character) or character.encode("utf-8", "surrogatepass") for character in symbol)


def _join_metaspace(text: str) -> str:
    spaced = text.replace("\u2581", " ").removeprefix(" ")
    return _BYTE_SYMBOLS.sub(
        lambda run: bytes.fromhex(run[0][3:-1].replace("><0x", "")).decode("utf-8", "replace"), spaced
    )


@dataclass(frozen=True)
class Vocabulary:
    """Symbol of every id, in order, and how symbols join to text; it needs no tokenizer."""

    symbols: list[str]
    spelling: Spelling
    specials: int = 0
    """How many of the first symbols are set by the tokenizer and never stand for words of a text."""

    def __len__(self) -> int:
        return len(self.symbols)

    @cached_property
    def index(self) -> dict[str, int]:
        """Id of every symbol."""
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the symbols in order, their spelling, and how many are special."""
        special = [self.specials] if self.specials else []
        return hashlib.sha256(json.dumps([self.spelling, self.symbols, *special]).encode()).hexdigest()

    def decode(self, ids: Iterable[int]) -> str:
        """The text these ids stand for; bytes that are no UTF-8 are shown as U+FFFD."""
        return self.join(self.symbols[number] for number in ids)

    def join(self, symbols: Iterable[str]) -> str:
        """The text these symbols stand for."""
        if self.spelling == "bytes":
            return b"".join(map(unspell_bytes, symbols)).decode("utf-8", "replace")
        if self.spelling == "words":
            return " ".join(symbols)
        if self.spelling == "verse":
            return written(symbols)
        if self.spelling == "wordpiece":
            return " ".join(symbols).replace(" ##", "")
        text = "".join(symbols)
        return _join_metaspace(text) if self.spelling == "metaspace" else text

    def to_json(self) -> dict[str, Any]:
        """A JSON-able value from which `from_json` makes an equal vocabulary."""
        value: dict[str, Any] = {"format": FORMAT, "spelling": self.spelling, "symbols": self.symbols}
        return value | {"specials": self.specials} if self.specials else value

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The vocabulary `to_json` described; a DataError when it is something else."""
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise DataError(f"not a vocabulary of format {FORMAT}; it was written by another version, or is damaged")
        symbols: Any = value.get("symbols")
        spelling: Any = value.get("spelling")
        if spelling not in get_args(Spelling):
            raise DataError(f"the vocabulary has spelling {spelling!r}, known are {', '.join(get_args(Spelling))}")
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise DataError("the vocabulary has no list of symbols; the file is damaged")
        specials: Any = value.get("specials", 0)
        if type(specials) is not int or not 0 <= specials <= len(symbols):
            raise DataError(f"the vocabulary has {specials!r} special symbols of {len(symbols)}; the file is damaged")
        return cls(symbols, spelling, specials)
