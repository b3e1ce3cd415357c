"""The smallest honest merge learner: counts token ids exactly, one JSON file per part. Tests train with it."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal
from uuid import uuid4

from headway.data.dataset import Dataset
from headway.durable import read_json, replace_json, write_errors
from headway.errors import DataError, PlanError
from headway.feed.batch import Batch
from headway.feed.layouts import Layout, Whole
from headway.learners.base import Setup
from headway.plan.plan import Parallel, RunSection
from headway.plan.values import Position

# What a batch that hangs leaves in the folder of its run, so that nobody has to guess when it does.
HANGING = "hanging"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What a plan may say about counting; `fault` is what a test wants to go wrong, at batch `fault_at`."""

    parallel: ClassVar[Parallel] = "merge"

    kind: Literal["counting"] = "counting"
    fault: str = ""
    fault_at: int = -1
    step_seconds: float = 0.0


@dataclass
class Counting:
    """Counts every token id it is shown."""

    setup: Setup
    parallel: Literal["merge", "lockstep", "single"] = "merge"
    unsaved: Counter[int] = field(default_factory=Counter)
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.setup.folder / "counting"

    def step(self, batch: Batch) -> dict[str, float]:
        section = self.setup.section
        if batch.position.batch == section.fault_at:
            fail(section.fault, self.setup.folder)
        time.sleep(section.step_seconds)
        self.unsaved.update(batch.ids.tolist())
        return {"counted": float(batch.tokens)}

    def flush(self) -> dict[str, Any]:
        with write_errors(self.home, kept="counts saved before are safe"):
            self.home.mkdir(exist_ok=True)
            name = f"part-{self.setup.place.rank}-{uuid4().hex}.json"
            replace_json(self.home / name, {str(token): number for token, number in self.unsaved.items()})
        part = {"name": name, "tokens": self.unsaved.total()}
        self.unsaved.clear()
        return part

    def adopt(self, parts: Sequence[dict[str, Any]]) -> None:
        self.parts.extend(parts)

    def save(self, folder: Path, position: Position) -> Position:
        if self.unsaved:
            self.adopt([self.flush()])
        with write_errors(self.home, kept="counts saved before are safe"):
            self.home.mkdir(exist_ok=True)
            manifest = {"parts": self.parts, "position": [position.epoch, position.batch]}
            replace_json(self.home / "manifest.json", manifest)
        return position

    def settle(self) -> None:
        """A save is durable when it returns."""

    def restore(self, folder: Path) -> Position | None:
        path = self.home / "manifest.json"
        if not path.is_file():
            return None
        manifest = read_json(path)
        self.parts = manifest["parts"]
        return Position(*manifest["position"])

    def finish(self) -> None:
        if self.unsaved:
            self.adopt([self.flush()])

    def close(self) -> None:
        self.unsaved.clear()

    def totals(self) -> dict[str, Any]:
        return {"tokens": sum(part["tokens"] for part in self.parts)}


def fail(fault: str, folder: Path) -> None:
    """Go wrong in the way a test asks for."""
    if fault == "hang":
        (folder / HANGING).touch()
        time.sleep(3600)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "exit":
        os._exit(7)
    if fault == "bug":
        raise ZeroDivisionError("a bug in a learner")
    if fault == "refuse":
        raise PlanError("learner", ["no such thing"])
    if fault == "full":
        with write_errors(Path("/full"), kept="nothing"):
            raise OSError(28, "No space left on device")
    if fault == "raw-full":
        raise OSError(28, "No space left on device")
    if fault == "unreadable":
        raise DataError("shard 3 cannot be read")


def make(setup: Setup) -> Counting:
    return Counting(setup)


def prepare(section: Section, dtype: object = None) -> None:
    if section.fault == "prepare-refuse":
        raise DataError("cannot prepare")
    if section.fault == "prepare-bug":
        raise ZeroDivisionError("a bug while preparing")
    if section.fault == "prepare-exit":
        os._exit(9)


def layout(section: Section, dataset: Dataset, run: RunSection) -> Layout:
    return Whole(dataset, run.batch_tokens, seed=run.seed, shuffle=run.shuffle)


def counts(folder: Path) -> dict[int, int]:
    """What a memory counted, all parts that its manifest names added up."""
    home = folder / "counting"
    total: Counter[int] = Counter()
    for part in read_json(home / "manifest.json")["parts"]:
        stored = json.loads((home / part["name"]).read_bytes())
        total.update({int(token): number for token, number in stored.items()})
    return dict(total)
