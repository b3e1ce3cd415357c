"""TrainingHistory under the seeds' name: forecasts and results of trainings in one SQLite file.

The ledger itself is `headway.run.history.ledger`. Trainings of Headway are recorded without it: headway runs list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.machine.describe import describe
from headway.run.history import accuracy, ledger_tables
from headway.run.history.accuracy import Accuracy as EstimationAccuracy
from headway.run.history.ledger import Entry as TrainingRun
from headway.run.history.ledger import Ledger, run_name
from headway.tools.learner import say

if TYPE_CHECKING:
    from headway.learners.patterns.snapshot import TrainingRunSnapshot
    from headway.run.history.ledger_tables import Table
    from headway.tools.learner import HierarchicalConceptLearner

_REPORTED = {
    "actual_memory_mb": ("avg_memory_mb",),
    "peak_memory_mb": ("peak_memory_mb",),
    "avg_cpu_percent": ("avg_cpu_percent", "cpu_avg_percent"),
    "disk_write_speed_mbps": ("avg_write_speed_mbps",),
    "samples_per_second": ("samples_per_second",),
}


class TrainingHistory:
    """Trainings with what was forecast of them; files of kato-lm are carried on."""

    def __init__(self, db_path: Path | str = "./training_history.db", verbose: bool = True) -> None:
        self.db_path = db_path
        self.verbose = verbose
        self._ledger = Ledger(Path(db_path))
        self._say(f"TrainingHistory: {self.get_run_count()} runs in {db_path}")

    def record_run(  # noqa: PLR0913 - the signature of the seeds
        self,
        config: Mapping[str, Any],
        estimated_time: float | None = None,
        actual_time: float | None = None,
        estimated_storage_gb: float | None = None,
        actual_storage_gb: float | None = None,
        samples_processed: int | None = None,
        patterns_learned: Mapping[str, int] | None = None,
        profiling_report: Any = None,
        dataset_key: str = "unknown",
        hardware_tier: str = "unknown",
        notes: str = "",
        estimated_memory_mb: float | None = None,
        intervals: Mapping[str, tuple[float, float]] | None = None,
        errors: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> str:
        """Write a training down and give it a name; nothing that comes later can lose it.

        `intervals` are those that forecasts came with, by "time" (seconds), "storage" (GB) and "memory" (MiB).
        """
        name = self._ledger.add(
            TrainingRun(
                run_id=run_name(config, samples_processed),
                timestamp=self._ledger.now(),
                config=dict(config),
                estimated_time_seconds=estimated_time,
                actual_time_seconds=actual_time,
                estimated_storage_gb=estimated_storage_gb,
                actual_storage_gb=actual_storage_gb,
                estimated_memory_mb=estimated_memory_mb,
                samples_processed=samples_processed,
                patterns_learned=dict(patterns_learned or {}),
                dataset_key=dataset_key,
                hardware_tier=hardware_tier,
                notes=notes,
                intervals={name: list(ends) for name, ends in (intervals or {}).items()},
                errors=list(errors),
                warnings=list(warnings),
                machine=describe(),
                versions={"headway": version("headway")},
                **_reported(profiling_report),
            )
        )
        self._say(f"recorded {name}")
        return name

    def get_run(self, run_id: str) -> TrainingRun | None:
        """A training by its name; None when there is none."""
        return self._ledger.get(run_id)

    def get_all_runs(self) -> list[TrainingRun]:
        """All trainings, the newest first."""
        return self._ledger.entries()

    def get_recent_runs(self, n: int = 10) -> list[TrainingRun]:
        """The newest trainings."""
        return self._ledger.entries(n)

    def find_similar_runs(
        self,
        config: Mapping[str, Any],
        max_results: int = 10,
        dataset_key: str | None = None,
        hardware_tier: str | None = None,
    ) -> list[TrainingRun]:
        """Trainings of configurations like this one, the most alike first."""
        found = accuracy.similar(self.get_all_runs(), config, dataset=dataset_key, hardware=hardware_tier)
        return found[:max_results]

    def get_estimation_accuracy(self) -> EstimationAccuracy:
        """How good forecasts were; trainings without one do not count."""
        return accuracy.accuracy(self.get_all_runs())

    def compare_runs(self, run_ids: Sequence[str] | None = None, n_recent: int | None = None) -> Table:
        """Trainings side by side: those named, or the newest, or all; a table with `to_pandas()`."""
        entries = self._ledger.named(run_ids) if run_ids else self._ledger.entries(n_recent)
        return ledger_tables.comparison(entries)

    def print_summary(self) -> None:
        """Show how many trainings there are, how good forecasts were, and the newest of them."""
        for line in ledger_tables.summary(self.get_all_runs(), self.get_estimation_accuracy()):
            say(line)

    def export_csv(self, filepath: Path | str) -> None:
        """Write a line for each training."""
        ledger_tables.write_csv(self.get_all_runs(), Path(filepath))
        self._say(f"exported {self.get_run_count()} runs to {filepath}")

    def get_run_count(self) -> int:
        """How many trainings there are."""
        return self._ledger.count()

    def clear_all_runs(self) -> None:
        """Forget all trainings."""
        self._ledger.clear()
        self._say(f"cleared {self.db_path}")

    def capture_snapshot(
        self,
        learner: HierarchicalConceptLearner,
        run_id: str,
        mongo_uri: str | None = None,
        snapshots_dir: Path | str = "./snapshots",
        verbose: bool = True,
    ) -> TrainingRunSnapshot:
        """Keep what a learner's memory holds now, beside a training; `mongo_uri` is not used: memories are files."""
        from headway.learners.patterns.snapshot import snapshot

        del mongo_uri
        self._ledger.named([run_id])
        found, path = snapshot(learner.memory, run_id), Path(snapshots_dir) / f"{run_id}_snapshot.json"
        found.save(path)
        self._ledger.change(run_id, {"snapshot_path": str(path.absolute()), **found.totals()})
        if verbose:
            self._say(f"snapshot: {path}")
        return found

    def load_snapshot(self, run_id: str) -> TrainingRunSnapshot | None:
        """What was kept beside a training; None when nothing was."""
        from headway.learners.patterns.snapshot import TrainingRunSnapshot

        (entry,) = self._ledger.named([run_id])
        return None if entry.snapshot_path is None else TrainingRunSnapshot.load(entry.snapshot_path)

    def _say(self, text: str) -> None:
        if self.verbose:
            say(text)


def _reported(report: Any) -> dict[str, Any]:
    """What a profile has of what is kept, under any of its names."""
    return {field: next(_values(report, names), None) for field, names in _REPORTED.items()}


def _values(report: Any, names: Sequence[str]) -> Iterator[float]:
    given: Mapping[str, Any] = report if isinstance(report, Mapping) else {}
    values = (given.get(name, getattr(report, name, None)) for name in names)
    return (value for value in values if value is not None)


__all__ = ["EstimationAccuracy", "TrainingHistory", "TrainingRun"]
