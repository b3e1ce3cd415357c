"""A split separates no group, misses no document, and comes as near to its shares as the groups allow."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.dataset import Rows
from headway.data.likeness import likeness
from headway.data.split import Grouping, divide, group, overlap
from headway.data.vocabulary import Vocabulary

LETTERS = "abcdefgh"


@dataclass(frozen=True)
class Texts:
    """What a split asks of a Dataset; tokens are letters."""

    texts: list
    vocabulary = Vocabulary(list(LETTERS), "words")

    @property
    def documents(self):
        return len(self.texts)

    def document_lengths(self):
        return np.array([len(text.split()) for text in self.texts], dtype=np.int64)

    def read(self, rows):
        ids = [LETTERS.index(word) for text in self.texts for word in text.split()]
        return Rows(np.array(ids, dtype=np.uint16), np.cumsum([0, *self.document_lengths()]), None)


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 500), min_size=3, max_size=80),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    st.integers(0, 2**64),
)
def test_each_document_is_on_one_side_with_its_group(tokens, parts, seed):
    groups = np.arange(len(tokens)) // 2 if len(tokens) > 5 else np.arange(len(tokens))
    shares = [part / sum(parts) for part in parts]
    sizes = np.bincount(groups, weights=tokens)
    wanted = {"train": shares[0], "valid": shares[1], "test": shares[2]}
    split = divide(Grouping(groups, 0, 0), tokens=np.array(tokens), **wanted, seed=seed)
    sides = [split.train, split.valid, split.test]

    assert sorted(np.concatenate(sides)) == list(range(len(tokens)))
    assert sum(len(set(groups[side])) for side in sides) == len(sizes)
    assert all(len(side) for side in sides)
    # All but the side that takes the rest are off by less than the largest group.
    for side in sorted(range(3), key=lambda side: shares[side])[:2]:
        assert abs(sizes[list(set(groups[sides[side]]))].sum() - shares[side] * sizes.sum()) <= sizes.max()


def shingles(text):
    words = text.split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.sampled_from(LETTERS[:4]), max_size=12).map(" ".join), max_size=10),
    st.sampled_from([0.1, 0.3, 0.5, 1.0]),
)
def test_pairs_are_those_of_a_comparison_of_all_with_all(texts, alike):
    found = likeness(Texts(texts), shingle=3)
    pairs = {tuple(sorted(pair)) for pair in found.pairs(alike).tolist()}
    expected = {
        tuple(sorted((int(found.texts[i]), int(found.texts[j]))))
        for i in range(len(texts))
        for j in range(i)
        if found.texts[i] != found.texts[j]
        and len(shingles(texts[i]) & shingles(texts[j])) > alike * min(len(shingles(texts[i])), len(shingles(texts[j])))
    }

    assert pairs == expected
    for i, text in enumerate(texts):
        same = [other for other in range(len(texts)) if found.texts[other] == found.texts[i]]
        assert same == [other for other in range(len(texts)) if other == i or texts[other] == text != ""]


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=12),
    st.integers(0, 9),
)
def test_sides_made_of_groups_have_nothing_in_common(texts, seed):
    made = Texts(texts)
    grouping = group(made, shingle=3)
    if grouping.groups < 2:
        return
    split = divide(grouping, tokens=made.document_lengths(), train=0.7, valid=0.3, test=0.0, seed=seed)

    assert not overlap(made, split, shingle=3).leaks
