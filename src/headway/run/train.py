"""From a plan to a trained run: choose the run, build the dataset, drive the learner."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from headway.data.build import absences
from headway.data.config import DataSection
from headway.errors import PlanError, RunError
from headway.learners import registry
from headway.plan.fingerprint import resolved
from headway.plan.load import Look, Origin, changed_plan, load_plan
from headway.plan.plan import Kinds, Plan
from headway.record.record import Listener
from headway.run.building import plan_dataset
from headway.run.choose import Mode, choose
from headway.run.facts import facts
from headway.run.folders import check_name
from headway.run.listeners import tell, usual_listeners
from headway.run.result import RunResult
from headway.run.run import Run, new_run
from headway.run.sampling import plan_sampler
from headway.run.session import Beginning, session
from headway.run.stop import Stop
from headway.run.team import early


def train(
    plan: Plan | Path | str,
    *,
    overrides: Sequence[str] = (),
    runs_dir: Path | str = "runs",
    datasets_dir: Path | str = "datasets",
    mode: Mode = "auto",
    listeners: Sequence[Listener] | None = None,
) -> RunResult:
    """Train what a plan describes, exactly once whatever happens: a run that was interrupted is continued.

    `overrides` are texts like "learner.widths=[5,7]" or "workers=2". `mode` "auto" continues the newest run of the
    plan if it is unfinished, "resume" insists on that, "new" starts another one. `listeners` are called with every
    event; without any, a notebook or a terminal shows lines of progress, and () shows nothing.
    """
    kinds = plan_kinds()
    wanted = read_plan(plan, overrides=overrides, kinds=kinds)
    told = usual_listeners() if listeners is None else tuple(listeners)
    choice = choose(wanted, runs=Path(runs_dir), kinds=kinds, mode=mode)
    if choice.said is not None:
        tell(told, "note", {"text": choice.said})
    if choice.folder is not None and choice.finished:
        return _as_it_stands(choice.folder)
    source = None if isinstance(plan, Plan) else Path(plan)
    check_here(wanted, where=str(source or wanted.name))
    with Stop() as stop, ExitStack() as held:
        run = None if choice.folder is None else held.enter_context(Run(choice.folder, wanted, stop=stop))
        sampler = plan_sampler(wanted.run)
        if sampler is not None:
            held.enter_context(sampler)
        servant = early(wanted)
        if servant is not None:
            held.callback(servant.close)
        began = time.perf_counter()
        dataset = plan_dataset(wanted, Path(datasets_dir), listeners=told, stop=stop, run=run)
        seconds = time.perf_counter() - began
        # Only now: a build that is interrupted leaves no run behind.
        if run is None:
            run = held.enter_context(new_run(Path(runs_dir), wanted, stop=stop))
        beginning = Beginning(
            plan_file=source, resumed=choice.folder is not None, warnings=choice.warnings, build_seconds=seconds
        )
        return session(run, dataset, beginning=beginning, servant=servant, listeners=told, sampler=sampler)


def plan_kinds() -> Kinds:
    """The section classes that plans may use."""
    return Kinds(data=DataSection, learners=registry.kinds())


def read_plan(plan: Plan | Path | str, *, overrides: Sequence[str] = (), kinds: Kinds | None = None) -> Plan:
    """The validated plan in a file, or the given one, with overrides applied."""
    kinds = kinds or plan_kinds()
    if isinstance(plan, (str, Path)):
        path = Path(plan)
        return load_plan(path, kinds=kinds, overrides=overrides, look=look_in(path.absolute().parent))
    # Notebooks do not check types.
    if not isinstance(plan, Plan):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(type(plan).__name__, ["is no plan; give the path of a .toml or .json file, or a Plan"])
    if not overrides:
        return plan
    origin = Origin(plan.folder, plan.name)
    return changed_plan(resolved(plan), overrides, origin=origin, kinds=kinds, look=look_in(plan.folder))


def check_here(plan: Plan, *, where: str) -> None:
    """A PlanError with all that a training would stumble over on this machine, found without reading any data."""
    look = look_in(plan.folder)
    if problems := [problem for key in ("name", "data", "learner") for problem in look(key, getattr(plan, key))]:
        raise PlanError(where, problems)


def look_in(folder: Path) -> Look:
    """What is wrong on this machine with the valid parts of a plan whose paths start at `folder`."""
    return partial(_look, folder)


def _look(folder: Path, key: str, value: Any) -> list[str]:
    """What is wrong here with a value that is valid, each with its dotted path."""
    if isinstance(value, DataSection):
        return [f"{key}.{problem}" for problem in absences(value, folder=folder)]
    if isinstance(value, Rooted):
        return [f"{key}.{problem}" for problem in value.absences(folder)]
    if key != "name":
        return []
    try:
        check_name(value)
    except RunError as cause:
        return [f"{key}: {cause}"]
    return []


@runtime_checkable
class Rooted(Protocol):
    """A learner's section that names files."""

    def absences(self, folder: Path) -> list[str]:
        """One "field: what is not there" for each, of paths that start at `folder`."""
        ...


def _as_it_stands(folder: Path) -> RunResult:
    """The result of a run that is already finished."""
    known = facts(folder)
    totals = known.totals or {}
    return RunResult(
        folder=folder,
        status="finished",
        resumed=True,
        signal=None,
        documents=totals.get("documents", known.documents),
        tokens=totals.get("tokens", known.tokens),
        learned_documents=0,
        learned_tokens=0,
        seconds=None,
        start_seconds=None,
        build_seconds=None,
        workers=None,
        dataset=known.dataset,
        totals=totals.get("learner", {}),
    )
