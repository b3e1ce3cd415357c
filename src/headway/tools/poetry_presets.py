"""Configurations by one call, and the ones that the seeds give a name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from headway.errors import PlanError
from headway.tools.poetry_config import ArchitectureConfig, DataConfig, TrainingConfig, settled
from headway.tools.poetry_data import detect_data_format
from headway.tools.poetry_names import Names
from headway.tools.poetry_tables import ARCHITECTURE, DATA, TRAINING

Settings = Mapping[str, Any] | None
_Config = TypeVar("_Config")
_OF_PHASES = {"phases", "decay_type", "initial_teacher_forcing", "final_teacher_forcing"}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "tiny": {"hidden_size": 128, "bottleneck_size": 16},
    "small": {"hidden_size": 256, "bottleneck_size": 32},
    "medium": {"hidden_size": 512, "bottleneck_size": 64},
    "large": {"hidden_size": 768, "bottleneck_size": 96, "num_layers": 2},
    "xlarge": {"hidden_size": 1024, "bottleneck_size": 128, "num_layers": 2, "residual": True},
    "research": {"hidden_size": 512, "bottleneck_size": 20, "bidirectional": True, "attention": True},
}


def design_autoencoder(  # noqa: PLR0913 - the signature of the seeds
    hidden_size: int = 512,
    bottleneck_size: int = 64,
    input_size: int | None = None,
    rnn_type: str = "lstm",
    num_layers: int = 1,
    dropout: float = 0.1,
    *,
    use_batch_norm: bool = False,
    bidirectional: bool = False,
    attention: bool | str = False,
    attention_heads: int = 4,
    residual: bool = False,
    decoder: str = "recurrent",
    token_head: str = "none",
) -> ArchitectureConfig:
    """What is between a window and its reconstruction.

    Without `input_size`, windows have as many numbers a word as the vectors have.
    """
    return ArchitectureConfig(
        hidden_size=hidden_size,
        bottleneck_size=bottleneck_size,
        input_size=input_size,
        rnn_type=rnn_type,
        num_layers=num_layers,
        dropout=dropout,
        use_batch_norm=use_batch_norm,
        bidirectional=bidirectional,
        attention=attention,
        attention_heads=attention_heads,
        residual=residual,
        decoder=decoder,
        token_head=token_head,
    )


def preset_architecture(name: str, settings: Settings = None) -> ArchitectureConfig:
    """The design of a name, tiny to xlarge and research, but for the settings that are given."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(PRESETS)}"
        raise PlanError("preset_architecture", [f"name: there is no preset {name!r}; {hint}"])
    return _settled(ArchitectureConfig, ARCHITECTURE, PRESETS[name], settings)


def curriculum_learning(  # noqa: PLR0913 - the signature of the seeds
    phases: int | Sequence[Mapping[str, Any]] | None = None,
    epochs: int | Sequence[int] | None = None,
    decay_type: str | None = None,
    initial_teacher_forcing: float | None = None,
    final_teacher_forcing: float | None = None,
    learning_rate: float = 2.5e-4,
    batch_size: int = 16,
    *,
    settings: Settings = None,
) -> TrainingConfig:
    """Training in phases, four unless told, in which the decoder is given the true words more and more rarely.

    `epochs` (30) are those of all phases together, or a list with those of each. The share of true words goes from 0.9
    in the first phase to 0.1 in the last, linearly, unless told. `settings` are others of TrainingConfig.
    """
    own = {
        "phases": phases,
        "epochs": epochs,
        "decay_type": decay_type,
        "initial_teacher_forcing": initial_teacher_forcing,
        "final_teacher_forcing": final_teacher_forcing,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
    }
    return _settled(TrainingConfig, TRAINING, own, settings)


def quick_training(
    epochs: int = 15,
    batch_size: int = 32,
    learning_rate: float = 1e-3,
    phases: int | None = 2,
    *,
    settings: Settings = None,
) -> TrainingConfig:
    """A first look: few epochs with large steps, the share of true words from 0.8 to 0.2."""
    own = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "phases": phases}
    own |= {"initial_teacher_forcing": 0.8, "final_teacher_forcing": 0.2}
    return _settled(TrainingConfig, TRAINING, own, settings)


def production_training(
    epochs: int = 100,
    batch_size: int = 8,
    learning_rate: float = 1e-4,
    phases: int | None = 6,
    *,
    settings: Settings = None,
) -> TrainingConfig:
    """A long training with small steps: harder clipping, more patience, the share of true words falling by factors."""
    own: dict[str, Any] = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "phases": phases}
    own |= {"decay_type": "exponential", "gradient_clip": 0.5, "early_stopping_patience": 20}
    return _settled(TrainingConfig, TRAINING, own, settings)


def fetch_data(  # noqa: PLR0913 - the signature of the seeds
    path: Path | str,
    embedding_type: str = "glove",
    max_length: int = 50,
    chunking_method: str = "sliding",
    split_ratios: Sequence[float] = (0.8, 0.15, 0.05),
    cache: bool = True,
    *,
    embeddings: Path | str | None = None,
    settings: Settings = None,
) -> DataConfig:
    """Texts that are there and can be read, in windows of at most `max_length` tokens.

    `embeddings` names the vectors, "random" asks for made-up ones; `settings` are others of DataConfig.
    """
    own: dict[str, Any] = {"path": path, "embedding_type": embedding_type, "max_length": max_length}
    own |= {"chunking_method": chunking_method, "split_ratios": split_ratios, "cache": cache, "embeddings": embeddings}
    found = _settled(DataConfig, DATA, own, settings)
    detect_data_format(path, text_field=found.text_field, texts=found.texts)
    return found


def _settled(kind: type[_Config], names: Names, own: Mapping[str, Any], settings: Settings) -> _Config:
    """A configuration of a preset's settings, but for those that are given, by any name."""
    given = settings or {}
    meant = {names.aliases.get(name, name) for name in given}
    # A share of true words that stays leaves nothing to say of phases.
    if "teacher_forcing_ratio" in meant:
        meant |= _OF_PHASES
    kept = {name: value for name, value in own.items() if name not in meant}
    return settled(kind, names, {**kept, **given})
