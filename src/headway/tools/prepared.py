"""Texts made ready to be learned, without learning: tokenised, divided, cut into windows, given vectors."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.data.dataset import Dataset
from headway.feed.rows import WindowRows
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.groundwork import Groundwork, groundwork
from headway.learners.base import Setup
from headway.plan.values import Place
from headway.run.building import plan_dataset
from headway.run.stop import Stop
from headway.tools.poetry_config import ArchitectureConfig, DataConfig, TrainingConfig, settled
from headway.tools.poetry_data import DataFormat
from headway.tools.poetry_tables import DATA
from headway.tools.poetry_training import Task

Settings = DataConfig | Mapping[str, Any] | None
SIDES = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a training of some texts would begin with."""

    texts: DataFormat
    dataset: Dataset
    ground: Groundwork
    cut_off: dict[str, int] | None


def prepare(path: Path | str, data: Settings, output_dir: Path | str) -> Prepared:
    """Build or find the data set of some texts below `output_dir`, and lay the ground for learning from it."""
    config = replace(settled(DataConfig, DATA, data), path=path)
    task = Task(architecture=ArchitectureConfig(), training=TrainingConfig(), data=config)
    texts = task.texts()
    plan = task.plan(texts)
    section = plan.learner
    assert isinstance(section, Section)
    with Stop() as stop:
        dataset = plan_dataset(plan, task.datasets(Path(output_dir)), listeners=(), stop=stop, run=None)
    with tempfile.TemporaryDirectory(prefix="headway-ground-") as scratch:
        setup = Setup(section, dataset, Path(scratch), Place(), 0, run=plan.run, home=plan.folder)
        return Prepared(texts, dataset, groundwork(setup), task.cut_off(texts))


def quick_preprocess(
    path: Path | str, data: Settings = None, *, output_dir: Path | str = "./results"
) -> dict[str, Any]:
    """What there is to learn in some texts, counted: nothing of it is an estimate."""
    found = prepare(path, data, output_dir)
    material, facts = found.ground.material, found.ground.lexicon.facts
    sides = {"train": material.train, "valid": material.valid, "test": material.test}
    return {
        "path": str(found.texts.path),
        "format": found.texts.format,
        "dataset": str(found.dataset.folder),
        "documents": found.dataset.documents,
        "tokens": found.dataset.tokens,
        "types": len(found.dataset.vocabulary),
        "skipped": dict(found.dataset.skipped),
        "windows": {name: len(rows.windows.documents) for name, rows in sides.items()},
        "coverage": sum(_owned(rows) for rows in sides.values()) / found.dataset.tokens,
        "exact_duplicates": material.grouping.exact,
        "near_duplicates": material.grouping.near,
        "vectors": facts.source,
        "words_by_lookup": facts.found or None,
        "cut_off": found.cut_off,
    }


def _owned(rows: WindowRows) -> int:
    """The tokens that windows own; together those of all documents."""
    return int((rows.windows.ends - rows.windows.owned).sum())
