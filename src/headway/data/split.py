"""What is learned and what is held out: documents divided by groups, so that nothing held out was learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headway.data.likeness import Documents, Likeness, likeness
from headway.data.npy import Ints
from headway.errors import DataError, PlanError

_SIDES = ("train", "valid", "test")
_LEARNED = 1
_WORD = (1 << 64) - 1
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which documents stay together."""

    group: Ints
    """int64[documents]: a number for each, the same for all of a group."""
    exact: int
    """Documents whose words an earlier one has, exactly."""
    near: int
    """Further documents that share enough runs of words with one of their group, or belong to the same work."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The numbers of the documents on each side, in order."""

    train: Ints
    valid: Ints
    test: Ints


@dataclass(frozen=True, slots=True)
class Overlap:
    """What the sides of a split have in common; the documents counted are held-out ones."""

    documents: int
    """On another side as well."""
    exact: int
    """With the same words as a document of another side."""
    near: int
    """Others that share too many runs of words with one."""
    shared: float | None
    """Share of the runs of words of held-out documents that are learned; None if there are no such runs."""

    @property
    def leaks(self) -> bool:
        """Whether there is any such document."""
        return bool(self.documents or self.exact or self.near)

    def __str__(self) -> str:
        return (
            f"of the held-out documents {self.documents:,} are on another side, too, {self.exact:,} have the same "
            f"words as one there, {self.near:,} share too many runs of words with one"
        )


def group(dataset: Documents, *, alike: float = 0.2, shingle: int = 5, works: Ints | None = None) -> Grouping:
    """Documents that must not be separated: with the same words, with more than `alike` of their shingles in common.

    A shingle is a run of so many words; the share is that of the document with fewer different ones, and what is alike
    to the same document is one group. `works` adds what only the reader of the source knows: documents with the same
    number there are parts of one work.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"documents are alike from a share between 0 and 1, not {alike}")
    found = likeness(dataset, shingle=shingle)
    edges = found.pairs(alike)
    if works is not None:
        edges = np.concatenate([edges, _together(found.texts, works)])
    texts = len(found.counts)
    roots = _united(texts, edges)
    _, firsts, numbers = np.unique(roots[found.texts], return_index=True, return_inverse=True)
    # Numbered by their first documents: what the texts' own numbers are does not show.
    ranks = np.empty(len(firsts), dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(len(firsts))
    return Grouping(ranks[numbers.reshape(-1)], exact=len(found.texts) - texts, near=texts - len(firsts))


def divide(grouping: Grouping, *, tokens: Ints, train: float, valid: float, test: float, seed: int) -> Split:
    """Whole groups on each side, in a random choice that the seed decides, by shares of the tokens.

    The smaller sides are filled with the groups that fit, in random order, and with one more where that comes closer;
    the largest side takes the rest. A side with a share has at least one group, or there is a DataError.
    """
    shares = {"train": train, "valid": valid, "test": test}
    if min(shares.values()) < 0 or abs(sum(shares.values()) - 1) > _NOTHING:
        said = ", ".join(f"{name} = {share:g}" for name, share in shares.items())
        raise PlanError("learner.split", [f"{said}: these are shares of the whole and must add up to 1"])
    sizes = np.zeros(grouping.groups, dtype=np.int64)
    np.add.at(sizes, grouping.group, np.asarray(tokens, dtype=np.int64))
    wanted = sorted((name for name in _SIDES if shares[name] > 0), key=lambda name: shares[name])
    pool = _shuffled(np.flatnonzero(sizes), seed).tolist()
    if len(pool) < len(wanted):
        raise _too_few(len(pool), wanted)
    sides = np.full(len(sizes), _SIDES.index(wanted[-1]))
    for place, name in enumerate(wanted[:-1]):
        most = len(pool) - (len(wanted) - 1 - place)
        taken = _filled(sizes[pool].tolist(), shares[name] * int(sizes.sum()), most)
        sides[[pool[i] for i in taken]] = _SIDES.index(name)
        pool = [number for i, number in enumerate(pool) if i not in taken]
    side = sides[grouping.group]
    return Split(*(np.flatnonzero(side == number) for number in range(len(_SIDES))))


def overlap(dataset: Documents, split: Split, *, shingle: int = 5, alike: float = 0.2) -> Overlap:
    """What the sides of a split have in common, measured on the documents themselves, whoever made the split."""
    found = likeness(dataset, shingle=shingle)
    on, of_text = np.zeros(len(found.texts), np.int64), np.zeros(len(found.counts), np.int64)
    for number, documents in enumerate((split.train, split.valid, split.test)):
        np.bitwise_or.at(on, documents, 1 << number)
        np.bitwise_or.at(of_text, found.texts[documents], 1 << number)
    pairs = found.pairs(alike)
    like = np.zeros(len(of_text), np.int64)
    np.bitwise_or.at(like, pairs, of_text[pairs[:, ::-1]])
    held = np.flatnonzero(on & ~_LEARNED)
    mine, texts = on[held], found.texts[held]
    again = (mine & (mine - 1)) != 0
    exact = ~again & ((of_text[texts] & ~mine) != 0)
    near = ~again & ~exact & ((like[texts] & ~mine) != 0)
    shared = _shared(found, (of_text & _LEARNED) != 0, np.bincount(texts, minlength=len(of_text)))
    return Overlap(int(again.sum()), int(exact.sum()), int(near.sum()), shared)


def _together(texts: Ints, works: Ints) -> Ints:
    """Pairs that join the texts of each work, one after the other."""
    order = np.argsort(works, kind="stable")
    same = np.flatnonzero(np.diff(np.asarray(works)[order]) == 0)
    return np.stack([texts[order[same]], texts[order[same + 1]]], axis=1)


def _united(count: int, edges: Ints) -> Ints:
    """For each of so many the lowest that it is joined with, directly or through others."""
    roots = np.arange(count)
    one, other = edges.T
    while True:
        high, low = np.maximum(roots[one], roots[other]), np.minimum(roots[one], roots[other])
        apart = high != low
        if not apart.any():
            return roots
        one, other = one[apart], other[apart]
        np.minimum.at(roots, high[apart], low[apart])
        while (roots[roots] != roots).any():
            roots = roots[roots]


def _shuffled(numbers: Ints, seed: int) -> Ints:
    # Raw Philox words are the one stream numpy promises never to change.
    words = np.random.Philox(key=np.array([seed & _WORD, 0], dtype=np.uint64)).random_raw(len(numbers))
    return numbers[np.argsort(np.asarray(words, dtype=np.uint64), kind="stable")]


def _filled(sizes: list[int], goal: float, most: int) -> set[int]:
    """Which of these to take for a sum near the goal, in their order: at least one, and no more than so many."""
    left, taken = goal, set[int]()
    for i, size in enumerate(sizes):
        if size <= left and len(taken) < most:
            taken.add(i)
            left -= size
    rest = [i for i in range(len(sizes)) if i not in taken]
    closest = min(rest, key=lambda i: abs(left - sizes[i]))
    if not taken or (len(taken) < most and abs(left - sizes[closest]) < left):
        taken.add(closest)
    return taken


def _too_few(groups: int, wanted: list[str]) -> DataError:
    names = ", ".join(name for name in _SIDES if name in wanted)
    return DataError(
        f"the texts make {groups} group{'s' if groups != 1 else ''} that may not be divided further, but there are "
        f"{len(wanted)} sides ({names}): add texts, set the share of a held-out side in learner.split to 0, or raise "
        f"learner.split.alike if texts are held together that are different ones"
    )


def _shared(found: Likeness, learned: NDArray[np.bool_], held: Ints) -> float | None:
    """The share of the shingles of held-out documents (`held` of each text) that stand in a text that is learned."""
    begins = np.flatnonzero(np.diff(found.shingles, prepend=~found.shingles[:1]))
    weights = held[found.owners]
    if not weights.any():
        return None
    known = np.logical_or.reduceat(learned[found.owners], begins)
    return int(np.add.reduceat(weights, begins)[known].sum()) / int(weights.sum())
