"""Which vector a word has: how it is looked up, and what stands in for one that is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xxhash
from numpy.typing import NDArray

from headway.data.vectors.table import Vectors

Policy = Literal["random", "mean", "unk", "zero", "drop"]
Singles = NDArray[np.float32]

# Where a word was found, in the order of trying.
STEPS = ("exact", "lower", "apostrophe", "stripped")
ABSENT = "absent"
_APOSTROPHES = ("'", "\u2019", "\u02bc")
_OUTER = "\"'`.,;:!?()[]{}<>*_-\u2013\u2014\u2018\u2019\u201c\u201d\u2026"


@dataclass(frozen=True, slots=True)
class Lookup:
    """One vector for each word, and where each came from."""

    matrix: Singles
    steps: tuple[str, ...]
    """Of each word: one of STEPS, or ABSENT."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which words have a vector of the table."""
        return np.array([step != ABSENT for step in self.steps], bool)

    def counts(self, tokens: Sequence[int]) -> dict[str, dict[str, int]]:
        """Types and tokens by step; `tokens` says how often each word occurs."""
        types, occurrences = Counter(self.steps), Counter[str]()
        for step, number in zip(self.steps, tokens, strict=True):
            occurrences[step] += number
        return {step: {"types": types[step], "tokens": occurrences[step]} for step in (*STEPS, ABSENT)}


def variants(word: str) -> Iterator[tuple[str, str]]:
    """A word and the forms it may stand in a table under, each with its step."""
    yield "exact", word
    yield "lower", word.lower()
    for apostrophe in _APOSTROPHES:
        if any(other in word for other in _APOSTROPHES):
            yield "apostrophe", _with(word.lower(), apostrophe)
    yield "stripped", _with(word.lower(), "'").strip(_OUTER)


def wanted(words: Sequence[str]) -> frozenset[str]:
    """Every form of these words that a table may hold."""
    return frozenset(form for word in words for _, form in variants(word) if form)


def look_up(vectors: Vectors, words: Sequence[str], *, absent: Policy, seed: int = 0) -> Lookup:
    """The vector of each word, in the form that is found first; others by the policy.

    Only what a word is decides what stands in for it: not which others there are, nor any generator's state.
    """
    forms = [list(variants(word)) for word in words]
    rows = vectors.find([form for each in forms for _, form in each])
    matrix = np.zeros((len(words), vectors.dimensions), np.float32)
    steps: list[str] = []
    at = 0
    for i, each in enumerate(forms):
        found = rows[at : at + len(each)]
        at += len(each)
        hit = next((k for k, row in enumerate(found.tolist()) if row >= 0), None)
        steps.append(ABSENT if hit is None else each[hit][0])
        if hit is not None:
            matrix[i] = vectors.matrix[found[hit]]
    missing = [i for i, step in enumerate(steps) if step == ABSENT]
    if missing and absent not in ("zero", "drop"):
        matrix[missing] = _stand_ins(vectors, [words[i] for i in missing], absent, seed)
    return Lookup(matrix, tuple(steps))


def directions(words: Sequence[str], dimensions: int, *, seed: int) -> Singles:
    """A direction for each word that its bytes and the seed alone decide."""
    found = np.empty((len(words), dimensions), np.float32)
    for i, word in enumerate(words):
        key = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass"), seed=seed)
        found[i] = np.random.Generator(np.random.Philox(key)).standard_normal(dimensions)
    return found


def _stand_ins(vectors: Vectors, words: Sequence[str], policy: Policy, seed: int) -> Singles:
    mean, spread = vectors.statistics()
    if policy == "mean":
        return np.broadcast_to(mean, (len(words), len(mean)))
    if policy == "unk":
        words = ["<UNK>"] * len(words)
    return (mean + spread * directions(words, len(mean), seed=seed)).astype(np.float32)


def _with(word: str, apostrophe: str) -> str:
    for other in _APOSTROPHES:
        word = word.replace(other, apostrophe)
    return word
