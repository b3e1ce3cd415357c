"""A model opened from a run, as its user has it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from made_run import WORDS, poems, trained

from headway.errors import DataError, HeadwayError, RunError
from headway.learners.autoencoder.generation import GenerationSettings
from headway.learners.autoencoder.trained import Trained, open_trained
from headway.learners.gradient.restore import restore

torch.set_num_threads(1)
TEXTS = [*poems(3, seed=9), "w1 w2 w3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("network"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("line"), 'learner.model.encoder="pca"')


@pytest.fixture(params=["run", "line"])
def model(request: pytest.FixtureRequest) -> Trained:
    """A network, or a linear code."""
    return open_trained(request.getfixturevalue(request.param))


def test_every_token_of_a_text_is_in_a_window_and_owned_once(model: Trained) -> None:
    found = model.corpus(TEXTS)

    words = model.lexicon.vocabulary.decode(found.counted[found.counted >= model.lexicon.vocabulary.specials].tolist())
    assert words.split() == " ".join(TEXTS).split()
    assert set(found.documents.tolist()) == set(range(len(TEXTS)))


def test_a_window_has_one_code_whatever_stands_beside_it(model: Trained) -> None:
    together = model.encode(TEXTS)
    alone = np.concatenate([model.encode([text]).codes for text in TEXTS])

    assert together.codes.shape == (len(together.corpus), 4)
    assert together.codes == pytest.approx(alone, abs=1e-5)


def test_words_it_never_met_are_read_as_unknown(model: Trained) -> None:
    found = model.corpus(["w1 strange w2"])

    assert [model.lexicon.vocabulary.symbols[token] for token in found.ids if token != 5 and token != 6] == [
        "w1", "<UNK>", "w2"
    ]  # fmt: skip


def test_without_any_text_there_is_nothing_to_encode(model: Trained) -> None:
    with pytest.raises(DataError, match="none of these texts has a word that the model knows"):
        model.encode([])


def test_a_code_is_written_as_text_of_the_length_asked_for(model: Trained) -> None:
    codes = model.encode(TEXTS).codes

    found = model.decode(codes, 5)

    assert len(found) == len(codes)
    assert model.decode(codes[0], np.array([5])) == found[:1]
    assert any(set(text.split()) & set(WORDS) for text in found)
    assert not any("<" in text for text in found)


@pytest.mark.parametrize(
    ("codes", "lengths", "said"),
    [
        (np.zeros((2, 5)), 3, "a code of this model has 4 numbers, these have 5"),
        (np.zeros((2, 4)), 13, "windows of this model have 1 to 12 tokens, not 13 to 13"),
        (np.zeros((2, 4)), np.array([0, 3]), "windows of this model have 1 to 12 tokens, not 0 to 3"),
    ],
)
def test_codes_of_another_model_are_refused(model: Trained, codes: np.ndarray, lengths: int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        model.decode(codes, lengths)


def test_no_codes_are_no_texts(model: Trained) -> None:
    assert model.decode(np.zeros((0, 4)), 3) == []


def test_windows_stand_beside_what_their_codes_give(model: Trained) -> None:
    found = model.rebuild(TEXTS)

    assert [each.document for each in found] == model.corpus(TEXTS).documents.tolist()
    assert all(each.cosine is not None and -1 <= each.cosine <= 1 for each in found)
    some = model.rebuild(TEXTS, most=2)
    assert [(each.given, each.made) for each in some] == [(each.given, each.made) for each in found[:2]]
    assert model.rebuild(["strange"])[0].cosine is None


def test_its_cosines_are_those_of_its_report(model: Trained) -> None:
    report = model.evaluate("valid")
    ground = model._ground
    texts = [model.lexicon.vocabulary.decode(ids) for ids in _documents(ground)]

    cosines = [each.cosine for each in model.rebuild(texts) if each.cosine is not None]

    # Windows weigh alike here and tokens there, and context counts here.
    assert report.free.cosine == pytest.approx(np.mean(cosines), abs=0.05)
    assert report.held.documents == len(texts)


def _documents(ground) -> list[list[int]]:
    read = ground.material.valid.dataset.read(ground.material.split.valid)
    return [part.tolist() for part in np.split(read.ids, read.starts[1:-1])]


def test_a_report_of_other_texts_says_what_of_them_was_learned(model: Trained) -> None:
    # The texts it was trained on: some were learned, some held out.
    report = model.evaluate(texts=poems())

    learned = len(model._ground.material.split.train)
    checks = report.background.checks
    assert checks["same words as a learned one"] == learned
    assert report.held.documents == len(poems())
    assert model.evaluate(texts=TEXTS[:3]).background.checks["same words as a learned one"] == 0


def test_a_side_that_nothing_was_held_out_for_has_no_report(tmp_path: Path) -> None:
    folder = trained(
        tmp_path, 'learner.model.encoder="pca"', "learner.split.test=0", "learner.split.train=0.8", "run.epochs=1"
    )
    model = open_trained(folder)

    assert model.holds("valid")
    assert not model.holds("test")
    with pytest.raises(RunError, match=r"nothing was held out as test; set learner\.split\.test above 0"):
        model.evaluate("test")


def test_the_same_seed_writes_the_same_text(run: Path) -> None:
    model, settings = open_trained(run), GenerationSettings(length=12)

    drawn = model.generate(seed_text=None, settings=settings, seed=3, number=2)

    assert drawn == model.generate(seed_text=None, settings=settings, seed=3, number=2)
    assert drawn != model.generate(seed_text=None, settings=settings, seed=4, number=2)
    assert drawn[0] != drawn[1]
    assert len(model.generate(seed_text="w1 w2", settings=settings)) == 1


def test_a_linear_code_writes_no_new_text(line: Path) -> None:
    with pytest.raises(RunError, match="a linear code writes no new text"):
        open_trained(line).generate(seed_text=None, settings=GenerationSettings())


def test_the_best_and_the_newest_model_are_those_of_their_checkpoints(run: Path) -> None:
    for which in ("best", "latest"):
        known = restore(run / "checkpoints", which)
        assert known is not None

        model = open_trained(run, which)

        assert model.position == known.position
        state = model.codec.model.state_dict()  # type: ignore[union-attr]
        assert all(torch.equal(each, known.tensors[f"model/{name}"]) for name, each in state.items())


def test_new_text_has_no_word_and_no_mark_that_was_never_learned(run: Path) -> None:
    model = open_trained(run)
    wild = GenerationSettings(length=400, temperature=50, top_k=None, top_p=1, length_penalty=1e6)

    words = {word for text in model.generate(seed_text=None, settings=wild, number=3) for word in text.split()}

    # Of emoji and the like there is none in these poems, though the tokenizer has signs for them.
    assert words <= set(WORDS)
    assert len(words) > len(WORDS) / 2


def test_of_a_run_without_evaluations_the_newest_is_the_best(tmp_path: Path) -> None:
    folder = trained(tmp_path, "learner.evaluate_every=0")

    assert open_trained(folder).position == open_trained(folder, "latest").position


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run to be damaged."""
    return Path(shutil.copytree(run, tmp_path / "run"))


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is no run .*headway runs list"):
        open_trained(tmp_path)


@pytest.mark.parametrize("plan", ["{}", "[]", "{", '{"learner": 7}', '{"learner": {"kind": "autoencoder"}}'])
def test_a_damaged_plan_is_named(copy: Path, plan: str) -> None:
    (copy / "plan.resolved.json").write_text(plan)

    with pytest.raises(HeadwayError, match=r"plan\.resolved\.json"):
        open_trained(copy)


def test_a_run_of_another_kind_is_refused(copy: Path) -> None:
    plan = json.loads((copy / "plan.resolved.json").read_text())
    plan["learner"] = {"kind": "patterns"}
    (copy / "plan.resolved.json").write_text(json.dumps(plan))

    with pytest.raises(RunError, match="is a run of kind 'patterns', not of an autoencoder"):
        open_trained(copy)


@pytest.mark.parametrize(
    ("gone", "said"), [("model", "has learned nothing yet"), ("checkpoints", "has saved nothing yet")]
)
def test_a_run_that_has_nothing_yet_says_so(copy: Path, gone: str, said: str) -> None:
    shutil.rmtree(copy / gone)

    with pytest.raises(RunError, match=rf"{said}; continue it with: headway train"):
        open_trained(copy)


def test_a_linear_run_that_has_nothing_yet_says_so(line: Path, tmp_path: Path) -> None:
    there = Path(shutil.copytree(line, tmp_path / "run"))
    (there / "linear.npz").unlink()

    with pytest.raises(RunError, match="has saved nothing yet"):
        open_trained(there)


def test_a_model_that_sees_past_its_code_decodes_none(tmp_path: Path) -> None:
    model = open_trained(trained(tmp_path, 'learner.model.attention="bypass"'))

    assert model.encode(TEXTS).codes.shape[1] == 4
    assert model.rebuild(TEXTS)[0].made
    with pytest.raises(RunError, match=r"attends to its encoder's states \(bypass\): a code alone is not decoded"):
        model.decode(model.encode(TEXTS).codes, 3)
