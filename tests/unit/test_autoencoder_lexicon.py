"""The words of a run: what stands for each, what it is read as, and that it is kept whole."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_learners import section, write_vectors

from headway.data.vectors.convert import load_vectors
from headway.data.vocabulary import Vocabulary
from headway.errors import DataError, RunError
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.lexicon import UNK, Lexicon, load_lexicon, make_lexicon, reader
from headway.learners.autoencoder.words import Kind

MARKS = ["<PAD>", "<UNK>", "<MASK>", "<LINE_BREAK>"]
WORDS = ["god", "dog", "cat", "Owl", "owls"]
VOCABULARY = Vocabulary([*MARKS, *WORDS], "plain", len(MARKS))
# <UNK> was never met, each word once more than the one before.
COUNTS = np.array([0, 0, 0, 9, 1, 2, 3, 4, 0])


def made(folder: Path, *, known: tuple[str, ...] = ("god", "cat", "owl"), seed: int = 0, **settings: Any) -> Lexicon:
    """The lexicon of these words, with vectors in a file for some."""
    write_vectors(folder / "vectors.txt", known)
    plan = section(**{"vectors": "vectors.txt", "dimensions": None, "coverage": 0.0} | settings)
    return lexicon(plan, folder, seed=seed)


def lexicon(plan: Section, folder: Path, *, seed: int = 0) -> Lexicon:
    read = reader(plan, home=folder, cache=folder / "cache")
    return make_lexicon(plan, VOCABULARY, counts=COUNTS, read=read, seed=seed)


def test_every_word_has_its_vector_and_knows_whether_it_is_of_the_source(tmp_path: Path) -> None:
    found = made(tmp_path)

    vectors = load_vectors(tmp_path / "vectors.txt", cache=tmp_path / "cache")
    there = dict(zip(("god", "cat", "Owl"), vectors.matrix[vectors.find(["god", "cat", "owl"])], strict=True))
    assert all(np.array_equal(found.matrix[VOCABULARY.index[word]], row) for word, row in there.items())
    assert [word for word, known in zip(VOCABULARY.symbols, found.known, strict=True) if known] == list(there)
    assert found.facts.source == "vectors.txt"
    assert not found.facts.made_up


def test_what_was_found_is_counted_by_step_on_the_learned_side(tmp_path: Path) -> None:
    facts = made(tmp_path).facts

    assert facts.found["exact"] == {"types": 2, "tokens": 1 + 3}
    assert facts.found["lower"] == {"types": 1, "tokens": 4}
    assert facts.found["absent"] == {"types": 2, "tokens": 2}
    assert facts.coverage == 8 / 10


def test_padding_is_nothing_and_marks_are_as_long_as_a_usual_vector(tmp_path: Path) -> None:
    found = made(tmp_path)
    lengths = np.linalg.norm(found.matrix, axis=1)

    usual = np.median(lengths[len(MARKS) :][found.known[len(MARKS) :]])
    assert lengths[0] == 0
    assert lengths[1 : len(MARKS)] == pytest.approx(usual, rel=1e-6)


def test_too_few_words_with_a_vector_are_refused_with_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"only 8 of 10 learned words \(80.0%\) have a vector in vectors.txt"):
        made(tmp_path, coverage=0.81)
    assert made(tmp_path, coverage=0.8).facts.coverage == 0.8


@pytest.mark.parametrize("policy", ["random", "mean", "unk", "zero"])
def test_what_stands_in_for_a_word_is_no_word_of_the_source(tmp_path: Path, policy: str) -> None:
    found = made(tmp_path, absent=policy)

    dog, owls = (found.matrix[VOCABULARY.index[word]] for word in ("dog", "owls"))
    assert np.array_equal(dog, owls) == (policy != "random")
    assert dog.any() == (policy != "zero")
    assert found.table().kinds[VOCABULARY.index["dog"]] == (Kind.NOTHING if policy == "zero" else Kind.ABSENT)
    assert found.read_as.tolist() == list(range(len(VOCABULARY)))


def test_dropped_words_are_read_as_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, absent="drop")

    gone = [VOCABULARY.symbols[token] for token in np.flatnonzero(found.read_as < 0).tolist()]
    assert gone == ["dog", "owls"]


def test_rare_words_are_read_as_unknown_which_counts_as_a_word_without_a_vector(tmp_path: Path) -> None:
    found = made(tmp_path, min_count=3)

    rare = [word for word in WORDS if found.read_as[VOCABULARY.index[word]] == UNK]
    # One that was never learned from would have been too rare as well.
    assert rare == ["god", "dog", "owls"]
    assert found.facts.rare == 3
    assert found.table().kinds[UNK] == Kind.ABSENT


def test_of_words_that_are_dropped_those_that_are_rare_and_have_a_vector_stay_as_unknown(tmp_path: Path) -> None:
    found = made(tmp_path, min_count=3, absent="drop")

    assert [int(found.read_as[VOCABULARY.index[word]]) for word in WORDS] == [UNK, -1, 6, 7, -1]


def test_how_often_an_id_is_learned_is_counted_as_it_is_read(tmp_path: Path) -> None:
    plain, rare, dropped = made(tmp_path), made(tmp_path, min_count=3), made(tmp_path, absent="drop")

    assert plain.learned.tolist() == COUNTS.tolist()
    assert rare.learned.tolist() == [0, 1 + 2, 0, 9, 0, 0, 3, 4, 0]
    assert dropped.learned.tolist() == [0, 0, 0, 9, 1, 0, 3, 4, 0]


def test_made_up_vectors_depend_on_the_word_and_the_seed_alone(tmp_path: Path) -> None:
    one, same, other = (lexicon(section(dimensions=5), tmp_path, seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, other.matrix)
    assert not np.array_equal(one.matrix[VOCABULARY.index["god"]], one.matrix[VOCABULARY.index["dog"]])
    assert one.matrix.shape == (len(VOCABULARY), 5)
    assert one.facts.made_up
    assert one.facts.coverage is None
    assert one.table().made_up
    assert lexicon(section(dimensions=None), tmp_path).matrix.shape[1] == 100


def test_vectors_of_other_dimensions_than_asked_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"vectors\.txt"):
        made(tmp_path, dimensions=7)


def test_what_was_saved_is_loaded_as_it_was(tmp_path: Path) -> None:
    assert load_lexicon(tmp_path / "model") is None
    before = made(tmp_path, min_count=2)

    before.save(tmp_path / "model")
    after = load_lexicon(tmp_path / "model")

    assert after is not None
    assert after.vocabulary == before.vocabulary
    assert after.facts == before.facts
    arrays = ("matrix", "known", "read_as", "learned")
    assert all(np.array_equal(getattr(after, name), getattr(before, name)) for name in arrays)


@pytest.mark.parametrize("name", ["vectors.npy", "known.npy", "read_as.npy", "learned.npy"])
@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    made(tmp_path).save(tmp_path / "model")
    path = tmp_path / "model" / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"?")

    with pytest.raises(RunError, match=f"{name} is missing or not as it was written; restore it from a copy"):
        load_lexicon(tmp_path / "model")


@pytest.mark.parametrize("damage", ["{}", '{"vocabulary": {}, "facts": {"odd": 1}, "checksums": {}}', "[]", "{"])
def test_a_damaged_list_of_files_is_named(tmp_path: Path, damage: str) -> None:
    made(tmp_path).save(tmp_path / "model")
    (tmp_path / "model" / "lexicon.json").write_text(damage)

    with pytest.raises((RunError, DataError), match=r"lexicon\.json"):
        load_lexicon(tmp_path / "model")


def test_what_was_not_written_to_its_end_does_not_count(tmp_path: Path) -> None:
    made(tmp_path).save(tmp_path / "model")
    (tmp_path / "model" / "lexicon.json").unlink()

    assert load_lexicon(tmp_path / "model") is None


def test_the_list_of_files_names_all_of_them(tmp_path: Path) -> None:
    made(tmp_path).save(tmp_path / "model")

    named = json.loads((tmp_path / "model" / "lexicon.json").read_text())["checksums"]

    assert {*named, "lexicon.json"} == {path.name for path in (tmp_path / "model").iterdir()}
