"""From a plan file to a Plan: every problem at once, each with its dotted path."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from headway.errors import PlanError
from headway.plan.plan import Kinds, Plan, plan_settings
from headway.plan.section import Setting, settings
from headway.plan.source import did_you_mean, override, read_mapping

__all__ = ["CrossChecked", "Kinds", "load_plan", "plan_from"]

Keys = dict[str, Setting]
Steps = tuple[str | int, ...]
_MISSING = "missing; it has no default"
_PYDANTIC_ONLY = re.compile(r"^(Input|Value|Tuple|String) | after validation.*")


@runtime_checkable
class CrossChecked(Protocol):
    """A section with rules that concern several fields."""

    def problems(self) -> list[str]:
        """One "field: what is wrong" for each broken rule."""
        ...


def load_plan(path: Path, *, kinds: Kinds, overrides: Sequence[str] = ()) -> Plan:
    """The plan in a TOML or JSON file, changed by `section.key=value` texts; a PlanError lists every problem."""
    mapping = override({"name": path.stem} | read_mapping(path), overrides)
    return plan_from(mapping, folder=path.absolute().parent, kinds=kinds, where=str(path))


def plan_from(mapping: Mapping[str, Any], *, folder: Path, kinds: Kinds, where: str = "plan") -> Plan:
    """The plan that a mapping describes; relative paths start at `folder`."""
    given = {"name": "plan", **mapping}
    keys = plan_settings(kinds, _learner_kind(given))
    checked = {name: _entry(setting, given, keys, kinds) for name, setting in keys.items()}
    problems = [_unknown((name,), keys, keys) for name in given if name not in keys]
    problems += [problem for entry in checked.values() for problem in entry.problems]
    learner = checked["learner"].value
    if not problems and isinstance(learner, FitsData):
        problems = [f"learner.{problem}" for problem in learner.misfits(checked["data"].value)]
    if problems:
        raise PlanError(where, problems)
    return Plan(folder=folder, **{name: entry.value for name, entry in checked.items()})


@runtime_checkable
class FitsData(Protocol):
    """A learner's section with rules that concern the data as well."""

    def misfits(self, data: Any) -> list[str]:
        """One "field: what is wrong" for each setting that does not go with this `data` section."""
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
        return _Checked(problems=[_kind_problem(given[name], list(kinds.learners))])
    try:
        content = json.dumps(given[name], default=_plain)
        value = TypeAdapter(setting.hint).validate_json(content, strict=True, extra="forbid")
    except ValidationError as cause:
        return _Checked(problems=[_problem(error, name, keys) for error in cause.errors(include_url=False)])
    except TypeError as cause:
        return _Checked(problems=[f"{name}: {cause}"])
    broken = value.problems() if isinstance(value, CrossChecked) else []
    return _Checked(value, [f"{name}.{problem}" for problem in broken])


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


def _kind_problem(learner: object, known: list[str]) -> str:
    choices = f"known: {', '.join(sorted(known))}"
    if not isinstance(learner, Mapping):
        return f"learner: should be a table with a kind, not {_shown(learner)}; {choices}"
    if "kind" not in learner:
        return f"learner.kind: missing; {choices}"
    kind = learner["kind"]
    near = did_you_mean(kind, known) if isinstance(kind, str) else ""
    return f"learner.kind: there is no learner {_shown(kind)}; {choices}{near}"


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
