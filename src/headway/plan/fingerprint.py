"""What identifies a plan, and what may differ when a run continues."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from headway.errors import PlanError
from headway.plan.plan import Kinds, Plan, plan_settings
from headway.plan.section import CAREFUL, FIXED, GROWING, Change, Setting, settings

DECIDED = "decided"
"""Where a resolved plan keeps what its run decided for itself, each with its reason; no part of the plan."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that two resolved plans give different values."""

    path: str
    old: Any
    new: Any
    change: Change

    def __str__(self) -> str:
        return f"{self.path}: {_shown(self.old)} when the run began, {_shown(self.new)} now"


def resolved(plan: Plan) -> dict[str, Any]:
    """Every value of a plan, ready for JSON; `plan_from` of it gives the same plan again."""
    values = _plain(plan)
    del values["folder"]
    return values


def fingerprint(plan: Plan) -> str:
    """A digest of the FIXED settings: equal for plans that may continue each other's runs."""
    fixed = dict(_fixed(resolved(plan), _settings_of(plan), prefix=""))
    content = json.dumps(fixed, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def differences(old: Mapping[str, Any], new: Mapping[str, Any], kinds: Kinds) -> list[Difference]:
    """Every setting whose value differs between two resolved plans, in the order of the plan."""
    old, new = _without(DECIDED, old), _without(DECIDED, new)
    old_kind, new_kind = old["learner"]["kind"], new["learner"]["kind"]
    keys = plan_settings(kinds, new_kind)
    if old_kind != new_kind:
        del keys["learner"]
        kind = [Difference("learner.kind", old_kind, new_kind, FIXED)]
        old, new = _without("learner", old), _without("learner", new)
        return kind + list(_differences(old, new, keys, prefix=""))
    return list(_differences(old, new, keys, prefix=""))


def check_resume(old: Mapping[str, Any], new: Mapping[str, Any], kinds: Kinds) -> list[Difference]:
    """The CAREFUL differences, to warn about; a PlanError lists the FIXED ones, which forbid to continue."""
    found = differences(old, new, kinds)
    fixed = [str(difference) for difference in found if difference.change == FIXED]
    if fixed:
        advice = "the run cannot continue with other fixed settings; put them back, or start a new run with --new"
        raise PlanError(advice, fixed)
    return [difference for difference in found if difference.change == CAREFUL]


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any], keys: Mapping[str, Setting], *, prefix: str
) -> Iterator[Difference]:
    for name in dict.fromkeys([*keys, *old, *new]):
        setting = keys.get(name)
        before, after = _value(old, name, setting), _value(new, name, setting)
        if setting and setting.section and isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _differences(before, after, settings(setting.section), prefix=f"{prefix}{name}.")
        elif before != after:
            yield Difference(prefix + name, before, after, _change(setting, before, after))


def _change(setting: Setting | None, before: Any, after: Any) -> Change:
    """What a difference means; of a growing list, whether one is the other and more."""
    if setting is None or setting.change != GROWING:
        return setting.change if setting else FIXED
    common = min(len(before), len(after))
    return CAREFUL if common and before[:common] == after[:common] else FIXED


def _value(values: Mapping[str, Any], name: str, setting: Setting | None) -> Any:
    """A setting newer than a saved plan had its default there."""
    return values.get(name, _plain(setting.default) if setting else None)


def _fixed(values: Mapping[str, Any], keys: Mapping[str, Setting], *, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        setting = keys[name]
        if setting.section and isinstance(value, Mapping):
            yield from _fixed(value, settings(setting.section), prefix=f"{prefix}{name}.")
        elif setting.change == FIXED:
            yield prefix + name, value
        elif setting.change == GROWING:
            # All that the lists of one run are sure to have in common.
            yield prefix + name, value[:1]


def _settings_of(plan: Plan) -> dict[str, Setting]:
    learner: Any = plan.learner
    return plan_settings(Kinds(data=type(plan.data), learners={learner.kind: type(learner)}), learner.kind)


def _without(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
