"""Which run a plan means: a new one, or the newest one continued."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway.errors import PlanError, RunError
from headway.plan.fingerprint import check_resume, resolved
from headway.plan.plan import Kinds, Plan
from headway.run.facts import facts
from headway.run.folders import PLAN_KEYS, RESOLVED, newest, read_note
from headway.run.run import claim

Mode = Literal["auto", "resume", "new"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do: continue `folder`, show it (`finished`), or begin a new run (`folder` is None)."""

    folder: Path | None
    said: str | None = None
    warnings: tuple[str, ...] = ()
    finished: bool = False


def choose(plan: Plan, *, runs: Path, kinds: Kinds, mode: Mode) -> Choice:
    """The run that `mode` means; a RunError when it is being trained, a PlanError when it cannot be continued."""
    folder = None if mode == "new" else newest(runs, plan.name)
    if folder is None:
        if mode == "resume":
            raise RunError(f"there is no run of {plan.name!r} in {runs} to continue; leave --resume out to start one")
        return Choice(None)
    # Said now rather than after the dataset was built; the run takes the lock for good.
    claim(folder).close()
    if facts(folder).status == "finished":
        return _finished(folder, mode)
    return _unfinished(folder, plan, kinds, mode)


def _finished(folder: Path, mode: Mode) -> Choice:
    if mode == "resume":
        return Choice(folder, said=f"{folder} is already finished", finished=True)
    return Choice(None)


def _unfinished(folder: Path, plan: Plan, kinds: Kinds, mode: Mode) -> Choice:
    old, new = read_note(folder / RESOLVED, keys=PLAN_KEYS), resolved(plan)
    try:
        careful = check_resume(old, new, kinds)
    except PlanError as cause:
        if mode == "resume":
            raise
        # The unfinished run stays as it is; a changed plan is another experiment, and that is said.
        changes = "; ".join(cause.problems)
        return Choice(None, said=f"{folder} is unfinished but belongs to another plan ({changes}): starting a new run")
    warnings = tuple(f"{change.path} changed from {change.old} to {change.new}" for change in careful)
    return Choice(folder, said=f"continuing {folder}", warnings=warnings)
