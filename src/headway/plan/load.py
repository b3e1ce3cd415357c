"""From a plan file to a Plan: every problem at once, each with its dotted path."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from headway.errors import PlanError
from headway.plan.fingerprint import DECIDED
from headway.plan.plan import Kinds, Plan, plan_settings
from headway.plan.section import Setting, settings
from headway.plan.source import did_you_mean, override, read_mapping

__all__ = ["CrossChecked", "Kinds", "Look", "Origin", "changed_plan", "load_plan", "plan_from"]

Keys = dict[str, Setting]
Steps = tuple[str | int, ...]
_MISSING = "missing; it has no default"
# The file in which a run keeps its plan beside what it decided.
_RESOLVED = "plan.resolved.json"
_PYDANTIC_ONLY = re.compile(r"^(Input|Value|Tuple|String) | after validation.*")


Look = Callable[[str, Any], Sequence[str]]
"""Given a key of a plan and its valid value: what is wrong with it on this machine, each with its dotted path."""


def _look_away(key: str, value: Any) -> list[str]:
    del key, value
    return []


@dataclass(frozen=True, slots=True)
class Origin:
    """Where relative paths of a plan start, and what its problems are said to be in."""

    folder: Path
    name: str


@runtime_checkable
class CrossChecked(Protocol):
    """A section with rules that concern several fields."""

    def problems(self) -> list[str]:
        """One "field: what is wrong" for each broken rule."""
        ...


def load_plan(path: Path, *, kinds: Kinds, overrides: Sequence[str] = (), look: Look = _look_away) -> Plan:
    """The plan in a TOML or JSON file, changed by `section.key=value` texts; a PlanError lists every problem."""
    mapping = read_mapping(path)
    if path.name == _RESOLVED:
        mapping.pop(DECIDED, None)
    origin = Origin(path.absolute().parent, str(path))
    return changed_plan({"name": path.stem} | mapping, overrides, origin=origin, kinds=kinds, look=look)


def changed_plan(
    mapping: Mapping[str, Any], overrides: Sequence[str], *, origin: Origin, kinds: Kinds, look: Look = _look_away
) -> Plan:
    """The plan of a mapping changed by texts; a PlanError lists what is wrong with either.

    If anything is, `look` adds what is wrong on this machine with the parts that are valid.
    """
    changed, problems = override(mapping, overrides)
    plan = None
    try:
        plan = plan_from(changed, folder=origin.folder, kinds=kinds, where=origin.name)
    except PlanError as cause:
        problems += cause.problems
    if plan is None or problems:
        raise PlanError(origin.name, [*problems, *_looked_at(changed, kinds, look)])
    return plan


def plan_from(mapping: Mapping[str, Any], *, folder: Path, kinds: Kinds, where: str = "plan") -> Plan:
    """The plan that a mapping describes; relative paths start at `folder`."""
    keys = plan_settings(kinds, _learner_kind(mapping))
    given = {"name": "plan", **_usual(mapping, keys)}
    checked = {name: _entry(setting, given, keys, kinds) for name, setting in keys.items()}
    problems = [_unknown((name,), keys, keys) for name in given if name not in keys]
    problems += [problem for entry in checked.values() for problem in entry.problems]
    learner = checked["learner"].value
    if not problems and isinstance(learner, FitsData):
        problems = learner.misfits(checked["data"].value, checked["run"].value)
    if problems:
        raise PlanError(where, problems)
    return Plan(folder=folder, **{name: entry.value for name, entry in checked.items()})


def _usual(mapping: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """The mapping with what a learner of its kind usually takes wherever nothing is said."""
    learner = keys["learner"].section
    usual: Mapping[str, Mapping[str, Any]] = getattr(learner, "usual", {})
    filled = {
        name: {**values, **mapping.get(name, {})}
        for name, values in usual.items()
        if isinstance(mapping.get(name, {}), Mapping)
    }
    return {**mapping, **filled}


@runtime_checkable
class FitsData(Protocol):
    """A learner's section with rules that concern other sections as well."""

    def misfits(self, data: Any, run: Any) -> list[str]:
        """One "section.field: what is wrong" for each setting that does not go with these sections."""
        ...


@dataclass(frozen=True, slots=True)
class _Checked:
    value: Any = None
    problems: list[str] = field(default_factory=list[str])


def _entry(setting: Setting, given: Mapping[str, Any], keys: Keys, kinds: Kinds) -> _Checked:
    """One top-level key of a plan, validated."""
    name = setting.name
    if name not in given:
        return _Checked(problems=[f"{name}: {_MISSING}"]) if setting.required else _Checked(setting.default)
    if name == "learner" and setting.section is None:
        return _Checked(problems=_kind_problems(given[name], keys, kinds))
    try:
        content = json.dumps(given[name], default=_plain)
        value = TypeAdapter(setting.hint).validate_json(content, strict=True, extra="forbid")
    except ValidationError as cause:
        return _Checked(problems=[_problem(error, name, keys) for error in cause.errors(include_url=False)])
    except TypeError as cause:
        return _Checked(problems=[f"{name}: {cause}"])
    broken = value.problems() if isinstance(value, CrossChecked) else []
    return _Checked(value, [f"{name}.{problem}" for problem in broken])


def _looked_at(mapping: Mapping[str, Any], kinds: Kinds, look: Look) -> list[str]:
    """What looking at the valid parts of a plan finds."""
    keys = plan_settings(kinds, _learner_kind(mapping))
    checked = {name: _valid_part(setting, mapping, keys, kinds) for name, setting in keys.items() if name in mapping}
    return [problem for name, entry in checked.items() if not entry.problems for problem in look(name, entry.value)]


def _valid_part(setting: Setting, mapping: Mapping[str, Any], keys: Keys, kinds: Kinds) -> _Checked:
    """One top-level key of a plan, without those of its own keys that have problems."""
    entry, given = _entry(setting, mapping, keys, kinds), mapping[setting.name]
    if not entry.problems or not isinstance(given, Mapping):
        return entry
    wrong = {re.split(r"[.:\[]", problem)[1] for problem in entry.problems}
    section: dict[str, Any] = {**given}
    rest = {name: value for name, value in section.items() if name not in wrong}
    return _entry(setting, {setting.name: rest}, keys, kinds)


def _plain(value: object) -> str:
    """What a plan made in Python or read from TOML may hold beside JSON values."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"{_shown(value)} is a {type(value).__name__}, which no plan file can hold")


def _learner_kind(given: Mapping[str, Any]) -> object:
    learner = given.get("learner")
    return learner.get("kind") if isinstance(learner, Mapping) else None


def _kind_problems(given: object, keys: Keys, kinds: Kinds) -> list[str]:
    """What is wrong with a learner of no known kind; where its kind is close to one, as of that one."""
    choices = f"known: {', '.join(sorted(kinds.learners))}"
    if not isinstance(given, Mapping):
        return [f"learner: should be a table with a kind, not {_shown(given)}; {choices}"]
    learner: dict[str, Any] = {**given}
    kind = learner.pop("kind", None)
    near = get_close_matches(kind, kinds.learners, n=1) if isinstance(kind, str) else []
    hint = f"; did you mean '{near[0]}'?" if near else ""
    problem = f"there is no learner {_shown(kind)}; {choices}{hint}" if "kind" in given else f"missing; {choices}"
    if near:
        known = plan_settings(kinds, near[0])
        others = _entry(known["learner"], {"learner": {**learner, "kind": near[0]}}, known, kinds).problems
    else:
        every = {name: setting for section in kinds.learners.values() for name, setting in settings(section).items()}
        others = [_unknown(("learner", name), every, keys) for name in learner if name not in every]
    return [f"learner.kind: {problem}", *others]


def _problem(error: ErrorDetails, name: str, keys: Keys) -> str:
    """One validation error, in the words of a plan file."""
    steps: Steps = (name, *error["loc"])
    if error["type"] == "missing":
        return f"{_dotted(steps)}: {_MISSING}"
    if error["type"] == "unexpected_keyword_argument":
        return _unknown(steps, _siblings(steps, keys), keys)
    if error["type"] == "value_error":
        return f"{_dotted(steps)}: {error['msg'].removeprefix('Value error, ')}"
    wanted = _PYDANTIC_ONLY.sub("", error["msg"]).replace("an object", "a table")
    return f"{_dotted(steps)}: {wanted}, not {_shown(error['input'])}{_near_choice(error)}"


def _near_choice(error: ErrorDetails) -> str:
    if error["type"] != "literal_error":
        return ""
    return did_you_mean(str(error["input"]), re.findall(r"'([^']*)'", error["msg"]))


def _unknown(steps: Steps, siblings: Keys, keys: Keys) -> str:
    """What to do about a key nobody knows: a similar one beside it, the same one elsewhere, or the list."""
    leaf = str(steps[-1])
    hint = did_you_mean(leaf, list(siblings)) or _elsewhere(leaf, keys)
    if not hint and siblings:
        hint = f"; known here: {', '.join(siblings)}"
    return f"{_dotted(steps)}: unknown key{hint}"


def _elsewhere(leaf: str, keys: Keys) -> str:
    if leaf in keys:
        return f"; {leaf!r} belongs at the top, before any [table]"
    homes = [name for name, setting in keys.items() if setting.section and leaf in settings(setting.section)]
    return f"; did you mean '{homes[0]}.{leaf}'?" if homes else ""


def _siblings(steps: Steps, keys: Keys) -> Keys:
    """The keys known where the last of `steps` stands."""
    for step in steps[:-1]:
        section = keys[step].section if isinstance(step, str) and step in keys else None
        keys = settings(section) if section else {}
    return keys


def _dotted(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
