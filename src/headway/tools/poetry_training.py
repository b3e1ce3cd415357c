"""One training of the seeds as a run of Headway: its plan, what is heard of it, and what came of it."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from headway.errors import PlanError
from headway.tools.poetry_config import ArchitectureConfig, DataConfig, TrainingConfig, budget
from headway.tools.poetry_data import DataFormat, detect_data_format, find_vectors, folder_of, read_texts
from headway.tools.poetry_names import at, merged, renamed
from headway.tools.poetry_tables import ARCHITECTURE, CUT, DATA, TRAINING

if TYPE_CHECKING:
    from headway.plan.plan import Plan
    from headway.record.record import Listener
    from headway.run.result import RunResult

_MOST_NAME = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one training learns, and how; made of checked configurations."""

    architecture: ArchitectureConfig
    training: TrainingConfig
    data: DataConfig

    @property
    def notes(self) -> tuple[str, ...]:
        """Names that were understood as others, and settings that change nothing."""
        return (*self.architecture.notes, *self.training.notes, *self.data.notes)

    def texts(self) -> DataFormat:
        """What is at the path of the texts."""
        if self.data.path is None:
            raise PlanError(DATA.where, ["path: missing; name a file or a folder of texts"])
        return detect_data_format(self.data.path, text_field=self.data.text_field, texts=self.data.texts)

    def plan(self, texts: DataFormat) -> Plan:
        """The plan of a run that learns these texts."""
        from headway.plan.load import plan_from
        from headway.run.train import plan_kinds

        found = merged(
            {"name": _name(texts.path), "learner": {"kind": "autoencoder"}},
            self.architecture.part(),
            self.training.part(),
            self.data.part(),
            budget(self.training, self.data),
            at("learner.vectors", find_vectors(self.data, beside=folder_of(texts.path))),
            at("data.sources", [str(texts.path)]),
            at("data.texts", texts.texts),
            {} if texts.text_field is None else at("data.field", texts.text_field),
        )
        try:
            return plan_from(found, folder=Path.cwd(), kinds=plan_kinds())
        except PlanError as cause:
            raise PlanError("poetry_autoencoder", renamed(cause.problems, (ARCHITECTURE, TRAINING, DATA))) from cause

    def run(self, home: Path, *, texts: DataFormat, verbose: bool) -> tuple[RunResult, dict[str, Any]]:
        """Train until it is finished, a run that was interrupted continued; the run, and the figures measured."""
        from headway.run.train import train

        heard = _Heard()
        listeners = (heard, *_lines()) if verbose else (heard,)
        result = train(self.plan(texts), runs_dir=home, datasets_dir=self.datasets(home), listeners=listeners)
        if result.status == "stopped":
            _leave(result)
        return result, {
            **_figures(result, heard),
            "cut_off": self.cut_off(texts),
            "warnings": heard.warnings,
            "notes": list(self.notes),
        }

    def datasets(self, home: Path) -> Path:
        """Where data sets lie: with all others of this place, or apart."""
        if self.data.cache:
            return home / "datasets"
        home.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="datasets-", dir=home))

    def cut_off(self, texts: DataFormat) -> dict[str, int] | None:
        """What is not learned where each text is one window; None where windows follow each other."""
        if self.data.chunking_method not in CUT:
            return None
        return counted_beyond(
            read_texts(texts.path, text_field=texts.text_field, texts=texts.texts), size=self.data.max_length
        )


def counted_beyond(texts: list[str], *, size: int) -> dict[str, int]:
    """Texts of more than `size` tokens, and the tokens that they have beyond."""
    from headway.data.tokenizers import load_own

    offsets = load_own("verse").encode(texts).offsets
    beyond = [max(0, high - low - size) for low, high in pairwise(offsets.tolist())]
    return {"texts": sum(map(bool, beyond)), "tokens": sum(beyond)}


class _Heard:
    """Counts what a run does, event by event."""

    def __init__(self) -> None:
        self.sequences = 0
        self.warnings: list[str] = []

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        if event["event"] == "step":
            self.sequences += int(event["metrics"].get("sequences", 0))
        elif event["event"] == "warned":
            self.warnings.append(event["text"])


def _figures(result: RunResult, heard: _Heard) -> dict[str, Any]:
    """What was measured; what was not is None."""
    asked = ("model", "parameters", "code", "dimensions", "vectors", "steps", "device", "threads")
    told = ("evaluation", "best_skill", "checkpoints")
    rate = heard.sequences / result.seconds if result.seconds and heard.sequences else None
    return {
        "run": str(result.folder),
        "resumed": result.resumed,
        **{name: result.totals.get(name) for name in asked},
        "documents": result.documents,
        "tokens": result.tokens,
        "sequences": heard.sequences,
        "seconds": result.seconds,
        "seconds_end_to_end": result.seconds_end_to_end,
        "sequences_per_second": rate,
        "tokens_per_second": result.tokens_per_second,
        **{name: result.totals.get(name) for name in told},
    }


def _lines() -> tuple[Listener, ...]:
    from headway.run.listeners import Lines

    return (Lines(sys.stdout),)


def _leave(result: RunResult) -> NoReturn:
    """End as the signal that stopped the run would have."""
    if result.signal not in (None, signal.SIGINT):
        raise SystemExit(128 + result.signal)
    raise KeyboardInterrupt(f"stopped; what was learned is saved in {result.folder}: the same call continues it")


def _name(path: Path) -> str:
    """What the run is called: as its texts are."""
    plain = re.sub(r"[^\w-]+", "_", path.name.partition(".")[0]).strip("_")
    return plain[:_MOST_NAME] or "poems"
