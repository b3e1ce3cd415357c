"""Decoders: no output knows its own word, and one call for all steps equals the steps one by one."""

from itertools import product
from typing import Any

import pytest
import torch
from made_autoencoder import DIMENSIONS, FIRST, LENGTHS, WORDS, alive, model, windows
from torch import Tensor

from headway.learners.autoencoder.attention import WAVES, positions
from headway.learners.autoencoder.decoders import RecurrentDecoder
from headway.learners.autoencoder.model import Autoencoder, Encoded

DECODERS: list[dict[str, Any]] = [
    {"decoder": decoder, "attention": attention, "encoder": encoder, "layers": 2, "residual": residual}
    for decoder, attention, (encoder, residual) in product(
        ("recurrent", "parallel"), ("none", "code", "bypass"), (("lstm", False), ("gru", True), ("transformer", False))
    )
]


def _decode(made: Autoencoder, code: Encoded, ids: Tensor) -> Tensor:
    made.reseed(3, 4)
    return made.decode(code.z, made.previous(ids), code.lengths, code.states)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("settings", DECODERS)
def test_no_output_depends_on_its_own_word_or_a_later_one(settings: dict[str, Any], training: bool) -> None:
    made = alive(model(dropout=0.2, **settings)).train(training)
    ids = torch.randint(FIRST, WORDS, (2, 6), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        code = made.read(ids, torch.tensor([6, 4]))
        before = _decode(made, code, ids)
        for place in range(6):
            changed = ids.clone()
            changed[:, place:] = FIRST + (changed[:, place:] - FIRST + 1) % (WORDS - FIRST)
            after = _decode(made, code, changed)

            assert torch.equal(after[:, : place + 1], before[:, : place + 1])
            if made.takes_previous and place < 5:
                assert not torch.equal(after[:, place + 1], before[:, place + 1])


@pytest.mark.parametrize("settings", [each for each in DECODERS if each["decoder"] == "recurrent"])
def test_one_call_for_all_steps_equals_the_steps_one_by_one(settings: dict[str, Any]) -> None:
    made, ids = alive(model(**settings)), windows()
    seen = made.read(ids, LENGTHS)
    states = None if seen.states is None else seen.states.detach().requires_grad_()
    code = Encoded(seen.z.detach().requires_grad_(), LENGTHS, states)
    at_once = made.decode(code.z, made.previous(ids), LENGTHS, code.states)
    one_by_one = _by_steps(made, code, made.previous(ids))

    assert _apart(at_once, one_by_one) < 1e-6
    given = [code.z, *([] if states is None else [states]), *made.network.decoder.parameters()]
    ours, theirs = (torch.autograd.grad(each.square().sum(), given) for each in (at_once, one_by_one))
    for name, (first, second) in enumerate(zip(ours, theirs, strict=True)):
        assert _apart(first, second) < 2e-5, name
    assert _apart(*(torch.cat([each.flatten() for each in some]) for some in (ours, theirs))) < 1e-6


@pytest.mark.parametrize("settings", DECODERS)
def test_running_freely_reads_what_was_written(settings: dict[str, Any]) -> None:
    made, ids = alive(model(**settings)).eval(), windows()
    with torch.no_grad():
        code = made.read(ids, LENGTHS)
        free = made.free(code.z, LENGTHS, code.states)
        inputs = torch.cat([made.previous(ids)[:, :1], free[:, :-1]], dim=1)

        assert torch.allclose(made.decode(code.z, inputs, LENGTHS, code.states), free, atol=1e-5)


def test_free_running_depends_on_the_code() -> None:
    for settings in DECODERS:
        made = alive(model(**settings)).eval()
        code = made.read(windows(), LENGTHS)

        assert not torch.allclose(
            made.free(code.z, LENGTHS, code.states), made.free(code.z.flip(0), LENGTHS, code.states), atol=1e-4
        )


def test_a_decoder_reads_directions_whatever_their_length() -> None:
    made, ids = alive(model()), windows()
    code, inputs = made.read(ids, LENGTHS), made.previous(ids)

    assert torch.allclose(made.decode(code.z, 7 * inputs, LENGTHS), made.decode(code.z, inputs, LENGTHS), atol=1e-6)


def test_a_parallel_decoder_reads_no_words() -> None:
    made = model(decoder="parallel")

    assert not made.takes_previous
    assert model().takes_previous
    assert made.previous(windows()).shape == (3, 6, DIMENSIONS)


def test_going_past_the_code_needs_the_states() -> None:
    made = model(attention="bypass")
    code = made.read(windows(), LENGTHS)
    assert code.states is not None

    with pytest.raises(ValueError, match="states"):
        made.free(code.z, LENGTHS)


def test_attention_to_states_looks_at_no_padding() -> None:
    made, ids = alive(model(attention="bypass")).eval(), windows()
    code = made.read(ids, LENGTHS)
    assert code.states is not None
    valid = torch.arange(6) < LENGTHS[:, None]
    other = torch.where(valid[..., None], code.states, 9.0)

    assert torch.equal(made.free(code.z, LENGTHS, other), made.free(code.z, LENGTHS, code.states))


def test_places_of_a_window_are_told_apart_however_long_it_is() -> None:
    codes = positions(torch.tensor([200, 3]), 200)

    assert torch.cdist(codes[0], codes[0]).fill_diagonal_(9).min() > 0.01
    assert not codes[1, :, 3:WAVES].any()
    waves = positions(torch.tensor([50]), 50)[0, :, :50]
    assert torch.allclose((waves.T @ waves).fill_diagonal_(0), torch.zeros(50, 50), atol=1e-3)


def _by_steps(made: Autoencoder, code: Encoded, inputs: Tensor) -> Tensor:
    decoder = made.network.decoder
    assert isinstance(decoder, RecurrentDecoder)
    state, held, outputs = decoder.begin(code.z), decoder.held(code.z, code.states), []
    for place in range(inputs.shape[1]):
        output, state = decoder.step(inputs[:, place], state, place, held, code.lengths)
        outputs.append(output)
    return torch.stack(outputs, dim=1)


def _apart(first: Tensor, second: Tensor) -> float:
    return float(((first - second).norm() / first.norm().clamp_min(1e-12)).detach())
