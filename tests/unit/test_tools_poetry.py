"""From a file of poems to a trained autoencoder: the one call, and what can be done afterwards."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_poems import DIMENSIONS, poem, write_poems, write_vectors

from headway.errors import DataError, PlanError, RunError
from headway.tools import (
    RNN,
    DataConfig,
    PoetryAutoencoder,
    PoetryGenerationConfig,
    poetry_autoencoder,
    poetry_training,
)

EPOCHS = 8
DESIGN = {"hidden_size": 16, "bottleneck_dim": 8}
TRAINING = {"epochs": EPOCHS, "threads": 1, "learning_rate": 0.01, "num_workers": 4}
DATA = {"max_length": 12}


def trained_in(folder: Path, **settings: Any) -> RNN:
    given = {"design": DESIGN, "training": TRAINING, "data": DATA, "verbose": False, **settings}
    return poetry_autoencoder(folder / "poems.json", output_dir=folder / "results", **given)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> RNN:
    folder = tmp_path_factory.mktemp("poetry")
    write_poems(folder / "poems.json")
    write_vectors(folder / "glove.8d.txt")
    return trained_in(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    write_poems(tmp_path / "poems.json", 8)
    write_vectors(tmp_path / "embeddings" / "glove.8d.txt")
    yield tmp_path


def test_one_call_trains_and_says_what_was_measured(model: RNN) -> None:
    found = model.results
    assert found is not None

    assert Path(found["run"]) == model.folder and (model.folder / "record.jsonl").is_file()
    assert (found["documents"], found["code"], found["dimensions"], found["threads"]) == (EPOCHS * 19, 8, DIMENSIONS, 1)
    assert found["vectors"] == "glove.8d.txt"
    assert found["parameters"] == model.architecture.count_parameters(DIMENSIONS)
    assert found["sequences"] == EPOCHS * found["report"].trained_on.windows
    assert found["sequences_per_second"] == pytest.approx(found["sequences"] / found["seconds"])
    assert found["best_skill"] == pytest.approx(found["report"].free.skill, abs=1e-5)
    assert found["checkpoints"]["failed"] == found["checkpoints"]["pending"] == 0
    assert found["notes"][0] == "bottleneck_dim is bottleneck_size"
    assert found["notes"][1].startswith("num_workers changes nothing")
    assert found["cut_off"] is None and not found["resumed"]
    assert found["warnings"] == []


def test_a_text_comes_from_the_code_of_a_text_and_the_same_seed_gives_the_same(model: RNN) -> None:
    one = model.generate(poem(1), length=20, seed=1)

    assert one == model.generate(poem(1), length=20, seed=1)
    assert len({one, model.generate(poem(2), length=20, seed=1), model.generate(poem(1), length=20, seed=2)}) == 3
    assert 0 < len(one.split()) <= 20


def test_without_a_text_a_code_is_drawn_as_learned_windows_have_them(model: RNN) -> None:
    assert model.generate(length=10, seed=1) == model.generate(length=10, seed=1) != model.generate(length=10, seed=2)


def test_every_setting_of_generation_plays_its_part(model: RNN) -> None:
    usual = model.generate(poem(1), length=40)
    others = [
        model.generate(poem(1), length=40, temperature=0.2),
        model.generate(poem(1), length=40, top_k=1),
        model.generate(poem(1), length=40, top_p=0.3),
        model.generate(poem(1), length=40, repetition_penalty=2.0),
        model.generate(poem(1), config=PoetryGenerationConfig(length=40, length_penalty=100.0)),
    ]

    assert usual not in others
    assert len(model.generate(poem(1), length=4).split()) <= 4
    with pytest.raises(PlanError, match="length: config says it already"):
        model.generate(length=40, config=PoetryGenerationConfig())


def test_an_evaluation_is_of_text_that_was_held_out(model: RNN) -> None:
    test, valid = model.evaluate(), model.evaluate(side="valid")

    assert (test.background.side, valid.background.side) == ("test", "valid")
    assert valid.held.documents > test.held.documents > 0
    assert valid.constant != 0 and valid.linear.code == 8 and valid.shuffle is not None


def test_a_file_is_evaluated_once_it_is_known_not_to_be_learned(model: RNN, tmp_path: Path) -> None:
    strange = write_poems(tmp_path / "strange.json", 4, first=1000)
    learned = write_poems(tmp_path / "learned.json", 24)
    found = model.evaluate(strange)

    assert (found.background.side, found.held.documents) == ("given texts", 4)
    with pytest.raises(RunError, match=r"learned\.json is not held out: \d+ same words as a learned one"):
        model.evaluate(learned)
    assert model.evaluate(learned, overlap="warn").held.documents == 24


def test_codes_are_of_texts_of_ids_and_of_vectors_alike(model: RNN) -> None:
    corpus = model.trained.corpus([poem(1)])
    windows = [corpus.ids[low:high] for low, high in zip(corpus.starts, corpus.starts[1:], strict=False)]
    codes = model.encode(poem(1))

    assert codes.shape == (len(corpus), 8) and codes.dtype == np.float32
    assert np.array_equal(model.encode([poem(1)]), codes)
    assert np.allclose(model.encode([window.tolist() for window in windows]), codes, atol=1e-6)
    assert np.allclose(model.encode(windows[0]), codes[:1], atol=1e-6)
    vectors = model.trained.lexicon.matrix[windows[0]]
    assert np.allclose(model.encode(vectors), codes[:1], atol=1e-5)
    assert np.allclose(model.encode(np.stack([vectors, vectors])), codes[[0, 0]], atol=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([10_000], "ids of this model's words are 0 to"),
        ([1] * 13, "windows of 1 to 12 whole numbers"),
        ([["a"], ["b", "c"]], "windows of 1 to 12 whole numbers"),
        (np.zeros((2, 5)), r"1 to 12 vectors of 8 numbers, not \[2, 5\]"),
    ],
)
def test_what_has_no_code_is_an_error(model: RNN, given: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        model.encode(given)


def test_a_code_stands_for_a_text_of_so_many_tokens(model: RNN) -> None:
    codes = model.encode(poem(1))[:2]

    assert model.decode(codes) == model.decode(codes, 12) == model.trained.decode(codes, np.array([12, 12]))
    assert model.decode(codes, [3, 5]) == [model.decode(codes[0], 3)[0], model.decode(codes[1], 5)[0]]
    with pytest.raises(DataError, match="a code of this model has 8 numbers, these have 3"):
        model.decode([1.0, 2.0, 3.0])


def test_texts_lie_between_two_texts_whatever_they_are_given_as(model: RNN) -> None:
    first, last = model.encode(poem(1))[0], model.encode(poem(2))[0]
    line = model.interpolate(poem(1), poem(2), steps=3, length=6)

    assert line == model.interpolate(first, last, 3, 6)
    assert line == model.decode(np.stack([first, (first + last) / 2, last]), 6)
    ids = [model.trained.corpus([poem(number)]) for number in (1, 2)]
    windows = [each.ids[: each.starts[1]] for each in ids]
    assert line == model.interpolate(windows[0].tolist(), windows[1], 3, 6)
    vectors = [model.trained.lexicon.matrix[window] for window in windows]
    assert line == model.interpolate(vectors[0], vectors[1][None], 3, 6)
    with pytest.raises(PlanError, match="steps: a line has 2 points or more, not 1"):
        model.interpolate(first, last, steps=1)
    with pytest.raises(DataError, match="a code of this model has 8 numbers, this one has 2"):
        model.interpolate([0.0, 1.0], last)


def test_reconstructions_stand_beside_what_was_given(model: RNN) -> None:
    found = model.reconstruct(poem(1), most=1)

    assert len(found) == 1 and found[0].given in poem(1)
    assert model.reconstruct([poem(1)], most=1) == found


def test_a_copy_needs_neither_the_run_nor_its_texts_nor_the_vectors(folder: Path, tmp_path: Path) -> None:
    model = trained_in(folder)
    text, report = model.generate(length=9), model.evaluate(side="valid").free
    copy = model.save(tmp_path / "kept" / "model")
    for name in ("results", "embeddings"):
        shutil.rmtree(folder / name)
    (folder / "poems.json").unlink()
    # Taken along to another place.
    moved = copy.rename(tmp_path / "moved")
    other = RNN(verbose=False).load(moved)

    assert other.generate(length=9) == text
    assert other.evaluate(side="valid").free == report
    assert (other.folder, other.save(), other.summary()) == (moved, moved, model.summary())
    with pytest.raises(RunError, match="is there already"):
        other.save(moved)


def test_a_folder_of_runs_gives_the_one_begun_last(model: RNN) -> None:
    assert RNN().load(model.folder.parent).folder == model.folder
    with pytest.raises(RunError, match="there is no run in"):
        RNN().load(model.folder.parent.parent)


def test_a_model_that_was_not_trained_says_so(tmp_path: Path) -> None:
    model = PoetryAutoencoder()
    for use in (model.generate, model.evaluate, model.summary, model.save, lambda: model.encode("a")):
        with pytest.raises(RunError, match="there is no model yet"):
            use()
    with pytest.raises(PlanError, match="path: missing"):
        model.train(tmp_path)
    assert repr(model) == "RNN(not trained)"


def test_nothing_is_trained_before_it_is_asked_for(folder: Path) -> None:
    model = trained_in(folder, train_immediately=False, data=None, design="tiny")

    assert model.results is None and not (folder / "results").exists()
    assert (model.architecture.hidden_size, model.data.path) == (128, folder / "poems.json")
    assert model.plan().name == "poems"


def test_texts_are_told_once(folder: Path) -> None:
    with pytest.raises(PlanError, match=r"path: other\.json is not .*poems\.json"):
        trained_in(folder, data={"path": "other.json"})
    same = trained_in(folder, data=DataConfig(path=str(folder / "poems.json")), train_immediately=False)
    assert RNN(data=folder / "poems.json").data == same.data


def test_a_linear_code_is_trained_and_writes_nothing_new(folder: Path) -> None:
    model = trained_in(folder, design={"rnn_type": "pca", "bottleneck_size": 8}, data={**DATA, "chunking": "truncate"})
    assert model.results is not None

    assert model.results["cut_off"] == {"texts": 8, "tokens": 8 * (6 * 5 + 5 + 2 - 12)}
    assert model.encode(poem(1)).shape[1] == 8
    assert model.summary() == model.trained.codec.name
    with pytest.raises(RunError, match="writes no new text"):
        model.generate()
    with pytest.raises(RunError, match="reads words, not vectors"):
        model.encode(np.zeros((2, DIMENSIONS)))


def test_words_that_a_model_leaves_out_have_no_code(folder: Path) -> None:
    (folder / "poems.json").write_text(json.dumps([{"text": f"{poem(seed)} strange"} for seed in range(8)]))
    model = trained_in(folder, design={"rnn_type": "pca"}, data={**DATA, "unknown_words": "drop"})

    with pytest.raises(DataError, match="words without a vector, which this model leaves out"):
        model.encode([model.trained.lexicon.vocabulary.index["strange"]])


def test_without_a_cache_every_run_is_tokenised_anew(folder: Path) -> None:
    model = trained_in(folder, design={"rnn_type": "pca"}, data={**DATA, "cache": False, "split_ratios": [1.0, 0.0]})
    assert model.results is not None

    assert model.results["report"] is None
    assert len(list((folder / "results").glob("datasets-*"))) == 1
    model.train()
    assert len(list((folder / "results").glob("datasets-*"))) == 2
    with pytest.raises(RunError, match="nothing was held out as valid"):
        model.evaluate()


def test_what_is_done_is_said_where_somebody_listens(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = RNN({"rnn_type": "pca", "latent_dim": 8}, TRAINING, {**DATA, "path": folder}, folder / "results")
    model.train()

    said = capsys.readouterr().out
    for part in ("latent_dim is bottleneck_size", "learning poems.json in", "training poems-001", "PCA-8"):
        assert part in said


class _Stopped:
    status, folder = "stopped", Path("results/poems-001")

    def __init__(self, signal: int) -> None:
        self.signal = signal


@pytest.mark.parametrize(("signal", "error"), [(2, KeyboardInterrupt), (15, SystemExit)])
def test_a_training_that_is_stopped_ends_as_its_signal_would(
    folder: Path, monkeypatch: pytest.MonkeyPatch, signal: int, error: type[BaseException]
) -> None:
    monkeypatch.setattr("headway.run.train.train", lambda *_, **__: _Stopped(signal))
    with pytest.raises(error):
        trained_in(folder)


def test_a_run_is_called_as_its_texts_are() -> None:
    names = {"my poems (2).json": "my_poems_2", "...": "poems", "x" * 90 + ".txt": "x" * 60}

    assert {name: poetry_training._name(Path(name)) for name in names} == names
