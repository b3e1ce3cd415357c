"""A small training of an autoencoder in this process, and what is seen of it from outside."""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.data.dataset import Dataset
from headway.learners import registry
from headway.learners.base import Evaluator, Setup
from headway.learners.gradient.restore import restore
from headway.plan.load import Origin, changed_plan
from headway.plan.values import Place, Position
from headway.run.session import feed_of
from headway.run.train import plan_kinds

WORDS = [f"{first}{second}" for first in "bdgkl" for second in ("a", "en", "ir", "o", "um")]
WITHOUT_A_VECTOR = 5
PLAN = {
    "data": {"sources": ["poems.jsonl"]},
    "learner": {
        "kind": "autoencoder",
        "vectors": "vectors.txt",
        "threads": 1,
        "device": "cpu",
        "window": {"size": 8, "overlap": 2, "shortest": 3},
        "split": {"train": 0.8, "valid": 0.2, "test": 0.0},
        "model": {"encoder": "lstm", "decoder": "recurrent", "hidden": 8, "code": 4},
        "optimizer": {"learning_rate": 0.01},
    },
    "run": {"epochs": 1, "batch_tokens": 64, "save_every": 0},
}


@dataclass
class Ran:
    """What is seen of a training from outside."""

    folder: Path
    error: str | None = None
    weights: dict[str, bytes] = field(default_factory=dict)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    saved: list[Position | None] = field(default_factory=list)

    def rates(self) -> list[float]:
        return [each["rate"].value for each in self.metrics]

    def lexicon(self) -> dict[str, Any]:
        return json.loads((self.folder / "model" / "lexicon.json").read_text())["facts"]

    def kept(self) -> int:
        return len(list((self.folder / "checkpoints").glob("0*")))

    def loss(self) -> list[float]:
        return [each["loss"].value for each in self.metrics if "loss" in each]


def write_home(folder: Path) -> Path:
    """Poems, some of them alike, and vectors of most of their words."""
    draw = random.Random(1)

    def line() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(2, 6))) + draw.choice([".", "", "", ","])

    poems = ["\n".join(line() + draw.choice(["", "\n"]) for _ in range(draw.randint(1, 5))) for _ in range(16)]
    poems += [f"{poem}\n{line()}\n{line()}" for poem in poems[:6]]
    (folder / "poems.jsonl").write_text("".join(json.dumps({"text": poem}) + "\n" for poem in poems))
    rows = (f"{word} {' '.join(f'{draw.gauss(0, 1):.4f}' for _ in range(6))}\n" for word in [*WORDS, ".", ","])
    (folder / "vectors.txt").write_text("".join(list(rows)[WITHOUT_A_VECTOR:]))
    return folder


def plan_of(home: Path, *overrides: str) -> Any:
    """The plan, changed as a user would."""
    return changed_plan(PLAN, overrides, origin=Origin(home, "plan"), kinds=plan_kinds())


def learn(plan: Any, dataset: Dataset, ran: Ran) -> None:
    """Train in this process, without a record."""
    feed = feed_of(plan, dataset)
    setup = Setup(plan.learner, dataset, ran.folder, Place(), 0, run=plan.run, home=plan.folder)
    learner = registry.make(setup)
    assert isinstance(learner, Evaluator)
    try:
        for batch, after in feed.batches(Position.START):
            if learner.enough:
                break
            ran.metrics.append(learner.step(batch))
            if after.epoch > batch.position.epoch:
                found = learner.evaluate(after)
                ran.evaluations += [] if found is None else [found]
                ran.saved.append(learner.save(ran.folder, after))
        learner.settle()
        ran.totals = learner.totals()
        found = restore(ran.folder / "checkpoints")
        assert found is not None
        ran.weights = {
            name: tensor.numpy().tobytes() for name, tensor in found.tensors.items() if name.startswith("model/")
        }
    finally:
        learner.close()
