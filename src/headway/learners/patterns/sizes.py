"""What a memory takes on disk beside the text it was made from; measured sizes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.data.vocabulary import Vocabulary, unspell_bytes
from headway.learners.patterns.frequencies import LevelReading, Numbers, growth, read_level

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory

_MOST_16 = 1 << 16


def token_bytes(vocabulary: Vocabulary) -> Numbers | None:
    """The bytes of UTF-8 that each token stands for; None where tokens do not keep every byte of a text."""
    if vocabulary.spelling != "bytes":
        return None
    return np.array([len(unspell_bytes(symbol)) for symbol in vocabulary.symbols], np.int64)


def analysis(memory: Memory) -> dict[str, Any]:
    """Frequencies and sizes of every level, ready for JSON."""
    known = token_bytes(memory.vocabulary)
    readings = [read_level(level.store, None if level.number else known) for level in memory.levels]
    levels = [
        {
            "level": level.number,
            "frequencies": reading.frequencies.summary(),
            "growth": [{"observed": observed, "unique": unique} for observed, unique in growth(level.store)],
        }
        for level, reading in zip(memory.levels, readings, strict=True)
    ]
    return {"levels": levels, "sizes": _sizes(memory, readings)}


def _sizes(memory: Memory, readings: Sequence[LevelReading]) -> dict[str, Any]:
    """Bytes beside those of what level 0 learned, which is what all levels stand for."""
    tokens = readings[0].symbols_observed
    raw = {
        "utf8": readings[0].text_bytes,
        "tokens16": 2 * tokens if len(memory.vocabulary) <= _MOST_16 else None,
        "tokens32": 4 * tokens,
    }
    held = sum(level.bytes for level in memory.levels)
    return {
        "tokens": tokens,
        "raw_bytes": raw,
        "bytes": held,
        "shares": {name: held / size if size else None for name, size in raw.items()},
        "levels": [_level(memory, readings, number, raw) for number in range(len(readings))],
    }


def _level(memory: Memory, readings: Sequence[LevelReading], number: int, raw: dict[str, int | None]) -> dict[str, Any]:
    level, found = memory.levels[number], readings[number].frequencies
    above = readings[number + 1].symbols if number + 1 < len(readings) else None
    return {
        "level": number,
        "bytes": level.bytes,
        "shares": {name: level.bytes / size if size else None for name, size in raw.items()},
        "deduplication": found.observed / found.unique if found.unique else None,
        # The top has nothing above it, by definition.
        "reuse": above / found.unique if above is not None and found.unique else None,
    }
