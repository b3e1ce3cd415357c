"""The naive loop that the autoencoder is measured against: the same model, the same windows, the same judgement."""

import json
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

import naive_autoencoder
from headway.data.vocabulary import Vocabulary
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.groundwork import MODEL
from headway.learners.autoencoder.lexicon import Facts, Lexicon
from naive_autoencoder import NaiveAutoencoder, NaiveCodec, PaddedWindows, Settings, judge, network_of, perform, train

SMALL = Settings(batch=4, longest=6, hidden=8, code=3, dropout=0.0, learning_rate=0.01)
WORDS, DIMENSIONS = 13, 5
# Padding and the unknown word.
MARKS = 2


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def corpus(windows: int = 20, seed: int = 0) -> Corpus:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(2, 7, windows)
    ids = draw.integers(MARKS, WORDS, int(lengths.sum()))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(ids, starts, np.ones(len(ids), bool), np.arange(windows))


def lexicon() -> Lexicon:
    matrix = np.random.default_rng(1).normal(size=(WORDS, DIMENSIONS)).astype(np.float32)
    matrix[0] = 0
    vocabulary = Vocabulary([f"w{number}" for number in range(WORDS)], "plain", MARKS)
    facts = Facts(source="made", made_up=False, found={}, rare=0)
    ids = np.arange(WORDS)
    return Lexicon(vocabulary, matrix, ids >= MARKS, ids, np.ones(WORDS, np.int64), facts)


def material(folder: Path) -> Path:
    lexicon().save(folder / MODEL)
    for side, seed in (("train", 0), ("valid", 1)):
        for name, values in (
            (name, getattr(corpus(seed=seed), name)) for name in ("ids", "starts", "owned", "documents")
        ):
            np.save(folder / f"{side}-{name}.npy", values)
    return folder


def test_windows_are_padded_and_every_target_is_a_copy() -> None:
    given, words = corpus(), lexicon()
    windows = PaddedWindows(given, words.matrix, 6)
    first, length = windows[0], int(given.lengths[0])
    units = words.matrix / np.maximum(np.linalg.norm(words.matrix, axis=1, keepdims=True), 1e-12)

    assert windows.vectors.shape == (20, 6, DIMENSIONS)
    assert windows.mask.sum(dim=1).tolist() == given.lengths.tolist()
    assert np.allclose(first["input"][:length], units[given.ids[:length]] * DIMENSIONS**0.5)
    assert not first["input"][length:].any()
    assert first["target"].tolist() == first["input"].tolist()
    assert first["target"].data_ptr() != first["input"].data_ptr()


def test_a_step_is_given_the_true_vector_before_it_or_the_written_one() -> None:
    model = NaiveAutoencoder(DIMENSIONS, SMALL).eval()
    code, targets = torch.randn(2, 3), torch.randn(2, 6, DIMENSIONS)
    changed = targets.clone()
    changed[:, 3] += 1
    with torch.no_grad():
        forced, moved = (model.decode(code, 6, each, 1.0, random.Random(0)) for each in (targets, changed))
        free = model.decode(code, 6, None, 0.0, random.Random(0))
        unforced = model.decode(code, 6, targets, 0.0, random.Random(0))

    assert forced[:, :4].tolist() == moved[:, :4].tolist()
    assert (forced[:, 4:] != moved[:, 4:]).any()
    assert unforced.tolist() == free.tolist()


def test_codes_and_outputs_are_those_of_the_learner_with_the_same_weights() -> None:
    model, network = NaiveAutoencoder(DIMENSIONS, SMALL).eval(), network_of(DIMENSIONS, replace(SMALL, seed=9)).eval()
    model.take(network)
    windows, lengths = PaddedWindows(corpus(), lexicon().matrix, 6), torch.from_numpy(corpus().lengths)
    with torch.no_grad():
        theirs = network.read(windows.vectors, lengths)
        code = model.encode(windows.vectors, windows.mask)
        forced = model.decode(code, 6, windows.vectors, 1.0, random.Random(0))
        free = model.decode(code, 6, None, 0.0, random.Random(0))

        assert torch.allclose(code, theirs.z, atol=1e-6)
        assert torch.allclose(forced, network.decode(theirs, network.previous(windows.vectors)), atol=1e-5)
        assert torch.allclose(free, network.free(theirs, 6), atol=1e-5)


def test_a_code_is_that_of_the_window_whatever_it_is_padded_to() -> None:
    model, given, words = NaiveAutoencoder(DIMENSIONS, SMALL).eval(), corpus(), lexicon()
    short, long = (PaddedWindows(given, words.matrix, longest) for longest in (6, 9))
    with torch.no_grad():
        codes = [model.encode(each.vectors, each.mask) for each in (short, long)]

    assert torch.allclose(codes[0], codes[1], atol=1e-6)


def test_first_weights_are_those_of_the_learner() -> None:
    model, network = NaiveAutoencoder(DIMENSIONS, SMALL), network_of(DIMENSIONS, SMALL)

    assert sum(each.numel() for each in model.parameters()) == sum(each.numel() for each in network.parameters())
    assert model.decoder.weight_hh_l0.tolist() == network.state_dict()["decoder.layers.0.weight_hh_l0"].tolist()


def test_training_learns_saves_and_counts_what_it_did(tmp_path: Path) -> None:
    given, words = corpus(), lexicon()
    state = torch.random.get_rng_state()
    _, before = train(given, words.matrix, SMALL, tmp_path)
    _, after = train(given, words.matrix, replace(SMALL, epochs=12), tmp_path)

    assert torch.random.get_rng_state().tolist() == state.tolist()
    assert after.loss < before.loss
    assert (after.sequences, after.tokens, after.padded_tokens) == (240, 12 * len(given.ids), 12 * 20 * 6)
    assert sorted(path.name for path in tmp_path.glob("*.pt")) == [
        f"checkpoint_epoch_{epoch}.pt" for epoch in (1, 10, 12, 5)
    ]
    assert after.peak_rss_bytes >= after.start_rss_bytes > 0
    assert after.seconds > after.save_seconds > 0


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    given, words = corpus(), lexicon()
    models = [train(given, words.matrix, replace(SMALL, dropout=0.2, seed=seed), tmp_path)[0] for seed in (3, 3, 4)]
    outputs = [model.output.weight.tolist() for model in models]

    assert outputs[0] == outputs[1] != outputs[2]


def test_what_was_trained_is_judged_as_the_learner_is(tmp_path: Path) -> None:
    given, words = corpus(), lexicon()
    model, _ = train(given, words.matrix, replace(SMALL, epochs=20, learning_rate=0.03), tmp_path)
    found = judge(NaiveCodec(model, words.matrix, SMALL), given, given, words)

    assert {"cosine", "skill", "constant"} <= found.keys()
    assert found["skill"] == pytest.approx((found["cosine"] - found["constant"]) / (1 - found["constant"]))
    assert found["skill"] > 0


def test_held_out_windows_may_be_longer_than_those_that_were_learned(tmp_path: Path) -> None:
    words = lexicon()
    model, _ = train(corpus(), words.matrix, SMALL, tmp_path)
    codec = NaiveCodec(model, words.matrix, SMALL)
    long = Corpus(np.ones(9, np.int64), np.array([0, 9]), np.ones(9, bool), np.array([0]))
    codes = codec.encode(long)

    assert codec.decode(codes, long.lengths).shape == (9, DIMENSIONS)
    assert codec.forced(long) is None


def test_the_command_trains_on_material_from_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(SMALL).items()]
    monkeypatch.setattr(sys, "argv", ["naive", str(material(tmp_path)), "--into", str(tmp_path), *options])
    naive_autoencoder.main()

    assert json.loads(capsys.readouterr().out)["sequences"] == 20
    assert "skill" not in perform(tmp_path, SMALL, into=tmp_path, evaluate=False)
