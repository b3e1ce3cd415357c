"""Every kind of learner as the contract suite tests it, and the smallest honest one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import counting

from headway.data.dataset import Dataset
from headway.feed.feed import Feed
from headway.feed.layouts import Layout, Whole
from headway.learners import registry
from headway.learners.autoencoder import config as autoencoders
from headway.learners.base import Learner, Setup
from headway.learners.gradient.config import OptimizerSection, ScheduleSection
from headway.learners.patterns import config as patterns
from headway.plan.plan import RunSection
from headway.plan.values import Place

MEMORY = 512 << 20


@dataclass(frozen=True)
class Kind:
    """One kind of learner under test."""

    section: Any
    make: Callable[[Setup], Learner]
    outcome: Callable[[Path, Learner], Any]
    layout: Callable[[Any, Dataset, RunSection], Layout] = registry.layout
    tokenizer: str = "words"
    run: RunSection = field(default_factory=lambda: RunSection(batch_tokens=1024))
    satisfied: Any = None
    """The section of one that has enough after an epoch; None for a kind that never says so."""

    def feed(self, dataset: Dataset) -> Feed:
        return Feed(self.layout(self.section, dataset, self.run), epochs=self.run.epochs)

    def learner(self, feed: Feed, folder: Path, place: Place | None = None) -> Learner:
        folder.mkdir(exist_ok=True)
        setup = Setup(
            self.section, feed.dataset, folder, place or Place(), MEMORY, warn=lambda text: None, run=self.run
        )
        return self.make(setup)


def pattern_outcome(folder: Path, learner: Learner) -> Any:
    """Every pattern of a memory with its frequency."""
    from headway.learners.patterns.memory import open_memory

    memory = open_memory(folder)
    return [
        sorted((pattern.name, pattern.frequency, tuple(pattern.symbols)) for pattern in memory.patterns(level=number))
        for number in range(len(memory.levels))
    ]


def network_outcome(folder: Path, learner: Learner) -> Any:
    """Every byte and fact of the newest checkpoint, and its position."""
    from headway.learners.gradient.restore import restore

    learner.settle()
    found = restore(folder / "checkpoints")
    assert found is not None
    return found.position, found.facts, {name: tensor.numpy().tobytes() for name, tensor in found.tensors.items()}


def linear_outcome(folder: Path, learner: Learner) -> Any:
    """Every byte of the sums, and what was saved with them."""
    from headway.learners.autoencoder.linear import STATE, read_sums

    found = read_sums(folder / STATE)
    assert found is not None
    arrays = {name: array.tobytes() for name, array in found.sums.arrays().items()}
    return found.position, found.enough, found.evaluation, arrays


def whole(section: Any, dataset: Dataset, run: RunSection) -> Layout:
    return Whole(dataset, run.batch_tokens)


def autoencoder(**model: Any) -> autoencoders.Section:
    """A small one in which everything draws chance that can."""
    settings = {"hidden": 8, "code": 4, "dropout": 0.2} | model
    return autoencoders.Section(
        vectors="random",
        dimensions=8,
        threads=1,
        device="cpu",
        window=autoencoders.WindowSection(size=10, overlap=2),
        model=autoencoders.ModelSection(**settings),
        noise=autoencoders.NoiseSection(kind="words"),
        optimizer=OptimizerSection(learning_rate=0.01, clip_percentile=50, accumulate=2),
        schedule=ScheduleSection(kind="plateau", patience=0),
    )


RECURRENT = {"encoder": "lstm", "decoder": "recurrent"}
GRADIENT = {
    "make": registry.make,
    "tokenizer": "verse",
    "run": RunSection(batch_tokens=1024, shuffle=True, epochs=2),
}
KINDS = {
    "counting": Kind(counting.Section(), counting.make, lambda folder, learner: counting.counts(folder), whole),
    "patterns": Kind(patterns.Section(), registry.make, pattern_outcome),
    "autoencoder": Kind(
        autoencoder(), outcome=network_outcome, satisfied=replace(autoencoder(), stop_at=-9.0), **GRADIENT
    ),
    "autoencoder, recurrent": Kind(
        autoencoder(**RECURRENT),
        outcome=network_outcome,
        satisfied=replace(autoencoder(**RECURRENT), stop_at=-9.0),
        **GRADIENT,
    ),
    "autoencoder, linear": Kind(
        autoencoder(encoder="pca"), outcome=linear_outcome, satisfied=autoencoder(encoder="pca"), **GRADIENT
    ),
}
