"""The seeds' networks under their names."""

from typing import Any

import pytest
import torch
from torch import Tensor

from headway.errors import DataError, PlanError
from headway.tools.models import DenoisingConfig, NoiseType, RNNAutoencoder, RNNDecoder, RNNEncoder, lengths_of

torch.set_num_threads(1)

SMALL: dict[str, Any] = {"input_size": 6, "hidden_size": 16, "bottleneck_dim": 4, "max_seq_len": 9}
MASK = torch.tensor([[True] * 5, [True, True, False, False, False]])


def _windows() -> Tensor:
    return torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", ["vanilla", "LSTM", "gru"])
def test_windows_come_back_as_long_as_they_were(kind: str) -> None:
    made = RNNAutoencoder(**SMALL, rnn_type=kind)
    for training in (True, False):
        found = made.train(training)({"input_sequences": _windows(), "attention_mask": MASK})

        assert found["reconstructed"].shape == (2, 5, 6)
        assert found["bottleneck"].shape == (2, 4)
        assert found["encoder_hidden"].shape == (2, 5, 16)
        assert torch.isclose(found["bottleneck_regularization"], 0.01 * found["bottleneck"].square().mean())


def test_evaluation_writes_from_the_code_alone() -> None:
    made = RNNAutoencoder(**SMALL, bottleneck_regularization=0).eval()
    found = made(_windows())

    assert torch.allclose(found["reconstructed"], made.decode(made.encode(_windows()), 5))
    assert "bottleneck_regularization" not in found


def test_every_parameter_is_trained() -> None:
    made = RNNAutoencoder(**SMALL, rnn_type="lstm", num_layers=2, bidirectional=True, use_attention=True, seed=3)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    before = {name: each.detach().clone() for name, each in made.named_parameters()}
    # The second step reaches what lies behind maps that start as zero.
    for _ in range(2):
        made({"input_sequences": _windows(), "attention_mask": MASK})["reconstructed"].square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    assert [name for name, each in made.named_parameters() if torch.equal(each, before[name])] == []


def test_teacher_forcing_has_the_ratio_it_is_given() -> None:
    free, forced = (RNNAutoencoder(**SMALL, dropout=0.0, teacher_forcing_ratio=ratio) for ratio in (0.0, 1.0))
    code = forced.network.read(_windows(), torch.tensor([5, 5]))

    assert torch.allclose(
        forced(_windows())["reconstructed"], forced.network.decode(code, forced.network.previous(_windows()))
    )
    assert not torch.allclose(free(_windows())["reconstructed"], forced(_windows())["reconstructed"])


def test_the_same_seed_and_step_give_the_same_numbers() -> None:
    before = torch.get_rng_state()
    made, again = RNNAutoencoder(**SMALL), RNNAutoencoder(**SMALL)
    for each in (made, again):
        each.reseed(1, 7)

    assert torch.equal(made(_windows())["reconstructed"], again(_windows())["reconstructed"])
    assert not torch.equal(
        made(_windows())["reconstructed"], RNNAutoencoder(**SMALL, seed=1)(_windows())["reconstructed"]
    )
    assert torch.equal(torch.get_rng_state(), before)


def test_a_config_says_the_same_as_parameters() -> None:
    made = RNNAutoencoder(SMALL, hidden_size=99)

    assert made.settings == RNNAutoencoder(**SMALL).settings


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(PlanError, match="bottleneck_size: is no setting; did you mean bottleneck_dim"):
        RNNAutoencoder({"bottleneck_size": 64})
    with pytest.raises(PlanError, match="zzz: is no setting; known"):
        RNNAutoencoder({"zzz": 64})


def test_values_that_cannot_be_are_refused_all_at_once() -> None:
    with pytest.raises(PlanError) as error:
        RNNAutoencoder(hidden_size=0, rnn_type="transformer", dropout=1.0, teacher_forcing_ratio=-1)

    assert len(error.value.problems) == 4


def test_encoder_and_decoder_work_alone() -> None:
    encoder = RNNEncoder(6, 16, 4, bidirectional=True, use_batch_norm=True).eval()
    decoder = RNNDecoder(4, 16, 6, max_seq_len=9).eval()
    z, states = encoder(_windows(), MASK)

    assert z.shape == (2, 4)
    assert states.shape == (2, 5, 32)
    assert decoder(z).shape == (2, 9, 6)
    assert decoder(z, seq_len=3).shape == (2, 3, 6)
    assert decoder(z, _windows(), MASK).shape == (2, 5, 6)
    assert all(each.requires_grad for each in (*encoder.parameters(), *decoder.parameters()))


def test_codes_between_two_are_written_too() -> None:
    made = RNNAutoencoder(**SMALL).eval()
    first, last = made.encode(_windows())
    path = made.interpolate(first[None], last[None], steps=4)

    assert path.shape == (4, 9, 6)
    assert torch.allclose(path[[0, 3]], made.decode(torch.stack([first, last])), atol=1e-6)
    assert made.interpolate(first, last, steps=2, seq_len=3).shape == (2, 3, 6)


def test_a_summary_counts_what_was_built() -> None:
    made = RNNAutoencoder(input_size=300, hidden_size=512, bottleneck_dim=64, rnn_type="lstm")

    assert made.count_parameters() == 3_587_864
    assert "3,587,864 parameters" in made.summary()
    assert made.compression_ratio == 300 / 64


@pytest.mark.parametrize("mask", [[[0, 1, 1, 1, 1]] * 2, [[1, 1, 0, 1, 0]] * 2, [[1] * 5, [0] * 5], [[1, 1]] * 2])
def test_a_mask_that_is_not_padding_on_the_right_is_refused(mask: list[list[int]]) -> None:
    with pytest.raises(DataError):
        lengths_of(_windows(), torch.tensor(mask))


@pytest.mark.parametrize("kind", [kind for kind in NoiseType if kind is not NoiseType.SEMANTIC_EMBEDDING])
def test_denoising_is_said_as_a_plan_says_it(kind: NoiseType) -> None:
    section = DenoisingConfig(noise_type=kind).section()
    steady = DenoisingConfig(noise_type=kind, adaptive_noise=False).section()

    assert section.kind == ("words" if kind is NoiseType.WORD_DROPOUT else kind.value)
    assert (section.from_amount, section.amount, section.ramp) == (0.05, 0.2, 10)
    assert (steady.from_amount, steady.amount) == (None, 0.15)


def test_semantic_noise_has_a_strength_of_its_own_and_begins_late() -> None:
    usual = DenoisingConfig(noise_type=NoiseType.SEMANTIC_EMBEDDING).section()
    given = DenoisingConfig(
        noise_type=NoiseType.SEMANTIC_EMBEDDING, embedding_noise_std=0.3, late_training_epochs=5
    ).section()

    assert (usual.kind, usual.amount, usual.begins, usual.from_amount) == ("semantic", 0.1, 80, None)
    assert (given.amount, given.begins) == (0.3, 5)


def test_amounts_of_noise_that_cannot_be_are_refused() -> None:
    with pytest.raises(PlanError) as error:
        DenoisingConfig(noise_strength=2, initial_noise=-1, warmup_epochs=-1, late_training_epochs=-1).section()

    assert len(error.value.problems) == 4
