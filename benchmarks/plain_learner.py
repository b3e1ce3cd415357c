"""The pattern learner in plain Python: dictionaries and hashlib, in memory, one process; baseline and oracle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from itertools import count, pairwise
from typing import Literal

from headway.learners.patterns.naming import python_repr

# A level of width 1 above level 0 learns nothing and hands the empty string upward. As an index, -1 is the last
# entry of the level's pieces, which is where the piece of the empty string is kept.
NOTHING = -1

Key = tuple[int, ...]
Cut = Callable[[list[int]], list[Key]]


@dataclass(frozen=True, slots=True)
class Sentences:
    """How level 0 cuts a segment at the ends of sentences; `rule` follows the family of the tokenizer."""

    shortest: int = 3
    rule: Literal["gpt2", "bert", "other"] = "gpt2"


class _Level:
    """The patterns of one level: each distinct key has an index, in order of appearance, and a frequency."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.index: defaultdict[Key, int] = defaultdict(count().__next__)
        self.frequency: Counter[int] = Counter()

    def learn(self, keys: Iterable[Key]) -> list[int]:
        indices = list(map(self.index.__getitem__, keys))
        self.frequency.update(indices)
        return indices


class PlainLearner:
    """Learns documents, each a list of segments of token ids, and knows every pattern's exact name and frequency."""

    def __init__(
        self, symbols: Sequence[str], *, widths: Sequence[int] = (5, 7, 9), sentences: Sentences | None = None
    ) -> None:
        self.symbols = symbols
        self.levels = [_Level(width) for width in widths]
        self._cut: Cut = _chunker(widths[0]) if sentences is None else _sentence_cutter(symbols, sentences)

    def learn(self, segments: Iterable[list[int]]) -> None:
        """Learns one document at every level."""
        keys = [key for segment in segments for key in self._cut(segment)]
        indices = self.levels[0].learn(keys)
        for level in self.levels[1:]:
            nothing = level.width == 1
            indices = [NOTHING] * len(indices) if nothing else level.learn(groups(indices, level.width))

    def names(self) -> list[list[str]]:
        """Per level the 40-digit names of its patterns, in order of appearance; each distinct pattern is named once."""
        pieces = [f"[{python_repr(symbol)}]".encode() for symbol in self.symbols]
        named: list[list[str]] = []
        for level in self.levels:
            names = [_name(key, pieces) for key in level.index]
            named.append(names)
            pieces = [b"['PTRN|%b']" % name.encode() for name in names]
            pieces.append(b"['']")
        return named

    def rows(self) -> list[list[tuple[str, int, int]]]:
        """Per level (name, frequency, length) of every pattern, sorted by name."""
        return [
            sorted(
                (f"PTRN|{name}", level.frequency[index], len(key))
                for (key, index), name in zip(level.index.items(), names, strict=True)
            )
            for level, names in zip(self.levels, self.names(), strict=True)
        ]


def _name(key: Key, pieces: list[bytes]) -> str:
    return sha1(b"[" + b", ".join([pieces[symbol] for symbol in key]) + b"]").hexdigest()


def groups(indices: list[int], width: int) -> Iterator[Key]:
    """Cuts the names of the level below into pieces of `width` > 1; a rest of two or more is a piece, one is lost."""
    # Copies of one iterator make zip read `width` names at a time.
    yield from zip(*[iter(indices)] * width)  # noqa: B905
    rest = len(indices) % width
    if rest > 1:
        yield tuple(indices[-rest:])


def chunks(segment: list[int], width: int) -> list[Key]:
    """Cuts a segment into chunks of `width`; a rest of one or two joins the last chunk, none is under two long."""
    size = len(segment)
    if size <= width:
        return [tuple(segment)] if size >= 3 else []
    # The last chunk starts at the first multiple of the width that leaves at most two symbols over.
    last = max(0, -(-(size - width - 2) // width)) * width
    whole = [] if width == 1 else list(zip(*[iter(segment[:last])] * width))  # noqa: B905
    whole.append(tuple(segment[last:]))
    return whole


def _chunker(width: int) -> Cut:
    return lambda segment: chunks(segment, width)


def _sentence_cutter(symbols: Sequence[str], sentences: Sentences) -> Cut:
    enders = frozenset(index for index, symbol in enumerate(symbols) if symbol in (".", "!", "?"))
    starters = frozenset(index for index, symbol in enumerate(symbols) if _starts_sentence(symbol, sentences.rule))
    shortest = max(2, sentences.shortest)

    def cut(segment: list[int]) -> list[Key]:
        ends = [
            place + 1
            for place, symbol in enumerate(segment[:-1])
            if symbol in enders and segment[place + 1] in starters
        ]
        bounds = [0, *ends, len(segment)]
        pieces = (tuple(segment[start:end]) for start, end in pairwise(bounds))
        return [piece for piece in pieces if len(piece) >= shortest]

    return cut


def _starts_sentence(symbol: str, rule: str) -> bool:
    if rule == "bert":
        return not symbol.startswith("##")
    if rule == "gpt2":
        return symbol.startswith(("Ġ", "Â"))
    return symbol.startswith((" ", "Ġ", "Â")) or symbol[:1].isupper()
