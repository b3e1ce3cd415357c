"""What a run stands on: nothing held out is learned, and what a run began with stays what it has."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_learners import WORDS, World, dataset_of, poems, section, write_vectors

from headway.data.split import Overlap
from headway.errors import DataError, RunError
from headway.learners.autoencoder import material as materials
from headway.learners.autoencoder.config import SplitSection, WindowSection
from headway.learners.autoencoder.groundwork import MODEL, groundwork, side, without
from headway.learners.autoencoder.lexicon import UNK


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("groundwork")
    write_vectors(folder / "vectors.txt", WORDS[4:])
    return World(dataset_of(folder, poems(30)), folder / "run", section(vectors="vectors.txt", dimensions=None))


def test_no_token_of_a_held_out_document_is_in_any_batch(tmp_path: Path) -> None:
    # Every text has words that no other has.
    texts = [" ".join(f"w{number}x{place}" for place in range(5 + number % 9)) for number in range(40)]
    world = World(dataset_of(tmp_path, texts), tmp_path / "run")
    found = groundwork(world.setup)
    symbols = world.dataset.vocabulary.symbols

    learned = {
        int(match[1])
        for batch, _ in world.batches()
        for token in batch.ids.tolist()
        if (match := re.fullmatch(r"w(\d+)x\d+", symbols[token]))
    }

    held = set(found.material.valid.windows.documents.tolist()) | set(found.material.test.windows.documents.tolist())
    assert len(held) > 5
    assert learned.isdisjoint(held)
    assert learned == set(found.material.split.train.tolist())


def rare_in(texts: list[str], tmp_path: Path, min_count: int, window: WindowSection | None = None) -> set[str]:
    """The words that a model reads as unknown."""
    plan = section(min_count=min_count, window=window or WindowSection(size=8, overlap=2, shortest=3))
    world = World(dataset_of(tmp_path, texts), tmp_path / "run", plan)
    read_as = groundwork(world.setup).lexicon.read_as
    symbols = world.dataset.vocabulary.symbols
    return {symbols[token] for token in np.flatnonzero(read_as == UNK).tolist() if token != UNK}


def test_words_are_counted_on_the_side_that_is_learned_alone(tmp_path: Path) -> None:
    # Each text repeats a word of its own: learned from, it is frequent; held out, it is never learned from.
    texts = [" ".join([f"own{number}"] * 5 + ["all"] * 3) for number in range(20)]
    plan = section(min_count=4)
    world = World(dataset_of(tmp_path, texts), tmp_path / "run", plan)
    train = set(groundwork(world.setup).material.split.train.tolist())

    rare = rare_in(texts, tmp_path / "again", 4)

    assert 0 < len(train) < 20
    assert rare == {f"own{number}" for number in range(20) if number not in train}


def test_what_several_windows_hold_is_counted_once(tmp_path: Path) -> None:
    # With windows of four tokens and three of context, a word stands in up to four of them.
    texts = [" ".join(f"w{number}x{place}" for place in range(9)) for number in range(10)]
    window = WindowSection(size=4, overlap=3, shortest=2)

    assert len(rare_in(texts, tmp_path, 2, window)) == 90


def test_a_vector_file_that_changes_later_changes_nothing(world: World, tmp_path: Path) -> None:
    home = tmp_path / "home"
    dataset = dataset_of(home, poems(30))
    changing = World(dataset, home / "run", world.section)
    write_vectors(home / "vectors.txt", seed=1)
    before = groundwork(changing.setup).lexicon
    write_vectors(home / "vectors.txt", seed=2)

    after = groundwork(changing.setup).lexicon
    other = groundwork(changing.within("other").setup).lexicon
    (home / "vectors.txt").unlink()
    without_file = groundwork(changing.setup).lexicon

    assert np.array_equal(before.matrix, after.matrix)
    assert np.array_equal(before.matrix, without_file.matrix)
    assert not np.array_equal(before.matrix, other.matrix)


def test_words_without_a_vector_are_left_out_when_the_plan_says_so(world: World) -> None:
    dropping = groundwork(world.within("dropping", section=replace(world.section, absent="drop")).setup)
    keeping = groundwork(world.within("keeping").setup)
    absent = [world.dataset.vocabulary.index[word] for word in WORDS[:4] if word in world.dataset.vocabulary.index]

    left, whole = (each.corpus(each.material.train) for each in (dropping, keeping))

    gone = np.isin(whole.ids, absent)
    assert gone.any()
    assert np.array_equal(left.ids, whole.ids[~gone])
    assert left.lengths.min() > 0
    assert dropping.background(dropping.material.valid, "validation").document_tokens is None


def test_a_window_of_which_nothing_is_left_is_gone() -> None:
    found = without(
        np.array([-1, -1, 5, -1, 6, -1]), np.array([0, 2, 4, 5, 6]), np.array([1, 0, 1, 1, 0, 1], bool), np.arange(4)
    )

    assert found.ids.tolist() == [5, 6]
    assert found.starts.tolist() == [0, 1, 2]
    assert found.owned.tolist() == [True, False]
    assert found.documents.tolist() == [1, 2]
    assert len(without(np.array([-1]), np.array([0, 1]), np.ones(1, bool), np.zeros(1, int))) == 0


def test_leaking_text_stops_a_run_or_is_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materials, "overlap", lambda *_, **__: Overlap(0, 3, 1, 0.5))
    materials._made.cache_clear()
    warned = world.within("warned", section=section(split=SplitSection(leakage="warn")))

    with pytest.raises(RunError, match=r"3 have the same words.*Remove the duplicates, raise split.alike"):
        groundwork(world.within("stopped").setup)
    groundwork(warned.setup)
    materials._made.cache_clear()

    assert any("3 have the same words" in text for text in warned.said)


def test_made_up_vectors_are_told_every_time(world: World) -> None:
    made_up = world.within("made-up", section=section())

    groundwork(made_up.setup)
    groundwork(made_up.setup)

    assert [text.startswith('vectors = "random"') for text in made_up.said] == [True, True]


def test_what_nothing_could_be_evaluated_on_is_refused_before_anything_is_learned(tmp_path: Path) -> None:
    texts = [" ".join([f"w{number}"] * 9) for number in range(10)]
    world = World(dataset_of(tmp_path, texts), tmp_path / "run")
    train = groundwork(world.setup).material.split.train.tolist()
    # No word of what is held out has a vector.
    write_vectors(tmp_path / "vectors.txt", [f"w{number}" for number in train])
    blind = world.within("blind", section=section(vectors="vectors.txt", dimensions=None))

    with pytest.raises(DataError, match=r"nothing to score.*hold more of it out"):
        blind.learner()


def test_a_side_of_which_nothing_is_held_out_has_no_yardstick(world: World) -> None:
    plan = section(split=SplitSection(train=1.0, valid=0.0, test=0.0))
    found = groundwork(world.within("whole", section=plan).setup)

    found.check()

    assert found.yardstick is None
    assert [len(side(found.material, name).windows.documents) > 0 for name in ("train", "valid", "test")] == [1, 0, 0]


def test_a_report_is_told_how_its_side_was_made(world: World) -> None:
    found = groundwork(world.within("told").setup)

    told = found.background(found.material.valid, "validation")

    lengths = world.dataset.document_lengths()
    assert told.document_tokens == lengths[found.material.split.valid].sum()
    assert told.split["groups"] == found.material.grouping.groups
    assert found.yardstick is not None
    assert found.yardstick.ground.counts.sum() == told.document_tokens


def test_the_words_are_kept_with_the_run(world: World) -> None:
    kept = world.within("kept")
    first = groundwork(kept.setup).lexicon
    (kept.folder / MODEL / "vectors.npy").write_bytes(b"torn")

    with pytest.raises(RunError, match=r"vectors.npy is missing or not as it was written"):
        groundwork(kept.setup)
    assert len(first.matrix) == len(world.dataset.vocabulary)
