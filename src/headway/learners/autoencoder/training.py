"""Training a network: what one step does, what is saved with it, and when more would be in vain."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from headway.errors import RunError
from headway.feed.batch import Batch
from headway.feed.feed import Feed
from headway.learners.autoencoder.codec import NetworkCodec
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.curriculum import demand, last_phase
from headway.learners.autoencoder.evaluate import glance
from headway.learners.autoencoder.groundwork import MODEL, groundwork
from headway.learners.autoencoder.layout import layout
from headway.learners.autoencoder.lesson import Lesson
from headway.learners.autoencoder.making import CHECKPOINTS, device_of, load_weights, made_model
from headway.learners.autoencoder.model import doubts
from headway.learners.autoencoder.sums import Sums
from headway.learners.autoencoder.validation import validation_losses
from headway.learners.base import Setup
from headway.learners.gradient import heap
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.health import Running, diverged
from headway.learners.gradient.pace import pace
from headway.learners.gradient.schedules import schedule
from headway.learners.gradient.state import State, join, part
from headway.learners.gradient.stepping import Stepper, make_optimizer
from headway.learners.gradient.stopping import Judgement, Rule
from headway.plan.plan import Parallel
from headway.plan.values import Mean, Metrics, Position, finite

_THREADS = "threads.json"
# How many steps lie between two looks at sums on the device.
_LOOK = 20


class NetworkLearner:
    """Learns windows by gradients; the same plan, data and number of threads give the same weights, bit for bit."""

    parallel: Parallel = "lockstep"

    def __init__(self, setup: Setup) -> None:
        section: Section = setup.section
        self._section = section
        self._folder = setup.folder
        self._device = device_of(section.device)
        for text in doubts(section.model):
            setup.warn(text)
        self._ground = groundwork(setup)
        self._ground.check()
        self._model = made_model(section, self._ground.lexicon.matrix, seed=setup.run.seed, device=self._device)
        self._model.expect(torch.from_numpy(self._ground.lexicon.learned))
        self._lesson = Lesson(section, self._ground, self._model, seed=setup.run.seed, rank=setup.place.rank)
        self._stepper = Stepper(section.optimizer, make_optimizer(section.optimizer, self._model.parameters()))
        # Epochs have other batches, but as many: rows are cut into batches in the order of their lengths.
        self._steps = max(1, Feed(layout(section, setup.dataset, setup.run), epochs=1).total_batches)
        self._schedule = schedule(
            section.schedule,
            base=section.optimizer.learning_rate,
            steps_per_epoch=self._steps,
            epochs=setup.run.epochs,
        )
        self._epochs = setup.run.epochs
        self._checkpoints = Checkpoints(setup.folder / CHECKPOINTS, section.checkpoints)
        self._saved: Position | None = None
        self._held: Position | None = None
        self._sums = Sums()
        self._judgement = Judgement()
        self._evaluation: dict[str, float] | None = None
        self._step = 0
        self._running = Running(self._model.network)
        self._prepared = False
        self._threads_before = torch.get_num_threads()
        self._threads: int | None = None

    @property
    def enough(self) -> bool:
        """Whether the evaluations so far say that learning more would be in vain."""
        return self._judgement.enough

    def step(self, batch: Batch) -> Metrics:
        """Learn the windows of a batch: one step, in as many parts as the plan says."""
        self._checkpoints.ready()
        # What was saved, or held back, is about to be another state.
        self._saved = self._held = None
        asked = demand(self._section, batch.position.epoch)
        windows = self._lesson.windows(batch, asked)
        if self._threads is None and len(windows):
            if self._device.type == "cpu":
                heap.keep()
            self._threads = self._choose_threads(windows)
        metrics: Metrics = {"sequences": len(windows), "left_out": len(batch.starts) - 1 - len(windows)}
        learned, before = False, self._running.copy()
        for found, piece in self._lesson.learn(windows, asked, step=self._step, scale=self._stepper.scale):
            self._sums.add(found, piece)
            learned = True
        if learned:
            rate = self._schedule.rate(self._step) * asked.rate
            self._running.undo(before, unless=self._stepper.step(rate))
            self._prepare()
            metrics |= {
                "padding": self._sums.padding(),
                "rate": Mean(rate, 1),
                "teacher_forcing": Mean(asked.teacher_forcing, 1),
            }
        self._step += 1
        return finite(metrics | self._look(batch.position))

    def evaluate(self, position: Position) -> Metrics | None:
        """Skill on validation, free-running; what was best so far is kept apart."""
        yardstick = self._ground.yardstick if self._is_due(position) else None
        if yardstick is None:
            return None
        self._check(position)
        self._saved = None
        try:
            self._evaluation = glance(self._codec, yardstick).metrics()
        except RunError as cause:
            what = f"the evaluation after step {self._step:,}, {_words(position)}, failed: {cause}"
            raise diverged(what, self._checkpoints.durable) from cause
        skill = self._evaluation.get("skill")
        if skill is not None:
            self._schedule.observe(skill)
            # While phases ask for more and more, a skill that stands still says nothing of the phases to come.
            counts = position.epoch > self._rule.begins
            self._judgement = self._judgement.after(skill, self._rule, counts=counts)
        if self._judgement.improved:
            self._checkpoints.save(self._state(), kind="best", position=position)
        losses = validation_losses(self._model, self._section.loss, yardstick.ground.corpus)
        return finite({**self._evaluation, **losses, "since_best": self._judgement.since})

    def save(self, folder: Path, position: Position) -> Position | None:
        """Take a snapshot, which is written beside the training; none while gradients or weights are no numbers."""
        del folder
        if position == self._saved:
            return self._checkpoints.durable
        if self._stepper.skipped or not self._stepper.has_numbers:
            # It may never recover: what was good before stays the newest there is.
            self._held = position
            return self._checkpoints.durable
        return self._save(position)

    def settle(self) -> None:
        """Wait until all snapshots are durable, one that was held back included, if there is anything in it."""
        if self._held is not None:
            self._check_weights(self._held)
            self._save(self._held)
        self._checkpoints.wait()

    def restore(self, folder: Path) -> Position | None:
        """Take up the newest checkpoint."""
        del folder
        found = self._checkpoints.restore()
        if found is None:
            return None
        state = found.state
        load_weights(self._model, part(state, "model"))
        self._stepper.load(part(state, "stepper"))
        self._sums.load(part(state, "sums"))
        self._load(part(state, "learner").facts)
        return found.position

    def finish(self) -> None:
        """Nothing is left open by learning."""

    def close(self) -> None:
        """Wait for the snapshots under way, and give back the threads."""
        try:
            self._checkpoints.close()
        finally:
            torch.set_num_threads(self._threads_before)
            heap.give_back()

    def totals(self) -> dict[str, Any]:
        """What the model is, how good it was when last looked at, and what its checkpoints cost."""
        written = {name: value for name, value in asdict(self._checkpoints.statistics()).items() if value is not None}
        found: dict[str, Any] = {
            "model": self._codec.name,
            "parameters": self._model.count_parameters(),
            "code": self._codec.code,
            "dimensions": self._ground.table.dimensions,
            "bottleneck": self._model.is_bottleneck,
            "vectors": self._ground.lexicon.facts.source,
            "coverage": self._ground.lexicon.facts.coverage,
            "steps": self._step,
            "flops_per_token": self._model.flops_per_token(two_pass=self._passes > 1),
            "device": str(self._device),
            "checkpoints": written,
        }
        if self._threads is not None:
            found["threads"] = self._threads
        if self._evaluation is not None:
            found |= {"evaluation": self._evaluation, "best_skill": self._judgement.best}
        return found

    @cached_property
    def _codec(self) -> NetworkCodec:
        return NetworkCodec(self._model, longest=self._section.window.size)

    @property
    def _passes(self) -> int:
        return 2 if self._section.teacher_forcing < 1 and self._section.unforced == "predictions" else 1

    @property
    def _rule(self) -> Rule:
        section = self._section
        begins = last_phase(section)
        return Rule(patience=section.patience, min_delta=section.min_delta, stop_at=section.stop_at, begins=begins)

    def _is_due(self, position: Position) -> bool:
        """Every so many epochs, and after the last one: the state a run ends in is always judged, or none ever is."""
        every = self._section.evaluate_every
        return every > 0 and (position.epoch % every == 0 or position.epoch == self._epochs)

    def _prepare(self) -> None:
        """After the first step, when the optimizer has its moments: so the first save blocks no longer than others."""
        if not self._prepared:
            self._checkpoints.prepare(self._state())
            self._prepared = True

    def _look(self, position: Position) -> Metrics:
        """Every so many steps and at the end of an epoch, what was summed up on the device since."""
        due = self._step % _LOOK == 0 or position.batch + 1 == self._steps
        if due or self._device.type == "cpu":
            self._check(position)
        if not due:
            return {}
        report = self._stepper.report()
        metrics: Metrics = self._sums.take() | {"clipped": report.clipped, "skipped": report.skipped}
        measured = report.steps - report.skipped
        if report.norm is not None:
            metrics["gradient"] = Mean(report.norm * measured, measured)
        flags = {"vanishing": report.vanishing, "exploding": report.exploding}
        return metrics | {name: 1 for name, flagged in flags.items() if flagged}

    def _check(self, position: Position) -> None:
        """Too many bad gradients in a row end the run."""
        self._stepper.check(step=self._step, position=position, kept=self._checkpoints.durable)

    def _check_weights(self, position: Position) -> None:
        if self._stepper.has_numbers:
            return
        what = f"after step {self._step:,}, {_words(position)}, the weights are no numbers any more, and are not saved"
        raise diverged(what, self._checkpoints.durable)

    def _save(self, position: Position) -> Position | None:
        self._saved, self._held = position, None
        return self._checkpoints.save(self._state(), kind="periodic", position=position)

    def _state(self) -> State:
        facts = {
            "schedule": self._schedule.state(),
            "judgement": asdict(replace(self._judgement, improved=False)),
            "rule": asdict(self._rule),
            "evaluation": self._evaluation,
            "step": self._step,
        }
        return join(
            {
                "model": State(dict(self._model.state_dict()), {}),
                "stepper": self._stepper.state(),
                "sums": self._sums.state(),
                "learner": State({}, facts),
            }
        )

    def _load(self, facts: Any) -> None:
        self._schedule.load(facts["schedule"])
        self._evaluation = facts["evaluation"]
        self._step = int(facts["step"])
        judged, known, rule = Judgement(**facts["judgement"]), Rule(**facts["rule"]), self._rule
        self._judgement = judged if known == rule else judged.under(rule, anew=known.begins != rule.begins)

    def _choose_threads(self, windows: Corpus) -> int:
        trial = (lambda: self._try(windows)) if self._device.type == "cpu" else None
        return pace(self._folder / MODEL / _THREADS, given=self._section.threads, trial=trial)

    def _try(self, windows: Corpus) -> None:
        """The work of a step without the step: nothing of it stays, neither gradients nor figures of batch norm."""
        before = self._running.copy()
        for _ in self._lesson.learn(windows, demand(self._section, 0), step=0, scale=self._stepper.scale):
            continue
        self._running.undo(before)
        for each in self._model.parameters():
            each.grad = None


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, batch {position.batch}"
