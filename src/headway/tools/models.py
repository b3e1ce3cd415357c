"""The seeds' networks under their names: vectors [B, T, D] and a mask in, vectors out.

What differs from the seeds: the decoder never reads the word it has to write, outputs are as long as inputs, attention
is to slots of the code, settings that do not exist are errors, and first values are drawn from a seed.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor, nn

from headway.errors import DataError, PlanError
from headway.learners.autoencoder.config import ModelSection, NoiseSection
from headway.learners.autoencoder.network import Encoded, Network, count_parameters, interpolate
from headway.learners.autoencoder.sampling import rewrite, truths

_CELLS = {"vanilla": "rnn", "rnn": "rnn", "lstm": "lstm", "gru": "gru"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What the seeds say about a network; the names are theirs."""

    input_size: int = 300
    hidden_size: int = 128
    bottleneck_dim: int = 18
    max_seq_len: int = 50
    rnn_type: str = "vanilla"
    num_layers: int = 1
    dropout: float = 0.1
    teacher_forcing_ratio: float = 0.5
    bottleneck_regularization: float = 0.01
    bidirectional: bool = False
    use_batch_norm: bool = False
    use_attention: bool = False
    attention_heads: int = 4

    def section(self) -> ModelSection:
        """The same as a plan says it; a PlanError with every value that cannot be."""
        problems = [
            f"{name}: should be 1 or more, not {value}"
            for name in ("input_size", "hidden_size", "bottleneck_dim", "max_seq_len", "num_layers", "attention_heads")
            if (value := getattr(self, name)) < 1
        ]
        if (cell := _CELLS.get(self.rnn_type.lower())) is None:
            problems.append(f"rnn_type: should be one of {', '.join(_CELLS)}, not {self.rnn_type!r}")
        shares = {"dropout": 0.9, "teacher_forcing_ratio": 1.0}
        problems += [
            f"{name}: should be 0 to {most}, not {getattr(self, name)}"
            for name, most in shares.items()
            if not 0 <= getattr(self, name) <= most
        ]
        if problems:
            raise PlanError("RNNAutoencoder", problems)
        return ModelSection(
            encoder=cell,  # type: ignore[arg-type]
            decoder="recurrent",
            hidden=self.hidden_size,
            layers=self.num_layers,
            bidirectional=self.bidirectional,
            dropout=self.dropout,
            code=self.bottleneck_dim,
            code_norm="batch" if self.use_batch_norm else "layer",
            attention="code" if self.use_attention else "none",
            heads=self.attention_heads,
        )

    def but(self, given: Mapping[str, Any]) -> Architecture:
        """The same with some settings changed; a PlanError that names the nearest valid one for each that is none."""
        known = [each.name for each in dataclasses.fields(self)]
        problems: list[str] = []
        for name in sorted(given.keys() - set(known)):
            near = difflib.get_close_matches(name, known, 1)
            problems.append(f"{name}: is no setting; {f'did you mean {near[0]}?' if near else f'known: {known}'}")
        if problems:
            raise PlanError("RNNAutoencoder", problems)
        return dataclasses.replace(self, **given)

    def network(self, seed: int) -> Network:
        """The network with the first values of a seed."""
        return Network(self.section(), self.input_size, generator=torch.Generator().manual_seed(seed))


class RNNEncoder(nn.Module):
    """Windows to codes."""

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        input_size: int = 300,
        hidden_size: int = 128,
        bottleneck_dim: int = 18,
        rnn_type: str = "vanilla",
        num_layers: int = 1,
        dropout: float = 0.1,
        use_batch_norm: bool = False,
        bidirectional: bool = False,
        seed: int = 0,
    ) -> None:
        settings = _given(locals())
        super().__init__()
        self.network = settings.network(seed)
        del self.network.decoder

    def forward(self, sequences: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The codes [B, Z], and the states of all tokens."""
        return _read(self.network, sequences, lengths_of(sequences, mask))


class RNNDecoder(nn.Module):
    """Codes to windows."""

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        bottleneck_dim: int = 18,
        hidden_size: int = 128,
        output_size: int = 300,
        max_seq_len: int = 50,
        rnn_type: str = "vanilla",
        num_layers: int = 1,
        dropout: float = 0.1,
        teacher_forcing_ratio: float = 0.5,
        seed: int = 0,
    ) -> None:
        settings = _given(locals())
        super().__init__()
        self.settings = settings.but({"input_size": output_size})
        self.network = self.settings.network(seed)
        del self.network.encoder, self.network.code, self.network.norm

    def forward(
        self,
        bottleneck: Tensor,
        target_sequences: Tensor | None = None,
        mask: Tensor | None = None,
        seq_len: int | None = None,
    ) -> Tensor:
        """float[B, T, D]; with targets, some inputs are the true word before."""
        if target_sequences is None:
            return _free(self.network, bottleneck, self.settings.max_seq_len if seq_len is None else seq_len)
        return _forced(self.network, self.settings, bottleneck, target_sequences, mask)


class RNNAutoencoder(nn.Module):
    """Windows to codes and back; what `config` says comes before what the other parameters say."""

    def __init__(  # noqa: PLR0913 - the signature of the seeds
        self,
        config: Mapping[str, Any] | None = None,
        input_size: int = 300,
        hidden_size: int = 128,
        bottleneck_dim: int = 18,
        max_seq_len: int = 50,
        rnn_type: str = "vanilla",
        num_layers: int = 1,
        dropout: float = 0.1,
        teacher_forcing_ratio: float = 0.5,
        bottleneck_regularization: float = 0.01,
        bidirectional: bool = False,
        use_batch_norm: bool = False,
        use_attention: bool = False,
        attention_heads: int = 4,
        seed: int = 0,
    ) -> None:
        settings = _given(locals())
        super().__init__()
        self.settings = settings.but(config or {})
        self.network = self.settings.network(seed)

    @property
    def compression_ratio(self) -> float:
        """Numbers of one vector for each number of the code of a whole window."""
        return self.settings.input_size / self.settings.bottleneck_dim

    def forward(self, batch: Mapping[str, Any] | Tensor) -> dict[str, Tensor]:
        """`reconstructed`, `bottleneck`, `encoder_hidden` and, where it has a weight, the penalty of the code."""
        sequences, mask = _batch(batch)
        z, states = _read(self.network, sequences, lengths_of(sequences, mask))
        if self.training:
            made = _forced(self.network, self.settings, z, sequences, mask)
        else:
            made = _free(self.network, z, sequences.shape[1])
        found = {"reconstructed": made, "bottleneck": z, "encoder_hidden": states}
        if self.settings.bottleneck_regularization:
            found["bottleneck_regularization"] = self.settings.bottleneck_regularization * z.square().mean()
        return found

    def encode(self, batch: Mapping[str, Any] | Tensor) -> Tensor:
        """The codes [B, Z]."""
        sequences, mask = _batch(batch)
        return self.network.read(sequences, lengths_of(sequences, mask)).z

    def decode(self, bottleneck: Tensor, seq_len: int | None = None) -> Tensor:
        """float[B, T, D] from the codes alone."""
        return _free(self.network, bottleneck, self.settings.max_seq_len if seq_len is None else seq_len)

    def interpolate(self, z1: Tensor, z2: Tensor, steps: int = 10, seq_len: int | None = None) -> Tensor:
        """float[steps, T, D]: what codes on the line from one to the other stand for."""
        return self.decode(interpolate(z1.flatten(), z2.flatten(), steps), seq_len)

    def reseed(self, seed: int, step: int) -> None:
        """Let everything random in the next pass depend on these numbers alone."""
        self.network.reseed(seed, step)

    def count_parameters(self) -> int:
        """Numbers that are trained."""
        return count_parameters(self)

    def summary(self) -> str:
        """What it is, in a few lines."""
        settings = self.settings
        return (
            f"{settings.rnn_type} autoencoder: {settings.input_size} -> {settings.bottleneck_dim} -> "
            f"{settings.input_size} numbers, {settings.num_layers} x {settings.hidden_size}\n"
            f"{self.compression_ratio:.2f} numbers of a vector for each of the code, "
            f"{self.compression_ratio * settings.max_seq_len:.1f} of a window of {settings.max_seq_len}\n"
            f"{self.count_parameters():,} parameters"
        )


class NoiseType(Enum):
    """Kinds of noise by the seeds' names."""

    DROPOUT = "dropout"
    GAUSSIAN = "gaussian"
    WORD_DROPOUT = "word_dropout"
    SWAP = "swap"
    MASK = "mask"
    SYNONYM = "synonym"
    SEMANTIC_EMBEDDING = "semantic_embedding"


@dataclass(frozen=True)
class DenoisingConfig:
    """Noise on what the encoder reads; marks such as line breaks always keep their places."""

    noise_type: NoiseType = NoiseType.WORD_DROPOUT
    noise_strength: float = 0.15
    adaptive_noise: bool = True
    initial_noise: float = 0.05
    final_noise: float = 0.20
    warmup_epochs: int = 10
    embedding_noise_std: float = 0.1
    """Of SEMANTIC_EMBEDDING, whose strength it is."""
    late_training_epochs: int = 80
    """Epochs before SEMANTIC_EMBEDDING begins."""

    def section(self) -> NoiseSection:
        """The same as a plan says it; a PlanError with every value that cannot be."""
        amounts = ("noise_strength", "initial_noise", "final_noise", "embedding_noise_std")
        problems = [
            f"{name}: should be 0 to 1, not {getattr(self, name)}"
            for name in amounts
            if not 0 <= getattr(self, name) <= 1
        ]
        problems += [
            f"{name}: should be 0 or more, not {getattr(self, name)}"
            for name in ("warmup_epochs", "late_training_epochs")
            if getattr(self, name) < 0
        ]
        if problems:
            raise PlanError("DenoisingConfig", problems)
        if self.noise_type is NoiseType.SEMANTIC_EMBEDDING:
            return NoiseSection(kind="semantic", amount=self.embedding_noise_std, begins=self.late_training_epochs)
        kind = "words" if self.noise_type is NoiseType.WORD_DROPOUT else self.noise_type.value
        if not self.adaptive_noise:
            return NoiseSection(kind=kind, amount=self.noise_strength)
        return NoiseSection(kind=kind, amount=self.final_noise, from_amount=self.initial_noise, ramp=self.warmup_epochs)


def _given(names: Mapping[str, Any]) -> Architecture:
    """The settings among the names that a constructor knows: those of its parameters which are settings."""
    settings = {each.name for each in dataclasses.fields(Architecture)}
    return Architecture(**{name: value for name, value in names.items() if name in settings})


def lengths_of(sequences: Tensor, mask: Tensor | None) -> Tensor:
    """int64[B]: tokens of each window; a DataError for a mask that is not padding on the right."""
    rows, most = sequences.shape[:2]
    if mask is None:
        return torch.full((rows,), most, device=sequences.device)
    if tuple(mask.shape) != (rows, most):
        raise DataError(f"the mask has the shape {tuple(mask.shape)}, the windows {(rows, most)}")
    valid = mask.bool()
    lengths = valid.sum(dim=1)
    if not torch.equal(valid, torch.arange(most, device=mask.device) < lengths[:, None]) or not bool(lengths.all()):
        raise DataError("each row of a mask has to be true for one token or more, then false: pad windows on the right")
    return lengths


def _read(network: Network, sequences: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    seen = network.encoder(sequences, lengths)
    return network.norm(network.code(network.dropout(seen.final))), seen.states


def _forced(network: Network, settings: Architecture, z: Tensor, targets: Tensor, mask: Tensor | None) -> Tensor:
    shape = (targets.shape[0], targets.shape[1])
    true = truths(settings.teacher_forcing_ratio, shape, network.draws, z.device)
    return rewrite(network, Encoded(z, lengths_of(targets, mask)), network.previous(targets), true)


def _free(network: Network, z: Tensor, length: int) -> Tensor:
    return network.free(Encoded(z, torch.full((len(z),), length, device=z.device)), length)


def _batch(batch: Mapping[str, Any] | Tensor) -> tuple[Tensor, Tensor | None]:
    if isinstance(batch, Tensor):
        return batch, None
    return batch["input_sequences"], batch.get("attention_mask")
