"""The seeds' settings by name: what else each is called, where it stands in a plan, what is wrong with its value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from headway.errors import PlanError

Part = dict[str, Any]
_PATH = re.compile(r"[a-z_]+(?:\.[a-z_]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """The settings of one configuration."""

    where: str
    """What an error calls the configuration."""
    paths: Mapping[str, str]
    """Where a setting stands in a plan; one that is not here is worked out."""
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names."""
    idle: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings that are accepted because the seeds have them, and why they change nothing."""


@dataclass(frozen=True, slots=True)
class Understood:
    """Settings under the names they have here."""

    values: Part
    notes: tuple[str, ...]
    """What was called otherwise, and what changes nothing."""


def understood(names: Names, known: Iterable[str], given: Mapping[str, Any]) -> Understood:
    """What settings mean; a PlanError names the nearest valid one for each that there is not."""
    known = list(known)
    values: Part = {}
    notes: list[str] = []
    problems: list[str] = []
    for name, value in given.items():
        if why := names.idle.get(name):
            notes.append(f"{name} changes nothing: {why}")
            continue
        own = names.aliases.get(name, name)
        if own not in known:
            problems.append(f"{name}: is no setting{_nearest(name, known, [*names.aliases, *names.idle])}")
        elif own in values:
            problems.append(f"{name}: {own} is given twice")
        else:
            values[own] = value
        if own != name:
            notes.append(f"{name} is {own}")
    if problems:
        raise PlanError(names.where, problems)
    return Understood(values, tuple(notes))


def at(path: str, value: Any) -> Part:
    """A value where a dotted path leads."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def merged(*parts: Mapping[str, Any]) -> Part:
    """Parts of a plan as one; of two that say the same thing, the later one counts."""
    found: Part = {}
    for part in parts:
        for key, value in part.items():
            before = found.get(key)
            if isinstance(value, Mapping) and isinstance(before, Mapping):
                value = merged(cast(Part, before), cast(Part, value))
            found[key] = value
    return found


def check(names: Names, part: Part, *, beside: Part | None = None) -> None:
    """A PlanError with every value in a part of a plan that no plan could have, by the seeds' names.

    `beside` is what the rest of the plan has to say for the part to make sense.
    """
    from headway.plan.load import plan_from
    from headway.run.train import plan_kinds

    some = {"data": {"sources": ["poems.json"]}, "learner": {"kind": "autoencoder", "vectors": "random"}}
    try:
        plan_from(merged(some, beside or {}, part), folder=Path(), kinds=plan_kinds())
    except PlanError as cause:
        own = {path: name for name, path in names.paths.items()}
        if problems := [said for problem in cause.problems if (said := _renamed(problem, own, part)) is not None]:
            raise PlanError(names.where, problems) from cause


def renamed(problems: Iterable[str], known: Iterable[Names]) -> list[str]:
    """Problems of a whole plan, by the seeds' names where there are any."""
    own = {path: name for names in known for name, path in names.paths.items()}
    return [_replaced(problem, own) or problem for problem in problems]


def _renamed(problem: str, own: Mapping[str, str], part: Part) -> str | None:
    """A problem by the seeds' name; None where it concerns another part."""
    said = _replaced(problem, own)
    if said is not None:
        return said
    match = _PATH.match(problem)
    return problem if match and _has(part, match[0].split(".")) else None


def _replaced(problem: str, own: Mapping[str, str]) -> str | None:
    match = _PATH.match(problem)
    if match is None:
        return None
    path = match[0]
    while path and path not in own:
        path = path.rpartition(".")[0]
    return f"{own[path]}: {path}{problem[len(path) :]}" if path else None


def _has(part: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(part, Mapping) or key not in part:
            return False
        part = part[key]
    return True


def _nearest(name: str, known: list[str], others: list[str]) -> str:
    near = difflib.get_close_matches(name, [*known, *others], 1)
    return f"; did you mean {near[0]}?" if near else f"; there is {', '.join(sorted(known))}"
