"""The whole autoencoder: its first values, what decides its numbers, and what it says of itself."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from made_autoencoder import DIMENSIONS, FIRST, LENGTHS, WORDS, alive, model, section, table, windows
from torch import nn

from headway.errors import PlanError
from headway.learners.autoencoder.initial import initialise
from headway.learners.autoencoder.model import Autoencoder, doubts
from headway.learners.autoencoder.network import Network
from headway.learners.autoencoder.noise import Noise

KINDS: list[dict[str, Any]] = [
    {"encoder": "lstm"},
    {"encoder": "gru", "layers": 2, "residual": True},
    {"encoder": "rnn", "bidirectional": True},
    {"encoder": "lstm", "bidirectional": True, "layers": 2, "decoder": "parallel"},
    {"encoder": "transformer", "decoder": "parallel", "attention": "code"},
]


def test_building_and_running_draws_from_no_global_generator() -> None:
    before = torch.get_rng_state()
    made = model(layers=2, dropout=0.5, token_head="free", attention="code", encoder="transformer")
    made.read(windows(), LENGTHS, Noise("gaussian", 0.5))

    assert torch.equal(torch.get_rng_state(), before)


def test_first_values_are_those_of_the_generator() -> None:
    first, again, other = model(seed=1), model(seed=1), model(seed=2)

    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.network.code.weight, other.network.code.weight)


@pytest.mark.parametrize("settings", KINDS)
def test_every_value_of_a_finished_model_was_given(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def to_nothing(part: nn.Module, *, device: str) -> nn.Module:
        return part._apply(lambda each: torch.full_like(each, torch.nan, device=device))

    monkeypatch.setattr(nn.Module, "to_empty", to_nothing)
    made = model(token_head="tied", **settings)

    assert all(each.isfinite().all() for each in made.parameters())


def test_a_part_without_initial_values_is_refused() -> None:
    with pytest.raises(ValueError, match="Bilinear"):
        initialise(nn.Sequential(nn.Bilinear(2, 2, 2)), torch.Generator())


def test_recurrent_weights_start_orthogonal_and_input_weights_by_xavier() -> None:
    made = model(hidden=32, layers=2)
    for layer in (*made.network.encoder.modules(), *made.network.decoder.modules()):
        if not isinstance(layer, nn.LSTM):
            continue
        for gate in layer.weight_hh_l0.chunk(4):
            assert torch.allclose(gate @ gate.T, torch.eye(32), atol=1e-5)
        for gate in layer.weight_ih_l0.chunk(4):
            bound = (6 / sum(gate.shape)) ** 0.5
            assert 0.9 * bound < gate.abs().max() <= bound


def test_the_forget_gate_of_an_lstm_starts_open_by_one_of_its_two_biases() -> None:
    layers = [each for each in model(layers=2).modules() if isinstance(each, nn.LSTM)]

    assert len(layers) == 4
    for layer in layers:
        expected = torch.zeros(64)
        expected[16:32] = 1
        assert torch.equal(layer.bias_ih_l0, expected)
        assert not layer.bias_hh_l0.any()


def test_the_map_to_the_code_starts_with_a_tenth_of_the_usual_gain() -> None:
    weight = model(hidden=64, code=32).network.code.weight
    bound = 0.1 * (6 / sum(weight.shape)) ** 0.5

    assert 0.9 * bound < weight.abs().max() <= bound


@pytest.mark.parametrize("settings", KINDS)
def test_the_mean_direction_of_what_is_learned_is_written_before_anything_is(settings: dict[str, Any]) -> None:
    made, counts = model(**settings).eval(), torch.arange(WORDS)
    mean = (counts[:, None] * made.unit).sum(dim=0) / counts.sum()
    made.expect(counts)
    seen = made.read(windows(), LENGTHS)
    written = made.free(seen.z, LENGTHS, seen.states)

    assert torch.allclose(written, mean.expand_as(written), atol=1e-6)
    assert not torch.allclose(mean, made.unit.mean(dim=0), atol=1e-3)


@pytest.mark.parametrize(("settings", "parameters"), [({}, 3_587_864), ({"layers": 2, "code": 128}, 8_020_952)])
def test_the_reference_models_have_the_size_they_are_known_to_have(settings: dict[str, Any], parameters: int) -> None:
    words = torch.randn(3, 300, generator=torch.Generator().manual_seed(0))
    made = Autoencoder(section(**{"hidden": 512, "code": 64, **settings}), words, generator=torch.Generator())

    assert made.count_parameters() == parameters
    if not settings:
        assert round(made.flops_per_token() / 1e6) == 21
        assert made.flops_per_token(two_pass=True) > 1.1 * made.flops_per_token()


@pytest.mark.parametrize("settings", KINDS)
def test_a_code_does_not_depend_on_padding_or_on_other_windows(settings: dict[str, Any]) -> None:
    made, ids = alive(model(**settings)).eval(), windows()
    codes = made.encode(ids, LENGTHS)
    longer = F.pad(ids, (0, 4), value=WORDS - 1)

    assert torch.allclose(made.encode(longer, LENGTHS), codes, atol=1e-5)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = made.encode(ids[row : row + 1, :length], LENGTHS[row : row + 1])
        assert torch.allclose(alone[0], codes[row], atol=1e-5)


@pytest.mark.parametrize("settings", KINDS)
def test_a_code_depends_on_every_word_and_their_order(settings: dict[str, Any]) -> None:
    made, ids = alive(model(**settings)).eval(), windows()[:1]
    code = made.encode(ids, LENGTHS[:1])
    for place in range(6):
        changed = ids.clone()
        changed[0, place] = FIRST + (changed[0, place] - FIRST + 1) % (WORDS - FIRST)
        assert not torch.allclose(made.encode(changed, LENGTHS[:1]), code, atol=1e-5)

    assert not torch.allclose(made.encode(ids.flip(1), LENGTHS[:1]), code, atol=1e-5)


@pytest.mark.parametrize("settings", KINDS)
@pytest.mark.parametrize("length", [1, 3, 70])
def test_as_many_vectors_come_out_as_are_asked_for(settings: dict[str, Any], length: int) -> None:
    made = model(**settings).eval()
    ids = torch.full((2, length), FIRST)
    lengths = torch.tensor([length, 1])
    code = made.read(ids, lengths)

    assert made.decode(code.z, made.previous(ids), lengths).shape == (2, length, DIMENSIONS)
    assert made.free(code.z, lengths).shape == (2, length, DIMENSIONS)
    assert made.free(code.z, length).shape == (2, length, DIMENSIONS)


def test_all_that_is_random_depends_on_seed_step_part_and_rank_alone() -> None:
    made, ids = model(dropout=0.5, layers=2), windows()

    def code(*key: int) -> torch.Tensor:
        made.reseed(*key)
        return made.encode(ids, LENGTHS, Noise("gaussian", 0.3))

    first = code(1, 2)
    torch.manual_seed(9)
    made.encode(ids, LENGTHS)

    assert torch.equal(code(1, 2), first)
    assert torch.equal(code(1, 2, 0, 0), first)
    keys = ((2, 2), (1, 3), (1, 2, 1), (1, 2, 0, 1))
    assert not any(torch.equal(code(*key), first) for key in keys)


def test_nothing_is_dropped_in_evaluation() -> None:
    made, ids = model(dropout=0.5).eval(), windows()

    assert torch.equal(made.encode(ids, LENGTHS), made.encode(ids, LENGTHS))


def test_dropping_keeps_the_mean() -> None:
    made = model(dropout=0.25)
    dropped = made.network.dropout(torch.ones(200, 200))

    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert abs(float(dropped.mean()) - 1) < 0.02


def test_the_table_is_not_part_of_the_state() -> None:
    made = model(trainable_vectors=True)

    assert not {"table", "unit"} & set(made.state_dict())
    assert made.vectors is not None
    assert made.vectors.requires_grad


def test_vectors_that_are_trained_change_what_is_read_and_nothing_else() -> None:
    made, plain, ids = model(trainable_vectors=True), model(), windows()
    assert made.vectors is not None
    assert torch.allclose(made.encode(ids, LENGTHS), plain.encode(ids, LENGTHS))
    made.encode(ids, LENGTHS).square().sum().backward()
    gradient = made.vectors.grad
    assert gradient is not None

    used = torch.zeros(WORDS, dtype=torch.bool)
    used[ids[ids > 0]] = True
    assert torch.equal(gradient.any(dim=1), used)
    assert torch.equal(made.table, table())


def test_a_bypass_is_no_bottleneck_and_says_so() -> None:
    made = model(attention="bypass")

    assert not made.is_bottleneck
    assert made.summary().startswith("NO BOTTLENECK")
    assert any("bypass" in line for line in doubts(made.section))
    assert model(attention="code").is_bottleneck
    assert "NO BOTTLENECK" not in model().summary()


def test_a_summary_counts_what_was_built() -> None:
    made = model(token_head="free")

    assert f"{made.count_parameters():,} parameters" in made.summary()
    assert "100.0 to 1" in made.summary(window=50)
    assert made.compression(10) == 20
    assert made.flops_per_token() - model().flops_per_token() == 6 * WORDS * DIMENSIONS


def test_what_is_done_once_for_a_window_is_no_work_on_a_token() -> None:
    codes = [model(decoder=kind, code=code).flops_per_token() for kind in ("recurrent", "parallel") for code in (4, 40)]
    slots = [model(attention="code", slots=slots).flops_per_token() for slots in (1, 9)]

    assert codes[0] == codes[1]
    assert codes[2] == codes[3]
    assert slots[0] == slots[1]
    assert slots[0] < model(attention="bypass").flops_per_token()


def test_unusual_settings_are_pointed_out() -> None:
    assert doubts(section(code=64)) == []
    assert any("4 is outside 8 to 128" in line for line in doubts(section(code=4)))
    assert any("batch" in line for line in doubts(section(code=64, code_norm="batch")))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encoder": "pca"}, "LinearCodec"),
        ({"encoder": "transformer", "bidirectional": True}, "bidirectional"),
        ({"encoder": "transformer", "hidden": 18}, "18 .* 4 heads"),
        ({"attention": "code", "hidden": 18}, "heads"),
    ],
)
def test_what_cannot_be_built_is_refused_with_its_reason(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        model(**settings)


def test_each_norm_of_codes_does_what_it_says() -> None:
    ids = windows()
    layer, batch, none = (alive(model(code_norm=norm)).encode(ids, LENGTHS) for norm in ("layer", "batch", "none"))
    plain = model(code_norm="layer").encode(ids, LENGTHS)
    batched = model(code_norm="batch").encode(ids, LENGTHS)

    assert torch.allclose(plain.mean(dim=1), torch.zeros(3), atol=1e-5)
    assert torch.allclose(batched.mean(dim=0), torch.zeros(4), atol=1e-5)
    assert not torch.allclose(layer, none)
    assert not torch.allclose(batch, none)


def test_batch_norm_takes_a_batch_of_one_window_by_what_it_saw_before() -> None:
    made, ids = model(code_norm="batch"), windows()
    made.encode(ids, LENGTHS)
    one_window = made.encode(ids[:1], LENGTHS[:1])

    assert torch.allclose(one_window, made.eval().encode(ids[:1], LENGTHS[:1]), atol=1e-6)


def test_interpolation_goes_from_one_code_to_the_other_in_even_steps() -> None:
    path = model().interpolate(torch.zeros(4), torch.full((4,), 9.0), steps=10)

    assert torch.allclose(path, torch.arange(10.0)[:, None].expand(10, 4))
    with pytest.raises(ValueError, match="2 points"):
        model().interpolate(torch.zeros(4), torch.ones(4), steps=1)


@pytest.mark.parametrize("kind", ["free", "tied"])
def test_a_token_head_scores_every_word(kind: str) -> None:
    made = model(token_head=kind)
    output = made.unit[[9, 12]][None] * 2
    scores = made.logits(output)
    assert scores is not None

    assert scores.shape == (1, 2, WORDS)
    if kind == "tied":
        assert scores.argmax(dim=-1).tolist() == [[9, 12]]
    assert model().logits(output) is None


def test_a_copy_of_a_model_draws_for_itself() -> None:
    made = model(dropout=0.5)
    made.reseed(1, 1)
    twin = copy.deepcopy(made)

    assert torch.equal(made.encode(windows(), LENGTHS), twin.encode(windows(), LENGTHS))


def test_a_network_alone_works_on_vectors() -> None:
    made = Network(section(), DIMENSIONS, generator=torch.Generator().manual_seed(0))
    made.reseed(1, 1)
    code = made.read(torch.randn(2, 3, DIMENSIONS), torch.tensor([3, 2]))

    with made.silent():
        assert made.free(code).shape == (2, 3, DIMENSIONS)


def test_cells_that_are_told_a_span_keep_something_for_one_token_up_to_so_many() -> None:
    usual, made = model(hidden=64), model(hidden=64, span=50)
    layers = [each for each in made.modules() if isinstance(each, nn.LSTM)]

    assert len(layers) == 2
    for layer in layers:
        enters, forgets = layer.bias_ih_l0[:64], layer.bias_ih_l0[64:128]
        spans = 1 + forgets.exp()
        assert 2 <= spans.min() < 10 and 40 < spans.max() <= 51
        assert torch.equal(enters, -forgets)
        assert not layer.bias_ih_l0[128:].any()
    assert torch.equal(usual.network.code.weight, made.network.code.weight)
