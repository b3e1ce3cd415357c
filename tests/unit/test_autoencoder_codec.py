"""A model as evaluations take it: the same results whatever the batches are."""

from typing import Any

import numpy as np
import pytest
import torch
from made_autoencoder import DIMENSIONS, FIRST, WORDS, alive, model

from headway.learners.autoencoder import codec as codecs
from headway.learners.autoencoder.codec import NetworkCodec, Still, parts
from headway.learners.autoencoder.corpus import Corpus

LONGEST = 9
KINDS = [
    {},
    {"encoder": "gru", "layers": 2, "residual": True, "bidirectional": True},
    {"encoder": "rnn", "decoder": "parallel"},
    {"encoder": "transformer", "heads": 2, "attention": "code"},
    {"attention": "bypass", "heads": 2},
    {"code_norm": "batch"},
]
Kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())) or "lstm")


def codec(**kind: Any) -> NetworkCodec:
    """One with dropout, which must not matter."""
    return NetworkCodec(alive(model(dropout=0.5, **kind)).train(), longest=LONGEST)


def corpus(windows: int = 30) -> Corpus:
    draw = np.random.default_rng(3)
    lengths = draw.integers(1, LONGEST + 1, size=windows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(
        draw.integers(FIRST, WORDS, size=starts[-1]), starts, np.ones(starts[-1], bool), np.arange(windows) // 3
    )


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Any:
    """From now on, every window is a batch of its own."""
    return lambda: monkeypatch.setattr(codecs, "_TOKENS", 1)


@Kind
def test_results_do_not_depend_on_batches(kind: dict[str, Any], alone: Any) -> None:
    made, held = codec(**kind), corpus()
    codes = made.encode(held)
    together = (codes, made.decode(codes, held.lengths), made.forced(held))
    alone()

    apart = (made.encode(held), made.decode(codes, held.lengths), made.forced(held))

    for one, other in zip(together, apart, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert np.abs(one - other).max() <= 3e-6 * np.abs(one).max()


@Kind
def test_results_do_not_depend_on_the_order_of_windows(kind: dict[str, Any]) -> None:
    made, held = codec(**kind), corpus()
    visit = np.random.default_rng(0).permutation(len(held))

    assert made.encode(held)[visit] == pytest.approx(made.encode(held.part(visit)), rel=1e-5, abs=1e-6)


@Kind
def test_there_is_one_output_for_each_token(kind: dict[str, Any]) -> None:
    made, held = codec(**kind), corpus()
    forced = made.forced(held)

    assert made.decode(made.encode(held), held.lengths).shape == (held.tokens, DIMENSIONS)
    assert forced is None or forced.shape == (held.tokens, DIMENSIONS)
    assert (forced is None) == (kind.get("decoder") == "parallel")


@Kind
def test_outputs_are_those_of_the_model_itself(kind: dict[str, Any]) -> None:
    made, held = codec(**kind), corpus(5)
    network = made.model.eval()
    for i in range(len(held)):
        window = held.part(slice(i, i + 1))
        ids, lengths = torch.from_numpy(window.ids)[None], torch.from_numpy(window.lengths)
        with torch.no_grad():
            seen = network.read(ids, lengths)
            free = network.free(seen.z, lengths, seen.states)[0].numpy()

        assert np.allclose(made.decode(made.encode(window), window.lengths), free, rtol=1e-5, atol=1e-6)
        assert np.allclose(made.encode(window)[:, : made.code], seen.z.numpy(), rtol=1e-5, atol=1e-6)


def test_what_goes_past_a_code_stands_after_it() -> None:
    bypass, bottleneck = codec(attention="bypass", heads=2), codec()

    assert bypass.bypass
    assert not bottleneck.bypass
    assert bypass.encode(corpus()).shape == (30, bypass.code + LONGEST * 16)
    assert bottleneck.encode(corpus()).shape == (30, bottleneck.code)


def test_what_goes_past_a_code_changes_what_is_written() -> None:
    made, held = codec(attention="bypass", heads=2), corpus()
    codes = made.encode(held)
    others = codes.copy()
    others[:, made.code :] = 0

    assert not np.allclose(made.decode(codes, held.lengths), made.decode(others, held.lengths))


def test_nothing_is_encoded_and_decoded_to_nothing() -> None:
    made = codec()

    assert made.encode(corpus(0)).shape == (0, made.code)
    assert made.decode(np.zeros((0, made.code), np.float32), np.zeros(0, np.int64)).shape == (0, DIMENSIONS)


def test_a_model_learns_on_as_before_it_was_looked_at() -> None:
    made = codec()
    made.encode(corpus())

    assert made.model.training
    with pytest.raises(ZeroDivisionError), Still(made.model):
        assert not made.model.training
        assert not torch.is_grad_enabled()
        raise ZeroDivisionError
    assert made.model.training
    assert torch.is_grad_enabled()


def test_its_name_says_what_it_is() -> None:
    assert codec(encoder="gru", layers=2).name == "gru 2 x 16, recurrent decoder"


def test_what_is_only_context_weighs_nothing() -> None:
    held = corpus(4)
    half = Corpus(held.ids, held.starts, np.arange(held.tokens) % 2 == 0, held.documents)

    weights = torch.cat([part.weights[part.weights > 0] for part in parts(half, torch.device("cpu"))])

    assert int(weights.sum()) == int(half.owned.sum())
