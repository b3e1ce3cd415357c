"""What a trainer of any network is told, checked against the network and the loader it is to work with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from headway.errors import PlanError
from headway.learners.autoencoder.config import RANDOM, PhaseSection, Section
from headway.learners.autoencoder.curriculum import Demand, demand
from headway.learners.autoencoder.making import device_of
from headway.learners.gradient.config import CheckpointSection, OptimizerSection, ScheduleSection
from headway.learners.gradient.schedules import Schedule, schedule
from headway.tools.batches import Criterion
from headway.tools.losses import EnhancedCosineLoss, MaskedMSELoss
from headway.tools.models import RNNAutoencoder
from headway.tools.poetry_config import TrainingConfig
from headway.tools.poetry_names import Names, understood
from headway.tools.poetry_tables import TRAINING

_WHERE = "OptimizedRNNTrainer"
_OF_TEACHING = ("teacher_forcing_ratio", "phases", "decay_type", "initial_teacher_forcing", "final_teacher_forcing")
_OF_LOSS = ("loss_type", "mse_weight")
_KNOWN = (
    *("epochs", "learning_rate", "optimizer", "weight_decay", "gradient_clip", "gradient_accumulation"),
    *("mixed_precision", "bottleneck_regularization", "scheduler", "scheduler_params", "early_stopping_patience"),
    *("min_delta", "async_checkpointing", "seed", "device", "threads"),
    *_OF_TEACHING,
    *_OF_LOSS,
)
_NAMES = Names(
    _WHERE,
    paths={},
    aliases=TRAINING.aliases,
    idle=dict.fromkeys(
        ("num_workers", "pin_memory", "prefetch_factor", "persistent_workers", "batch_size"), "the loader decides"
    ),
)


@dataclass(frozen=True, eq=False)
class TrainerPlan:
    """What is settled before the first step."""

    config: TrainingConfig
    device: torch.device
    optimizer: OptimizerSection
    schedule: Schedule
    checkpoints: CheckpointSection
    criterion: Criterion
    notes: tuple[str, ...]
    teaching: Section | None
    """What says how many true words the decoder is given; None: the network itself."""
    penalty_weight: float | None
    """Of the mean square of the code; None: what the network says."""

    @property
    def epochs(self) -> int:
        """How many there are at the most."""
        return self.config.curriculum.total

    def demand(self, epoch: int) -> Demand | None:
        """What an epoch asks for, counted from 0; None where nothing is told."""
        return None if self.teaching is None else demand(self.teaching, epoch)

    def prepare(self, model: nn.Module, loader: Iterable[Any], epoch: int) -> float | None:
        """Have network and loader ready for an epoch; the share of true words in it, None where there is none."""
        for each in (loader, getattr(loader, "batch_sampler", None), getattr(loader, "sampler", None)):
            if (tell := getattr(each, "set_epoch", None)) is not None:
                tell(epoch)
                break
        if not isinstance(model, RNNAutoencoder):
            return None
        asked = self.demand(epoch)
        if asked is not None:
            model.settings = replace(model.settings, teacher_forcing_ratio=asked.teacher_forcing)
        return model.settings.teacher_forcing_ratio

    def reseed(self, model: nn.Module, part: int) -> None:
        """Let what is random in the next pass depend on the seed and the number of the pass, where that can be told."""
        if (tell := getattr(model, "reseed", None)) is not None:
            tell(self.config.seed, part)

    def rate(self, step: int, epoch: int) -> float:
        """The learning rate of a step."""
        asked = self.demand(epoch)
        return self.schedule.rate(step) * (1.0 if asked is None else asked.rate)

    def penalty(self, output: Any) -> Tensor | float:
        """What is added to the loss for the size of the code."""
        told = cast("Mapping[str, Any]", output) if isinstance(output, Mapping) else {}
        if self.penalty_weight is None:
            return told.get("bottleneck_regularization", 0.0)
        if (code := told.get("bottleneck")) is None:
            problem = "bottleneck_regularization: needs a network that gives a dict with 'bottleneck'; leave it out"
            raise PlanError(_WHERE, [problem])
        return self.penalty_weight * code.float().square().mean()


def trainer_plan(config: Any, model: nn.Module, loader: Iterable[Any], criterion: Criterion | None) -> TrainerPlan:
    """What a configuration means for a network and a loader; a PlanError with what it cannot mean."""
    given, notes = _given(config)
    whole = config if isinstance(config, TrainingConfig) else TrainingConfig(**given)
    problems = [f"{name}: changes nothing here; leave it out" for name in given if name not in _KNOWN]
    problems += _of_teaching(given, whole, model)
    if criterion is not None:
        problems += [f"{name}: criterion decides; leave one of the two out" for name in _OF_LOSS if name in given]
    if problems:
        raise PlanError(_WHERE, problems)
    learner = whole.part()["learner"]
    optimizer = OptimizerSection(**learner["optimizer"])
    return TrainerPlan(
        config=whole,
        device=device_of(whole.device),
        optimizer=optimizer,
        schedule=_schedule(ScheduleSection(**learner["schedule"]), whole, loader),
        checkpoints=CheckpointSection(**learner["checkpoints"]),
        criterion=_criterion(whole) if criterion is None else criterion,
        notes=notes,
        teaching=_teaching(config, given, whole, model),
        penalty_weight=whole.bottleneck_regularization if "bottleneck_regularization" in given else None,
    )


def _given(config: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings that somebody chose."""
    if config is None:
        return {}, ()
    if isinstance(config, TrainingConfig):
        usual = TrainingConfig()
        names = [each.name for each in fields(config) if each.name not in ("notes", "batch_size")]
        chosen = {name: getattr(config, name) for name in names}
        return {name: value for name, value in chosen.items() if value != getattr(usual, name)}, config.notes
    if not isinstance(config, Mapping):
        raise PlanError(_WHERE, [f"config: should be a TrainingConfig or a dict, not a {type(config).__name__}"])
    found = understood(_NAMES, _KNOWN, cast("Mapping[str, Any]", config))
    return found.values, found.notes


def _of_teaching(given: Mapping[str, Any], whole: TrainingConfig, model: nn.Module) -> list[str]:
    if not isinstance(model, RNNAutoencoder):
        return [
            f"{name}: a {type(model).__name__} is not given true words; leave it out"
            for name in _OF_TEACHING
            if name in given
        ]
    short = any(phase.get("longest") is not None for phase in whole.curriculum.sections())
    return ["phases: longest: the loader decides which windows there are; leave it out"] if short else []


def _teaching(config: Any, given: Mapping[str, Any], whole: TrainingConfig, model: nn.Module) -> Section | None:
    told = isinstance(config, TrainingConfig) or any(name in given for name in _OF_TEACHING)
    if not told or not isinstance(model, RNNAutoencoder):
        return None
    phases = tuple(PhaseSection(**phase) for phase in whole.curriculum.sections())
    ratio = 0.0 if whole.teacher_forcing_ratio is None else whole.teacher_forcing_ratio
    return Section(vectors=RANDOM, curriculum=phases, teacher_forcing=ratio)


def _schedule(section: ScheduleSection, whole: TrainingConfig, loader: Iterable[Any]) -> Schedule:
    try:
        batches = len(cast(Any, loader))
    except TypeError as cause:
        if section.kind not in ("constant", "plateau"):
            problem = f"scheduler: {section.kind} needs a loader that says how many batches an epoch has (len)"
            raise PlanError(_WHERE, [problem]) from cause
        batches = 1
    steps = -(-batches // whole.gradient_accumulation)
    total = whole.curriculum.total
    return schedule(section, base=whole.learning_rate, steps_per_epoch=max(1, steps), epochs=total)


def _criterion(whole: TrainingConfig) -> Criterion:
    match whole.loss_type:
        case "cosine":
            return EnhancedCosineLoss()
        case "cosine+mse":
            return EnhancedCosineLoss(mse_weight=whole.mse_weight)
        case "mse":
            return MaskedMSELoss()
        case other:
            problem = f"loss_type: {other} needs to know the words; give a criterion, or one of cosine, mse, cosine+mse"
            raise PlanError(_WHERE, [problem])
