"""Which run a plan means: a new one, or the newest one continued."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from headway.errors import PlanError, RunError
from headway.plan.fingerprint import Difference, check_resume, resolved
from headway.plan.plan import Kinds, Plan
from headway.run.facts import RunFacts, facts
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
    if mode not in get_args(Mode):
        raise RunError(f"there is no mode {mode!r}; modes are {', '.join(get_args(Mode))}")
    folder = None if mode == "new" else newest(runs, plan.name)
    if folder is None:
        if mode == "resume":
            raise RunError(f"there is no run of {plan.name!r} in {runs} to continue; leave --resume out to start one")
        return Choice(None)
    # Said now rather than after the dataset was built; the run takes the lock for good.
    claim(folder).close()
    known = facts(folder)
    if known.status == "finished" and mode == "auto":
        return Choice(None, said=f"{folder} is finished: starting a new run")
    choice = _finished(folder, plan, kinds) if known.status == "finished" else _unfinished(folder, plan, kinds, mode)
    if choice.folder is not None:
        _check_there(known)
    return choice


def _finished(folder: Path, plan: Plan, kinds: Kinds) -> Choice:
    """Nothing is left to do, unless the plan asks for more of the same now."""
    old, new = read_note(folder / RESOLVED, keys=PLAN_KEYS), resolved(plan)
    careful = check_resume(old, new, kinds)
    if careful:
        # Whether they leave anything to do, the learner and the feed know.
        said = f"continuing {folder}, which was finished under other settings"
        return Choice(folder, said=said, warnings=_warnings(careful))
    return Choice(folder, said=f"{folder} is already finished", finished=True)


def _check_there(known: RunFacts) -> None:
    """A RunError where the learner left its work in the run folder and it is gone: it would be learned from nothing."""
    learned: dict[str, object] = (known.totals or {}).get("learner") or {}
    places = [Path(value) for value in learned.values() if isinstance(value, str)]
    kept = [known.folder / place.name for place in places if place.parent.name == known.folder.name]
    if lost := [str(path) for path in kept if not path.exists()]:
        raise RunError(
            f"{known.folder} is {known.status}, but what it learned is gone ({', '.join(lost)} is missing); "
            "restore it from a copy, or start a new run with --new"
        )


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
    return Choice(folder, said=f"continuing {folder}", warnings=_warnings(careful))


def _warnings(changes: Iterable[Difference]) -> tuple[str, ...]:
    return tuple(str(change) for change in changes)
