"""Tokens of verse as text for people; where spaces were is guessed from the marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headway.data.verse import APOSTROPHES, ENDINGS, HAN, LINE_BREAK, PAD, POEM_END, POEM_START, STANZA_BREAK

_BREAKS = {LINE_BREAK: "\n", STANZA_BREAK: "\n\n"}
_UNSEEN = frozenset((PAD, POEM_START, POEM_END))
_SHOWN = {
    "<HEART>": "\u2764\ufe0f",
    "<CLOUD>": "\u2601\ufe0f",
    "<STAR>": "\u2b50",
    "<FLOWER>": "\U0001f338",
    "<TEAR>": "\U0001f4a7",
    "<FIRE>": "\U0001f525",
}
_TO_WORD_BEFORE = frozenset(".,;:!?)]}%\u2026\u2019\u201d\u203a\u00bb") | {"..."}
_TO_WORD_AFTER = frozenset("([{$\u00a1\u00a3\u00bf\u00ab\u2018\u201c\u201e\u2039\u20ac")
_TO_BOTH = frozenset(("/", "--", "\u2014"))
_ENDING = re.compile(f"[{APOSTROPHES}](?i:{ENDINGS})")
_WITHOUT_SPACES = re.compile(f"[{HAN}\u3000-\u30ff\uff00-\uff60]")


def written(symbols: Iterable[str]) -> str:
    """Breaks are ends of lines, marks stand at their words, what only frames a poem vanishes; <UNK> and <MASK> show."""
    made: list[str] = []
    unclosed: set[str] = set()
    last, is_tight = "", True
    for symbol in symbols:
        if symbol in _BREAKS:
            made.append(_BREAKS[symbol])
            last, is_tight = "", True
            # Speech that goes on in the next stanza opens its quotes anew.
            unclosed = unclosed if symbol == LINE_BREAK else set()
        elif symbol not in _UNSEEN:
            joins_last, joins_next = _sides(symbol, last, unclosed)
            made += ("" if is_tight or joins_last else " ", _SHOWN.get(symbol, symbol))
            last, is_tight = symbol, joins_next
    return "".join(made)


def _sides(symbol: str, last: str, unclosed: set[str]) -> tuple[bool, bool]:
    """Whether no space comes before a symbol, and none after it."""
    if symbol in ("'", '"'):
        return _quote(symbol, last, unclosed)
    if symbol in _TO_BOTH:
        return True, True
    no_spaces = _WITHOUT_SPACES.match(symbol) and _WITHOUT_SPACES.match(last)
    joins_last = symbol in _TO_WORD_BEFORE or _ENDING.fullmatch(symbol) or no_spaces
    return bool(joins_last), symbol in _TO_WORD_AFTER


def _quote(symbol: str, last: str, unclosed: set[str]) -> tuple[bool, bool]:
    """A straight quote closes what it opened; after a word the single one is an apostrophe: lovers' eyes."""
    if symbol in unclosed:
        unclosed.discard(symbol)
        return True, False
    if symbol == "'" and last[-1:].isalnum():
        return True, False
    unclosed.add(symbol)
    return False, True
