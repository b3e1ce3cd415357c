"""The trainer of the seeds: epochs over a loader for any network, with the steps of Headway's own learners."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headway.errors import RunError
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.precision import autocast
from headway.learners.gradient.restore import restore
from headway.learners.gradient.state import State, join, part
from headway.learners.gradient.stepping import Stepper, make_optimizer
from headway.plan.values import Position
from headway.tools.batches import Batch, Criterion, batch_of, loss_of
from headway.tools.learner import say
from headway.tools.monitors import GradientMonitor, PerformanceMonitor, TrainingMonitor
from headway.tools.poetry_config import TrainingConfig
from headway.tools.trainer_config import trainer_plan

_LOOK = 20


class OptimizedRNNTrainer:
    """Trains a network that maps a batch to an output, such as RNNAutoencoder over an AutoencoderDataset.

        trainer = OptimizedRNNTrainer(RNNAutoencoder(...), train_loader, val_loader, {"epochs": 10}, checkpoint_dir="c")
        results = trainer.train()

    A batch is a dict with `input_sequences` [B, T, D] and perhaps `target_sequences` and `attention_mask`, a pair of
    inputs and targets, or a tensor; an output is a tensor or a dict with `reconstructed`. `criterion(output, targets,
    mask)` is a mean over tokens. `config` has the settings of TrainingConfig that concern a loop, by any of their
    names. With a `checkpoint_dir`, training goes on from the last epoch that was saved there.

    `train_loss` is of what the network writes while it learns, `val_loss` of what it writes in evaluation: with
    RNNAutoencoder, from the code alone.
    """

    def __init__(  # noqa: PLR0913 - keywords of a facade
        self,
        model: nn.Module,
        train_loader: Iterable[Any],
        val_loader: Iterable[Any] | None = None,
        config: TrainingConfig | Mapping[str, Any] | None = None,
        *,
        criterion: Criterion | None = None,
        checkpoint_dir: Path | str | None = None,
        verbose: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = trainer_plan(config, model, train_loader, criterion)
        self.model = model.to(self.plan.device)
        self.performance = PerformanceMonitor(clock)
        self.gradients = GradientMonitor(model)
        watched = "train_loss" if val_loader is None else "val_loss"
        settings = self.plan.config
        self.progress = TrainingMonitor(
            watched, patience=settings.early_stopping_patience, min_delta=settings.min_delta
        )
        self.step = 0
        self._loaders = (train_loader, val_loader)
        self._stepper = Stepper(self.plan.optimizer, make_optimizer(self.plan.optimizer, model.parameters()))
        self._folder = None if checkpoint_dir is None else Path(checkpoint_dir)
        self._checkpoints: Checkpoints | None = None
        self._verbose = verbose
        self._parts = 0
        self._rate = self.plan.rate(0, 0)

    def train(self) -> dict[str, Any]:
        """Train until the last epoch, or until more would be in vain; what was measured, None where nothing was."""
        threads = torch.get_num_threads()
        torch.set_num_threads(self.plan.config.threads or threads)
        self._checkpoints = self._opened()
        try:
            self._resume()
            self.performance.begin()
            while self.progress.epochs < self.plan.epochs and not self.progress.should_stop:
                self._epoch(self.progress.epochs)
            if self._checkpoints is not None:
                self._checkpoints.wait()
            return self._results()
        finally:
            torch.set_num_threads(threads)
            if self._checkpoints is not None:
                self._checkpoints.close()

    @torch.no_grad()
    def validate(self, loader: Iterable[Any] | None = None) -> float | None:
        """The mean loss over the tokens of a loader, or of the one for validation; None where there is no token."""
        chosen = self._loaders[1] if loader is None else loader
        if chosen is None:
            raise RunError("there is nothing to validate on: give a loader, here or as val_loader")
        was, sums = self.model.training, _Sums(self.plan.device)
        self.model.eval()
        try:
            for given in chosen:
                batch = batch_of(given, self.plan.device)
                with autocast(self.plan.optimizer.precision, self.plan.device):
                    output = self.model(batch.inputs)
                sums.add(loss_of(self.plan.criterion, output, batch), batch.tokens)
        finally:
            self.model.train(was)
        return sums.mean()

    def load_best(self) -> int:
        """Take up the weights of the best epoch; which one that is, counted from 1."""
        found = None if self._folder is None else restore(self._folder, "best")
        if found is None:
            raise RunError("no best epoch is saved; give a checkpoint_dir, and train first")
        self.model.load_state_dict(dict(part(found.state, "model").tensors))
        return found.position.epoch

    def _epoch(self, epoch: int) -> None:
        train, valid = self._loaders
        sums = _Sums(self.plan.device)
        teacher_forcing = self.plan.prepare(self.model, train, epoch)
        self.model.train()
        for group in _groups(self.performance.timed("wait", train), self.plan.optimizer.accumulate):
            with self.performance.span("step"):
                self._learn(group, sums)
        self._check()
        with self.performance.span("evaluate"):
            val_loss = None if valid is None else self.validate()
        figures = {"train_loss": sums.mean(), "val_loss": val_loss, "teacher_forcing": teacher_forcing}
        figures |= {"learning_rate": self._rate, **self._measured()}
        improved = self.progress.update(figures)
        if (value := figures[self.progress.metric]) is not None:
            # Schedules take greater for better.
            self.plan.schedule.observe(-value)
        self._save(improved)
        self._say(epoch, figures)

    def _learn(self, group: list[Any], sums: _Sums) -> None:
        """One step of all batches of a group, in which each token weighs the same."""
        batches = [batch_of(given, self.plan.device) for given in group]
        tokens = sum(batch.tokens for batch in batches)
        for batch in batches:
            if batch.tokens:
                self._learn_part(batch, batch.tokens / tokens, sums)
        if not tokens:
            return
        if self.step % _LOOK == 0:
            self.gradients.observe()
        if self._checkpoints is not None:
            self._checkpoints.ready()
        self._rate = self.plan.rate(self.step, self.progress.epochs)
        self._stepper.step(self._rate)
        self.step += 1
        sequences, places = sum(batch.sequences for batch in batches), sum(batch.places for batch in batches)
        self.performance.step(sequences=sequences, tokens=tokens, places=places)
        if self.step % _LOOK == 0:
            self._check()

    def _learn_part(self, batch: Batch, share: float, sums: _Sums) -> None:
        self.plan.reseed(self.model, self._parts)
        self._parts += 1
        with autocast(self.plan.optimizer.precision, self.plan.device):
            output = self.model(batch.inputs)
        loss = loss_of(self.plan.criterion, output, batch)
        sums.add(loss, batch.tokens)
        self._stepper.scale((loss + self.plan.penalty(output)) * share).backward()

    def _check(self) -> None:
        """A RunError where too many gradients in a row were no numbers."""
        kept = None if self._checkpoints is None else self._checkpoints.durable
        self._stepper.check(step=self.step, position=Position(self.progress.epochs, self.step), kept=kept)

    def _measured(self) -> dict[str, float | None]:
        """What the epoch was like, of its own counts."""
        interval, report = self.performance.interval(), self._stepper.report()
        rates = ("sequences_per_second", "tokens_per_second", "padding")
        found = {name: getattr(interval, name) for name in rates}
        return {**found, "gradient_norm": report.norm, "clipped": report.clipped, "skipped": report.skipped}

    def _opened(self) -> Checkpoints | None:
        return None if self._folder is None else Checkpoints(self._folder, self.plan.checkpoints)

    def _save(self, improved: bool) -> None:
        if self._checkpoints is None:
            return
        position = Position(self.progress.epochs, 0)
        with self.performance.span("save"):
            if improved:
                self._checkpoints.save(self._state(), kind="best", position=position)
            self._checkpoints.save(self._state(), kind="periodic", position=position)

    def _state(self) -> State:
        facts = {"step": self.step, "parts": self._parts, "progress": self.progress.state_dict()}
        return join(
            {
                "model": State(dict(self.model.state_dict()), {}),
                "stepper": self._stepper.state(),
                "trainer": State(_random(), facts | {"schedule": self.plan.schedule.state()}),
            }
        )

    def _resume(self) -> None:
        found = None if self._checkpoints is None else self._checkpoints.restore()
        if found is None or self.progress.epochs >= found.position.epoch:
            return
        self.model.load_state_dict(dict(part(found.state, "model").tensors))
        self._stepper.load(part(found.state, "stepper"))
        mine = part(found.state, "trainer")
        self.step, self._parts = int(mine.facts["step"]), int(mine.facts["parts"])
        self.progress.load_state_dict(mine.facts["progress"])
        self.plan.schedule.load(mine.facts["schedule"])
        _set_random(mine.tensors)

    def _results(self) -> dict[str, Any]:
        checkpoints = self._checkpoints
        return {
            "epochs": self.progress.epochs,
            "steps": self.step,
            "stopped_early": self.progress.should_stop and self.progress.epochs < self.plan.epochs,
            "best_epoch": self.progress.best_epoch,
            f"best_{self.progress.metric}": self.progress.best,
            "history": self.progress.history,
            "performance": self.performance.total().to_json(),
            "gradients": self.gradients.summary(),
            "checkpoints": None if checkpoints is None else checkpoints.statistics().to_json(),
            "notes": list(self.plan.notes),
        }

    def _say(self, epoch: int, figures: Mapping[str, float | None]) -> None:
        if self._verbose:
            told = ", ".join(f"{name} {value:.4g}" for name, value in figures.items() if value is not None)
            say(f"epoch {epoch + 1} of {self.plan.epochs}: {told}")


class _Sums:
    """A weighted mean whose sums stay on the device until somebody asks."""

    def __init__(self, device: torch.device) -> None:
        self._total = torch.zeros((), device=device, dtype=torch.float64)
        self._weight = 0

    def add(self, mean: Tensor, weight: int) -> None:
        """Take in the mean of so many tokens."""
        self._total += mean.detach().double() * weight
        self._weight += weight

    def mean(self) -> float | None:
        """The mean over all tokens; None without any."""
        return float(self._total) / self._weight if self._weight else None


def _groups(items: Iterable[Any], count: int) -> Iterator[list[Any]]:
    """So many items at a time, and at the end those that are left."""
    iterator = iter(items)
    while group := list(islice(iterator, count)):
        yield group


def _random() -> dict[str, Tensor]:
    """Where torch's generators are: dropout and the order of a shuffled loader come from them."""
    found = {"cpu": torch.get_rng_state()}
    for number in range(torch.cuda.device_count()):
        found[f"cuda{number}"] = torch.cuda.get_rng_state(number)
    return found


def _set_random(tensors: Mapping[str, Tensor]) -> None:
    """Put them back, as far as there are such devices here."""
    torch.set_rng_state(tensors["cpu"].clone())
    for number in range(torch.cuda.device_count()):
        if (known := tensors.get(f"cuda{number}")) is not None:
            torch.cuda.set_rng_state(known.clone(), number)
