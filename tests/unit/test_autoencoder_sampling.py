"""Scheduled sampling in two passes."""

import pytest
import torch
from made_autoencoder import LENGTHS, alive, model, windows
from torch import Tensor

from headway.learners.autoencoder.draws import Draws
from headway.learners.autoencoder.model import Autoencoder
from headway.learners.autoencoder.sampling import reconstruct, truths

CPU = torch.device("cpu")


def _truths(ratio: float) -> Tensor | None:
    draws = Draws()
    draws.reseed(1, 2)
    return truths(ratio, (400, 50), draws, CPU)


def test_coins_fall_as_often_as_the_ratio_says_and_as_seed_and_step_say() -> None:
    first, again = _truths(0.3), _truths(0.3)
    assert first is not None
    assert again is not None

    assert torch.equal(first, again)
    assert abs(float(first.float().mean()) - 0.3) < 0.02
    assert 0 < first.float().mean(dim=1).std() < 0.2


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_certain_coins_are_not_drawn(ratio: float) -> None:
    draws = Draws()
    truths(ratio, (4, 5), draws, CPU)

    assert torch.equal(draws.uniform((3,), CPU), Draws().uniform((3,), CPU))
    assert (_truths(ratio) is None) == (ratio == 1)


def test_with_all_words_true_there_is_one_pass_and_it_is_teacher_forcing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ids = alive(model()), windows()
    code = made.read(ids, LENGTHS)
    forced = made.decode(code.z, made.previous(ids), LENGTHS)
    passes = _count_passes(made, monkeypatch)

    assert torch.equal(reconstruct(made, code, ids, None), forced)
    assert passes == [True]


def test_a_decoder_without_previous_words_needs_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ids = alive(model(decoder="parallel")), windows()
    code = made.read(ids, LENGTHS)
    passes = _count_passes(made, monkeypatch)

    assert torch.equal(reconstruct(made, code, ids, torch.zeros(3, 6, dtype=torch.bool)), made.free(code.z, LENGTHS))
    assert passes == [True]


def test_inputs_are_true_words_or_predictions_of_the_first_pass_as_the_coins_fell() -> None:
    made, ids = alive(model()), windows()
    code = made.read(ids, LENGTHS)
    true = torch.rand(3, 6, generator=torch.Generator().manual_seed(0)) < 0.5
    inputs = made.previous(ids)
    own = made.decode(code.z, inputs, LENGTHS)
    expected = inputs.clone()
    for row in range(3):
        for place in range(1, 6):
            if not true[row, place]:
                expected[row, place] = own[row, place - 1]

    assert torch.equal(reconstruct(made, code, ids, true), made.decode(code.z, expected, LENGTHS))


def test_no_gradient_flows_through_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ids = alive(model()), windows()
    passes = _count_passes(made, monkeypatch)
    reconstruct(made, made.read(ids, LENGTHS), ids, torch.zeros(3, 6, dtype=torch.bool))

    assert passes == [False, True]


def test_nothing_is_dropped_from_predictions_and_all_else_stays_as_drawn() -> None:
    made, ids = model(dropout=0.5, layers=2), windows()
    code = made.read(ids, LENGTHS)
    made.reseed(1, 1)
    forced = reconstruct(made, code, ids, None)
    made.reseed(1, 1)
    sampled = reconstruct(made, code, ids, torch.ones(3, 6, dtype=torch.bool))

    assert torch.equal(sampled, forced)


def test_every_weight_has_a_gradient_under_autocast_after_a_pass_without() -> None:
    made, ids = alive(model(attention="code")), windows()
    with torch.autocast("cpu", torch.bfloat16):
        output = reconstruct(made, made.read(ids, LENGTHS), ids, torch.zeros(3, 6, dtype=torch.bool))
    output.float().square().sum().backward()

    assert all(each.grad is not None and each.grad.any() for each in made.network.decoder.parameters())


def test_reduced_precision_stays_near() -> None:
    made, ids = alive(model(hidden=64)), windows()
    full = reconstruct(made, made.read(ids, LENGTHS), ids, None)
    with torch.autocast("cpu", torch.bfloat16):
        half = reconstruct(made, made.read(ids, LENGTHS), ids, None).float()

    assert (half - full).norm() < 0.05 * full.norm()


def _count_passes(made: Autoencoder, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each call of the decoder, whether it had a gradient."""
    passes: list[bool] = []
    decode = made.network.decode

    def counted(code: object, inputs: Tensor) -> Tensor:
        passes.append(torch.is_grad_enabled())
        return decode(code, inputs)  # type: ignore[arg-type]

    monkeypatch.setattr(made.network, "decode", counted)
    return passes


def test_given_nothing_a_window_reads_what_is_written_of_nothing_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    made, ids = alive(model()), windows()
    code, true = made.read(ids, LENGTHS), torch.tensor([[True], [False], [True]]).expand(3, 6)
    blank = made.network.decoder.output.bias.expand(3, 6, -1)
    given = torch.cat([made.previous(ids)[:, :1], blank[:, 1:]], dim=1)
    expected = torch.where(true[..., None], made.previous(ids), given)
    passes = _count_passes(made, monkeypatch)

    assert torch.equal(reconstruct(made, code, ids, true, unforced="nothing"), made.decode(code.z, expected, LENGTHS))
    assert passes == [True, True]


def test_a_window_has_one_coin_where_it_is_all_or_nothing() -> None:
    draws = Draws()
    draws.reseed(1, 2)
    coins = truths(0.3, (4000, 5), draws, CPU, windows=True)

    assert coins is not None
    assert torch.equal(coins.all(dim=1), coins.any(dim=1))
    assert abs(float(coins.float().mean()) - 0.3) < 0.03
