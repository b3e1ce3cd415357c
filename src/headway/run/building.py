"""The dataset of a plan, built or found, with its progress told to listeners."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from headway.data.build import build, key_for
from headway.data.config import DataSection
from headway.data.dataset import Dataset
from headway.data.key import changed_since
from headway.data.report import BuildProgress, BuildStopped
from headway.plan.plan import Plan
from headway.record.record import Listener
from headway.run.listeners import tell
from headway.run.run import Run
from headway.run.stop import Stop
from headway.run.team import Means, means


def plan_dataset(plan: Plan, cache: Path, *, listeners: Sequence[Listener], stop: Stop, run: Run | None) -> Dataset:
    """The dataset that a plan's `data` section describes; a RunError when `run` was trained on another one."""
    assert isinstance(plan.data, DataSection)
    if run is not None:
        # Before anything is built: a large corpus takes hours, and what it is is known now.
        key = key_for(plan.data, folder=plan.folder, cache=cache)
        run.check_dataset(key.digest, changes=lambda home: changed_since(home, key))
    offered = means(plan.workers, plan.memory)
    dataset = build_dataset(plan.data, offered, folder=plan.folder, cache=cache, listeners=listeners, stop=stop)
    for text in _report(dataset):
        tell(listeners, "note", {"text": text})
    return dataset


def build_dataset(
    section: DataSection, offered: Means, *, folder: Path, cache: Path, listeners: Sequence[Listener], stop: Stop
) -> Dataset:
    """The dataset of a section; when it is stopped, finished shards stay and the stop acts as its signal would have."""
    try:
        return build(
            section,
            folder=folder,
            cache=cache,
            workers=offered.workers,
            memory=offered.memory,
            progress=lambda progress: _tell(listeners, progress),
            stop=stop.requested,
        )
    except BuildStopped:
        stop.insist()


def _tell(listeners: Sequence[Listener], progress: BuildProgress) -> None:
    tell(listeners, "build", asdict(progress))


def _report(dataset: Dataset) -> list[str]:
    report = dataset.report
    if report is None:
        return []
    if report.reused:
        return [f"dataset found in {dataset.folder}", *report.notes]
    return [*(f"dataset built anew: {change}" for change in report.changed), *report.notes]
