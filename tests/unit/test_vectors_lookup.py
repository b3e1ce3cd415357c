"""Looking words up: what is found where, and what stands in for a word that is nowhere."""

from pathlib import Path

import numpy as np
import pytest

from headway.data.vectors.convert import Conversion, load_vectors
from headway.data.vectors.lookup import Policy, directions, look_up, wanted
from headway.data.vectors.table import Vectors

WORDS = ["love", "don't", "night", "o'er", "US"]


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    draw = np.random.default_rng(3)
    rows = (f"{word} {' '.join(map(str, draw.normal(1, 2, 50).round(4)))}\n" for word in WORDS)
    (tmp_path / "v.txt").write_text("".join(rows))
    return load_vectors(tmp_path / "v.txt", cache=tmp_path)


@pytest.mark.parametrize(
    ("word", "step", "form"),
    [
        ("love", "exact", "love"),
        ("Love", "lower", "love"),
        ("US", "exact", "US"),
        ("don\u2019t", "apostrophe", "don't"),
        ("DON\u02bcT", "apostrophe", "don't"),
        ("'Night,", "stripped", "night"),
        ("\u201cO\u2019er\u201d", "stripped", "o'er"),
        ("vole", "absent", None),
        ("''", "absent", None),
    ],
)
def test_a_word_is_looked_up_in_ever_plainer_forms(vectors: Vectors, word: str, step: str, form: str | None) -> None:
    found = look_up(vectors, [word], absent="zero")

    assert found.steps == (step,)
    assert found.matrix[0].tolist() == (vectors[form].tolist() if form else [0.0] * 50)
    assert form is None or form in wanted([word])
    assert found.known.tolist() == [form is not None]


def test_a_filtered_table_finds_what_the_whole_one_does(vectors: Vectors, tmp_path: Path) -> None:
    words = ["Love", "don\u2019t", "'Night,", "vole"]
    few = load_vectors(tmp_path / "v.txt", cache=tmp_path, asked=Conversion(wanted=wanted(words)))

    assert look_up(few, words, absent="zero").steps == look_up(vectors, words, absent="zero").steps
    assert np.array_equal(look_up(few, words, absent="zero").matrix, look_up(vectors, words, absent="zero").matrix)


@pytest.mark.parametrize("policy", ["random", "mean", "unk", "zero", "drop"])
def test_each_policy_does_what_it_says(vectors: Vectors, policy: Policy) -> None:
    found = look_up(vectors, ["god", "dog", "love"], absent=policy, seed=4).matrix

    assert np.array_equal(found[0], found[1]) == (policy != "random")
    assert bool(found[0].any()) == (policy not in ("zero", "drop"))
    if policy == "mean":
        assert np.allclose(found[0], vectors.matrix.mean(axis=0), atol=1e-6)
    assert np.array_equal(found[2], vectors["love"])


def test_a_stand_in_depends_on_the_word_and_the_seed_alone(vectors: Vectors) -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    first = look_up(vectors, ["god", "xyzzy"], absent="random", seed=7).matrix[1]
    again = look_up(vectors, ["xyzzy"], absent="random", seed=7).matrix[0]
    other = look_up(vectors, ["xyzzy"], absent="random", seed=8).matrix[0]

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


def test_stand_ins_look_like_vectors_of_the_table(vectors: Vectors) -> None:
    mean, spread = vectors.statistics()
    found = look_up(vectors, [f"word{i}" for i in range(4000)], absent="random").matrix

    assert np.allclose(found.mean(axis=0), mean, atol=4 * spread.max() / 4000**0.5)
    assert np.allclose(found.std(axis=0), spread, rtol=0.1)
    assert directions(["a"], 5, seed=0).shape == (1, 5)


def test_what_was_found_where_is_counted_by_type_and_token(vectors: Vectors) -> None:
    counts = look_up(vectors, ["love", "Love", "vole"], absent="mean").counts([5, 2, 1])

    assert counts["exact"] == {"types": 1, "tokens": 5}
    assert counts["lower"] == {"types": 1, "tokens": 2}
    assert counts["absent"] == {"types": 1, "tokens": 1}
