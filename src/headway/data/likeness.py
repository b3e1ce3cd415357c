"""Which documents are alike: the same words, or many runs of words in common; whatever case and punctuation."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from headway.data.dataset import Rows
from headway.data.npy import Ints
from headway.data.vocabulary import Vocabulary

Words = NDArray[np.uint64]

# Each text that holds a shingle is compared with so many of those that follow it there: a phrase that is everywhere
# costs a text a fixed amount. Two that are farther apart in most of what they share are joined through those between.
_NEIGHBOURS = 32
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'"})
_ODD, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


class Documents(Protocol):
    """What is looked at: a Dataset, or texts in memory."""

    @property
    def documents(self) -> int: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    def read(self, rows: slice | Ints) -> Rows: ...


@dataclass(frozen=True, eq=False)
class Likeness:
    """What documents have in common. Documents of the same words are one text; a shingle is a run of words.

    The shingles of a text count once each; (shingles[i], owners[i]) are those of all texts, sorted.
    """

    texts: Ints
    """int64[documents]: the text of each document; one without words is a text of its own."""
    shingles: Words
    owners: Ints

    @cached_property
    def counts(self) -> Ints:
        """int64[texts]: the different shingles of each."""
        return np.bincount(self.owners, minlength=int(self.texts.max(initial=-1)) + 1)

    def pairs(self, alike: float) -> Ints:
        """int64[pairs, 2]: texts that share more than so much of the shingles of the one that has fewer."""
        texts = len(self.counts)
        keys, shared = np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.arange(len(self.owners))
        for distance in range(1, _NEIGHBOURS + 1):
            # Sorted: what is not shared at this distance is not at a larger one.
            at = at[: np.searchsorted(at, len(self.owners) - distance)]
            at = at[self.shingles[at] == self.shingles[at + distance]]
            if not len(at):
                break
            found, times = np.unique(self.owners[at] * texts + self.owners[at + distance], return_counts=True)
            keys, shared = _summed(np.concatenate([keys, found]), np.concatenate([shared, times]))
        pairs = np.stack(np.divmod(keys, max(texts, 1)), axis=1)
        return pairs[shared > alike * self.counts[pairs].min(axis=1)]


def likeness(dataset: Documents, *, shingle: int = 5) -> Likeness:
    """What the documents of a Dataset have in common; texts of fewer words than a shingle have none."""
    if shingle < 1:
        raise ValueError(f"a shingle has at least one word, not {shingle}")
    words, offsets = _words(dataset)
    texts, firsts = _texts(words, offsets)
    hashes, owners = _shingles(words, offsets, shingle)
    # Of documents that are one text, only the first is looked at.
    mine = firsts[texts[owners]] == owners
    hashes, owners = hashes[mine], texts[owners[mine]]
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    new = np.ones(len(hashes), dtype=np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return Likeness(texts, hashes[new], owners[new])


def word_hashes(vocabulary: Vocabulary) -> Words:
    """A hash of each symbol's word, in lower case without outer punctuation; 0 for what is no word."""
    spelled = [vocabulary.join([symbol]) for symbol in vocabulary.symbols]
    outer = "".join(each for each in set(chain.from_iterable(spelled)) if unicodedata.category(each)[0] in "PSZC")
    hashes = np.zeros(len(spelled), dtype=np.uint64)
    for number in range(vocabulary.specials, len(spelled)):
        word = spelled[number].translate(_APOSTROPHES).lower().strip(outer)
        if word:
            hashes[number] = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass")) or 1
    return hashes


def _words(dataset: Documents) -> tuple[Words, Ints]:
    """The hashes of all words, and where those of each document begin."""
    rows = dataset.read(slice(0, dataset.documents))
    words = word_hashes(dataset.vocabulary)[rows.ids]
    is_word = words != 0
    before = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(is_word, out=before[1:])
    return words[is_word], before[rows.starts]


def _texts(words: Words, offsets: Ints) -> tuple[Ints, Ints]:
    """The number of each document's text, and the first document of each text."""
    lengths = np.diff(offsets)
    places = np.arange(len(words)) - np.repeat(offsets[:-1], lengths)
    before = np.zeros(len(words) + 1, dtype=np.uint64)
    np.cumsum(_mixed(words ^ (places.astype(np.uint64) * _ODD)), out=before[1:])
    # Differences of sums that wrap around are the sums between.
    digests = before[offsets[1:]] - before[offsets[:-1]]
    # Without words there is nothing to compare: each such document is a text of its own.
    own = np.where(lengths == 0, -1 - np.arange(len(lengths)), lengths).astype(np.uint64)
    _, firsts, texts = np.unique(_mixed(digests ^ _mixed(own)), return_index=True, return_inverse=True)
    return texts.astype(np.int64), firsts


def _shingles(words: Words, offsets: Ints, size: int) -> tuple[Words, Ints]:
    """The hash of every run of words, and its document."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    runs = max(0, len(words) - size + 1)
    hashes = np.zeros(runs, dtype=np.uint64)
    for place in range(size):
        hashes = _mixed(hashes ^ words[place : place + runs])
    inside = owners[:runs] == owners[size - 1 : size - 1 + runs]
    return hashes[inside], owners[:runs][inside]


def _mixed(words: Words) -> Words:
    mixed = words * _ODD
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _OTHER
    return mixed ^ (mixed >> np.uint64(29))


def _summed(keys: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """Each different key once, with the sum of its numbers."""
    order = np.argsort(keys, kind="stable")
    keys, numbers = keys[order], numbers[order]
    begins = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return keys[begins], np.add.reduceat(numbers, begins)
