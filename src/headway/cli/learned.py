"""What the run of an autoencoder has come to: the lines that a summary and `runs show` have of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.durable import read_json
from headway.errors import DataError, RunError
from headway.learners.autoencoder.config import RANDOM
from headway.plan.section import format_bytes
from headway.record.record import read_record
from headway.run.folders import RECORD, RESOLVED

if TYPE_CHECKING:
    from headway.learners.autoencoder.curves import Points

KIND = "autoencoder"
Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Evaluations:
    """How good a run was, epoch by epoch."""

    figures: Mapping[str, Points]

    @property
    def last(self) -> int | None:
        """The epoch after which it was last looked at."""
        points = self.figures.get("skill")
        return points[-1][0][0] if points else None

    @property
    def best(self) -> int | None:
        """The epoch after which it was best, by the run's own rule."""
        better = [place[0] for place, since in self.figures.get("since_best", []) if not since]
        return better[-1] if better else self.last

    @property
    def since_best(self) -> int | None:
        """Evaluations since the best one."""
        points = self.figures.get("since_best")
        return int(points[-1][1]) if points else None

    def at(self, epoch: int | None, name: str) -> float | None:
        """A figure after an epoch; None where it was not measured then."""
        return next((value for place, value in self.figures.get(name, []) if place[0] == epoch), None)


def kind_of(folder: Path) -> str | None:
    """The kind of learner that a run's plan names; None where that cannot be read."""
    try:
        plan: Any = read_json(folder / RESOLVED)
        return plan["learner"]["kind"]
    except (DataError, OSError, KeyError, TypeError):
        return None


def events(folder: Path) -> list[dict[str, Any]]:
    """The record of a run that has been evaluated; a RunError where it is none of an autoencoder, or has not."""
    if (kind := kind_of(folder)) != KIND:
        raise RunError(f"{folder} is a run of kind {kind!r}, not of an autoencoder")
    path = folder / RECORD
    found = list(read_record(path)) if path.is_file() else []
    if not any(event["event"] == "evaluated" for event in found):
        raise RunError(f"{folder} was not evaluated yet, so there is nothing to draw; see learner.evaluate_every")
    return found


def rows(folder: Path, totals: Mapping[str, Any]) -> Rows:
    """What there is to say of a run, with what its learner said at its end, if it came to one."""
    from headway.learners.autoencoder.curves import course

    plan: Any = read_json(folder / RESOLVED)
    path = folder / RECORD
    found = list(read_record(path)) if path.is_file() else []
    evaluations = Evaluations(course(found).evaluated)
    lines = [
        ("model", _model(totals)),
        ("code", _code(plan["learner"], totals)),
        ("vectors", _vectors(totals)),
        ("epochs", _epochs(plan, found, evaluations)),
        ("skill", _skill(plan["learner"], evaluations)),
        ("last", _last(evaluations)),
        ("checkpoints", _checkpoints(totals)),
    ]
    return [(name, text) for name, text in lines if text]


def commands(run: str, folder: Path) -> list[str]:
    """What to try next with a run, written `run` on the command line."""
    learner: Any = read_json(folder / RESOLVED)["learner"]
    model = learner["model"]
    held = learner["split"]["valid"] > 0
    # Neither a linear code nor a decoder that sees more than the code writes anything new.
    writes = model["encoder"] != "pca" and model["attention"] != "bypass"
    return [
        *([f"headway autoencoder evaluate {run}"] if held else []),
        *([f"headway autoencoder generate {run}"] if writes else [f'headway autoencoder rebuild {run} --text "..."']),
        *([f"headway autoencoder curves {run} --output curves.svg"] if held and learner["evaluate_every"] else []),
    ]


def _model(totals: Mapping[str, Any]) -> str:
    if "model" not in totals:
        return ""
    size = f", {totals['parameters']:,} parameters" if "parameters" in totals else ""
    where = f"; {totals['device']}" if "device" in totals else ""
    threads = totals.get("threads")
    by = f", {threads} thread{'s' if threads != 1 else ''}" if threads and where == "; cpu" else ""
    return f"{totals['model']}{size}{where}{by}"


def _code(learner: Mapping[str, Any], totals: Mapping[str, Any]) -> str:
    numbers, words, wide = learner["model"]["code"], learner["window"]["size"], totals.get("dimensions")
    if wide is None:
        return f"{numbers} numbers for up to {words} vectors"
    said = f"{numbers} numbers for up to {words} vectors of {wide}, 1 : {words * wide / numbers:.0f}"
    past = "; the decoder sees the encoder's states as well (bypass): this is no compression"
    return said if totals.get("bottleneck", True) else said + past


def _vectors(totals: Mapping[str, Any]) -> str:
    if "vectors" not in totals:
        return ""
    if totals["vectors"] == RANDOM:
        return f"{RANDOM}: made up, and every figure is about these"
    coverage = totals.get("coverage")
    return totals["vectors"] + (f", {coverage:.1%} of the learned words have one" if coverage is not None else "")


def _epochs(plan: Mapping[str, Any], found: list[dict[str, Any]], evaluations: Evaluations) -> str:
    whole = plan["run"]["epochs"]
    ends = [event for event in found if event["event"] in ("saved", "finished")]
    if not ends:
        return f"0 of {whole}"
    done = ends[-1]["position"][0]
    complete = ends[-1].get("reason") == "complete"
    best = evaluations.best
    text = f"{done} of {whole}"
    text += f", best after {best}" if best is not None and best != done else ""
    return text + (f"; {_why(plan['learner'], evaluations)}" if complete and done < whole else "")


def _why(learner: Mapping[str, Any], evaluations: Evaluations) -> str:
    """Why a run that is complete ended before its last epoch."""
    if learner["model"]["encoder"] == "pca":
        return "a linear code has learned all there is in one"
    stop, skill = learner["stop_at"], evaluations.at(evaluations.last, "skill")
    if stop is not None and skill is not None and skill >= stop:
        return f"ended early: the skill reached learner.stop_at = {stop:g}"
    since = evaluations.since_best
    return f"ended early: no better evaluation in {since} (learner.patience)" if since else "ended early"


def _skill(learner: Mapping[str, Any], evaluations: Evaluations) -> str:
    """Skill, never alone: beside what a constant and a line reach."""
    best = evaluations.best
    skill, constant = evaluations.at(best, "skill"), evaluations.at(best, "constant")
    if skill is None or constant is None:
        return f"not measured: {_unmeasured(learner)}"
    said = f"{skill:.4f} over a constant ({constant:.4f})"
    line = evaluations.at(best, "linear_skill")
    if learner["model"]["encoder"] == "pca" or line is None:
        return said if skill > 0 else f"{said}: no better than a constant"
    judged = "the model is better" if skill > line else "the line is better"
    if skill <= 0:
        judged = f"{judged}, and so is a constant" if line > 0 else "neither is better than a constant"
    return f"{said}; PCA of {learner['model']['code']} numbers: {line:.4f}: {judged}"


def _unmeasured(learner: Mapping[str, Any]) -> str:
    if not learner["split"]["valid"]:
        return "nothing is held out (learner.split.valid = 0)"
    return "no epoch was evaluated yet" if learner["evaluate_every"] else "learner.evaluate_every = 0"


def _last(evaluations: Evaluations) -> str:
    if evaluations.last == evaluations.best:
        return ""
    return f"skill {evaluations.at(evaluations.last, 'skill'):.4f} after epoch {evaluations.last}"


def _checkpoints(totals: Mapping[str, Any]) -> str:
    known: Mapping[str, Any] | None = totals.get("checkpoints")
    if not known or not known["written"]:
        return ""
    held = known["blocking"]
    said = f"{known['written']:,} written, {format_bytes(known['bytes'])}"
    said += f"; a save blocks for {_milliseconds(held['median'])}, {_milliseconds(held['max'])} at most"
    return said + (f"; {known['coalesced']:,} replaced by newer ones" if known["coalesced"] else "")


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"
