"""Text into the tokens of verse: words, marks, breaks of lines and stanzas, emoji; each with its place in the text.

The text itself is never changed: places count its own characters, only symbols have Unicode's form NFC. A word keeps
its case, its apostrophes and hyphens (o'er, well-worn): what a table of vectors calls it is the look-up's business. But
endings that such tables hold as words of their own ('s, 'd, 'll) are tokens, since nearly every name or verb can have
them, and together with them it would be a rare word that no table knows.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from headway.errors import DataError

PAD, UNKNOWN, MASK = "<PAD>", "<UNK>", "<MASK>"
LINE_BREAK, STANZA_BREAK = "<LINE_BREAK>", "<STANZA_BREAK>"
POEM_START, POEM_END = "<POEM_START>", "<POEM_END>"
_EMOJI = {
    "<HEART>": "\u2661\u2665\u2763-\u2765\U0001f493-\U0001f49f\U0001f5a4\U0001f90d\U0001f90e\U0001f9e1"
    "\U0001fa75-\U0001fa77",
    "<CLOUD>": "\u2601\u26c5\u26c8\U0001f324-\U0001f329",
    "<STAR>": "\u2605\u2606\u2726-\u2730\u2b50\U0001f31f\U0001f320\U0001f4ab",
    "<FLOWER>": "\u2698\u273f-\u2741\U0001f337-\U0001f33c\U0001f3f5\U0001f490\U0001f4ae\U0001f940\U0001fab7\U0001fabb",
    "<TEAR>": "\U0001f4a7\U0001f622\U0001f62d\U0001f63f\U0001f972",
    "<FIRE>": "\U0001f525",
}
SPECIALS = (PAD, UNKNOWN, MASK, LINE_BREAK, STANZA_BREAK, POEM_START, POEM_END, *_EMOJI)
# The number rises when any text would get other tokens.
DIGEST = hashlib.sha256(b"headway verse 1").hexdigest()
BLOCK_CHARACTERS = 1 << 20

_BREAKING = "\n\v\f\r\x85\u2028\u2029"
_SPACING = "\t\x1c- \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
# Marks, symbols and pictures that Unicode has added since 3.2; the rest is asked of Python.
_NEWER_MARKS = (
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2190-\u245f\u2500-\u2bff\u2e00-\u2e7f\ufe10-\ufe19\U0001f000-\U0001faff"
)
_PICTURES = "\xa9\xae\u2190-\u2bff\u3030\u303d\U0001f000-\U0001faff"
# Accents, variation selectors, joiners, skin tones, tags: they belong to the character before them.
_EXTENDING = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
APOSTROPHES = "'\u2019\u02bc"
ENDINGS = "s|d|ll|re|ve|m|st"
_ELISIONS = (
    "tis|twas|twere|twill|twould|twixt|tween|gainst|neath|mongst|midst|mid|em|gan|pon|bove|bout|scape|scaped|larum"
)
_BEFORE_WORDS = '\\s(\\[\u201c\u2018"\u2014-'
_CUT = re.compile(r"\s(?=\S)")
_LINE = re.compile(f"\r\n|[{_BREAKING}]")


class Piece(NamedTuple):
    """A token: its symbol, and the characters of the text it stands for."""

    symbol: str
    start: int
    end: int


def pieces(text: str) -> list[Piece]:
    """The tokens of a poem in order; every character but white space belongs to exactly one."""
    found = [Piece(symbol_of(match[0]), match.start(), match.end()) for match in _token().finditer(text)]
    return [Piece(POEM_START, 0, 0), *found, Piece(POEM_END, len(text), len(text))]


def rebuild(text: str, found: Sequence[Piece]) -> str:
    """The text, made of its tokens and the gaps between them; a DataError when the tokens are not those of it."""
    made: list[str] = []
    at = 0
    for piece in found:
        gap, own = text[at : piece.start], text[piece.start : piece.end]
        if not at <= piece.start <= piece.end or gap.strip() or (own and symbol_of(own) != piece.symbol):
            raise DataError(f"token {piece.symbol!r} does not stand at {piece.start}:{piece.end}; tokenize it again")
        made += (gap, own)
        at = piece.end
    if text[at:].strip():
        raise DataError(f"the text has no token from character {at}; tokenize it again")
    return "".join(made) + text[at:]


def spellings(text: str) -> Iterator[list[str]]:
    """The tokens as the text writes them, about a million characters at a time."""
    find, start = _token().findall, 0
    while start < len(text):
        # Before a character that follows white space no token can be cut in two.
        cut = _CUT.search(text, start + BLOCK_CHARACTERS)
        stop = cut.end() if cut else len(text)
        yield find(text, start, stop)
        start = stop


def symbol_of(spelling: str) -> str:
    """What a token is called that the text writes like this."""
    if spelling[0] in _BREAKING:
        return STANZA_BREAK if len(_LINE.findall(spelling)) > 1 else LINE_BREAK
    return _class_of().get(spelling[0]) or unicodedata.normalize("NFC", spelling)


@cache
def _class_of() -> dict[str, str]:
    """The class of each emoji that has one, by the first character of its cluster."""
    every = "".join(map(chr, range(0x2600, 0x2C00))) + "".join(map(chr, range(0x1F300, 0x1FB00)))
    return {sign: name for name, signs in _EMOJI.items() for sign in re.findall(f"[{signs}]", every)}


@cache
def _token() -> re.Pattern[str]:
    """One token of any kind; possessive throughout, so that no text takes more than one pass."""
    marks = _marks()
    # Whatever is neither white space nor a mark is part of a word.
    word = f"[^{_BREAKING}{_SPACING}{HAN}{marks}]"
    # Looking back comes after the character itself: most places fail on that already.
    apostrophe, after_none = f"[{APOSTROPHES}]", f"(?<!{word}[{APOSTROPHES}])"
    # An ending ends the word: in death's-head it does not.
    ending = f"(?i:{ENDINGS})(?![-{APOSTROPHES}]?{word})"
    inner = f"-|{apostrophe}(?!{ending})|[.,:](?<=[0-9][.,:])(?=[0-9])"
    whole = f"{word}++(?:(?:{inner}){word}++)*+"
    elision = f"{apostrophe}{after_none}(?=(?i:{_ELISIONS})(?!{word}))"
    # A typographic apostrophe that begins a word is no quote, since those are turned the other way.
    typographic = f"\u2019(?<![^{_BEFORE_WORDS}]\u2019)(?={word})"
    line = f"(?>\r\n|[{_BREAKING}])"
    kinds = (
        f"(?:[Tt]h|[Oo]){apostrophe}(?!{word})",
        whole,
        f"{line}(?:[{_SPACING}]*+{line})*+",
        f"{apostrophe}(?<={word}[{APOSTROPHES}]){ending}",
        f"(?:{elision}|{typographic}){whole}",
        r"\.\.\.|--|[\U0001f1e6-\U0001f1ff]{2}",
        f"[{HAN}{marks}](?:[{_EXTENDING}]|(?<=\u200d)[{_PICTURES}])*+",
    )
    return re.compile("|".join(kinds))


def _marks() -> str:
    """Every mark and symbol, as the inside of a character class.

    Of Unicode 3.2, which every Python has unchanged: the tokens must not depend on the version that runs.
    """
    category = unicodedata.ucd_3_2_0.category
    old = "".join(chr(code) if category(chr(code))[0] in "PS" else " " for code in range(0x10000))
    runs = (run for run in old.split(" ") if run)
    return "".join(f"{re.escape(run[0])}-{re.escape(run[-1])}" for run in runs) + _NEWER_MARKS
