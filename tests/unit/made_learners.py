"""Small autoencoders that learn real datasets, for tests of what stands between a plan and its model."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headway.data.build import build
from headway.data.config import DataSection
from headway.data.dataset import Dataset
from headway.feed.batch import Batch
from headway.feed.feed import Feed
from headway.learners import registry
from headway.learners.autoencoder.config import ModelSection, Section, SplitSection, WindowSection
from headway.learners.base import Learner, Setup
from headway.learners.gradient.config import OptimizerSection
from headway.learners.gradient.restore import restore
from headway.plan.plan import RunSection
from headway.plan.values import Place, Position

torch.set_num_threads(1)

WORDS = [f"{first}{last}" for first in "bdgklmnp" for last in ("a", "e", "in", "o")]
RUN = RunSection(batch_tokens=64, shuffle=True, epochs=2)


def poems(count: int = 20, *, seed: int = 0, lines: int = 5) -> list[str]:
    """Texts of one to so many lines, a few words each."""
    draw = random.Random(seed)
    return [
        "\n".join(" ".join(draw.choices(WORDS, k=draw.randint(2, 6))) for _ in range(draw.randint(1, lines)))
        for _ in range(count)
    ]


def dataset_of(folder: Path, texts: Sequence[str], *, tokenizer: str = "verse") -> Dataset:
    """The texts, tokenised."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "poems.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return build(DataSection(sources=("poems.jsonl",), tokenizer=tokenizer), folder=folder, cache=folder / "datasets")


def write_vectors(path: Path, words: Sequence[str] = WORDS, *, dimensions: int = 6, seed: int = 0) -> Path:
    """A file in GloVe's format."""
    draw = np.random.default_rng(seed)
    rows = (f"{word} {' '.join(f'{number:.4f}' for number in draw.normal(size=dimensions))}\n" for word in words)
    path.write_text("".join(rows))
    return path


def section(**settings: Any) -> Section:
    """A small plan in which nothing draws chance, but for what is said; `model` and `optimizer` may be dicts."""
    model = {"encoder": "lstm", "decoder": "recurrent", "hidden": 8, "code": 4, "dropout": 0.0} | settings.pop(
        "model", {}
    )
    optimizer = {"learning_rate": 0.01} | settings.pop("optimizer", {})
    usual: dict[str, Any] = {
        "vectors": "random",
        "dimensions": 6,
        "threads": 1,
        "device": "cpu",
        "teacher_forcing": 1.0,
        "window": WindowSection(size=8, overlap=2, shortest=3),
        "split": SplitSection(train=0.7, valid=0.2, test=0.1),
    }
    return Section(**(usual | settings), model=ModelSection(**model), optimizer=OptimizerSection(**optimizer))


@dataclass
class World:
    """A dataset, a section, and the folder that learners of them work in."""

    dataset: Dataset
    folder: Path
    section: Section = field(default_factory=section)
    run: RunSection = RUN
    said: list[str] = field(default_factory=list)

    def within(self, name: str, **changes: Any) -> "World":
        """The same in another folder, some of it changed."""
        return replace(self, folder=self.folder / name, said=[], **changes)

    @property
    def feed(self) -> Feed:
        return Feed(registry.layout(self.section, self.dataset, self.run), epochs=self.run.epochs)

    @property
    def setup(self) -> Setup:
        self.folder.mkdir(parents=True, exist_ok=True)
        home = self.dataset.folder.parent.parent
        return Setup(
            self.section, self.dataset, self.folder, Place(), 0, warn=self.said.append, run=self.run, home=home
        )

    def learner(self) -> Any:
        return registry.make(self.setup)

    def batches(self, position: Position = Position.START) -> Iterator[tuple[Batch, Position]]:
        return self.feed.batches(position)

    def learned(self) -> Any:
        """A learner that went through all of it, saved, still open."""
        learner = self.learner()
        self.go_on(learner, Position.START)
        return learner

    def go_on(self, learner: Learner, position: Position, *, steps: int | None = None) -> Position:
        """So many steps from a position on, or all there are, each evaluation in its place; then a save."""
        for number, (batch, after) in enumerate(self.batches(position)):
            if number == steps:
                break
            learn(learner, batch, after)
            position = after
        learner.save(self.folder, position)
        learner.settle()
        return position


def learn(learner: Any, batch: Batch, after: Position) -> None:
    """One step, and what the loop asks for at the end of an epoch."""
    learner.step(batch)
    if after.epoch > batch.position.epoch:
        learner.evaluate(after)


def saved(folder: Path, index: Any = "latest") -> tuple[Any, Any, dict[str, bytes]]:
    """All that the newest checkpoint holds: position, facts, and the bytes of every tensor."""
    found = restore(folder / "checkpoints", index)
    assert found is not None
    return found.position, found.facts, {name: tensor.numpy().tobytes() for name, tensor in found.tensors.items()}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """What the model of the newest checkpoint knows."""
    found = restore(folder / "checkpoints")
    assert found is not None
    return {name: tensor for name, tensor in found.tensors.items() if name.startswith("model/")}
