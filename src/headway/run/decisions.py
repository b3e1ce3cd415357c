"""What a run decided for itself where its plan leaves that open, each with its reason."""

from collections.abc import Mapping
from typing import Any

from headway.data.config import DataSection
from headway.data.report import BuildReport
from headway.machine.describe import usable_cores
from headway.plan.plan import Plan
from headway.plan.section import format_bytes
from headway.run.team import Means

Decisions = Mapping[str, Mapping[str, Any]]
"""By the dotted path of a setting: the `value` (None: it is not decided yet) and `why`."""

_ENGINE = "data.engine"


def decisions(plan: Plan, means: Means, *, batches: int | None = None, report: BuildReport | None = None) -> Decisions:
    """What is decided of a plan, as far as it is known: before the build without batches and report."""
    decided: dict[str, dict[str, Any]] = {}
    if plan.workers != means.workers:
        decided["workers"] = {"value": means.workers, "why": _why_workers(plan, means.workers, batches)}
    if plan.memory is None:
        free = format_bytes(4 * means.memory)
        decided["memory"] = {"value": means.memory, "why": f"a quarter of the {free} that were free"}
    if isinstance(plan.data, DataSection) and plan.data.engine == "auto":
        decided[_ENGINE] = _engine(report)
    return decided


def kept(decided: Decisions, earlier: Decisions) -> Decisions:
    """The decisions of a run that goes on: one that did not come up again stays."""
    made = {name: decision for name, decision in earlier.items() if name == _ENGINE and name in decided}
    return {**decided, **made} if made and decided[_ENGINE]["value"] is None else decided


def _why_workers(plan: Plan, workers: int, batches: int | None) -> str:
    offered = usable_cores() if plan.workers is None else plan.workers
    if workers == offered:
        return f"one for each of {offered} usable cores" if offered > 1 else "there is one usable core"
    if batches is not None and workers == max(1, batches):
        return f"there are no more batches than that for {offered} workers"
    return "a learner of this kind works alone"


def _engine(report: BuildReport | None) -> dict[str, Any]:
    if report is None:
        return {"value": None, "why": "decided by the build: the fastest that proves it gives the reference's tokens"}
    if report.engine is None:
        return {"value": None, "why": "nothing had to be tokenised"}
    if report.engine == "python":
        return {"value": report.engine, "why": "this tokenizer has no other"}
    return {"value": report.engine, "why": "the fastest that gave the reference's tokens on texts of this corpus"}
