"""Runs side by side: what they were made under first, then what came of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Any

from headway.errors import RunError
from headway.run.facts import RunFacts, facts_or_damage
from headway.run.history.conditions import PARTS, Conditions, Part, conditions, digest, flat, settings
from headway.run.history.history import History
from headway.run.history.verdict import Measured, Verdict, verdict

# Whatever else is a number among the facts of a run came of it; these lead.
_NO_RESULTS = ("started", "recorded", "workers", "memory")
_FIRST = ("tokens_per_second", "documents_per_second", "seconds")
# What a learner repeats of its settings is no result.
_GIVEN = (".level", ".width")


@dataclass(frozen=True, slots=True)
class Group:
    """Runs made under the same conditions: those that were named, and all finished ones like them."""

    named: tuple[str, ...]
    runs: tuple[RunFacts, ...]
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Difference:
    """Something the groups were not made under alike; None where it was not recorded or is not set."""

    part: Part
    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and most of what was measured, and how often."""

    median: float
    least: float
    most: float
    number: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A result; None for a group that has none."""

    name: str
    spreads: tuple[Spread | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sides, what differs between them, what came of them, and how each compares with the first."""

    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]
    figures: tuple[Figure, ...]
    verdicts: tuple[Verdict, ...]
    """Of training rates; empty where the data differ, since rates on other data are no comparison."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What differs at all."""
        return tuple(part for part in PARTS if any(each.part == part for each in self.differences))


def compare(folders: Sequence[RunFacts], history: History) -> Comparison:
    """Compare runs; those made under the same conditions are one group."""
    groups = tuple(_groups(folders, history))
    differences = tuple(_differences(groups))
    same_data = not any(each.part == "data" and each.name == "dataset" for each in differences)
    rates = [_rates(group) for group in groups]
    verdicts = tuple(verdict(rates[0], each) for each in rates[1:]) if same_data else ()
    return Comparison(groups, differences, tuple(_figures(groups)), verdicts)


def _groups(given: Sequence[RunFacts], history: History) -> Iterable[Group]:
    grouped: dict[str, list[RunFacts]] = {}
    for known in given:
        if known.status == "damaged":
            raise RunError(f"{known.name} cannot be compared: {'; '.join(known.warnings)}")
        key = digest(known, settings(known.folder)) or f"only {known.folder}"
        if known not in (group := grouped.setdefault(key, [])):
            group.append(known)
    for key, group in grouped.items():
        taken = {known.folder.resolve() for known in group}
        folders = [history.runs / name for name in history.alike(key)]
        others = [facts_or_damage(folder) for folder in folders if folder.resolve() not in taken]
        made = conditions(group[0], settings(group[0].folder))
        yield Group(tuple(known.name for known in group), (*group, *others), made)


def _differences(groups: Sequence[Group]) -> Iterable[Difference]:
    for part in PARTS:
        names = dict.fromkeys(name for group in groups for name in group.conditions[part])
        for name in names:
            values = tuple(group.conditions[part].get(name) for group in groups)
            if any(value != values[0] for value in values[1:]):
                yield Difference(part, name, values)


def _rates(group: Group) -> list[Measured]:
    """Of runs that were finished: what was stopped may have done the easier part."""
    return [
        Measured(run.tokens_per_second, run.started or 0.0)
        for run in group.runs
        if run.status == "finished" and run.tokens_per_second is not None
    ]


def _figures(groups: Sequence[Group]) -> Iterable[Figure]:
    tables = [[results(run) for run in group.runs] for group in groups]
    for name in dict.fromkeys(name for group in tables for run in group for name in run):
        spreads = tuple(_spread([run[name] for run in group if name in run]) for group in tables)
        yield Figure(name, spreads)


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values), len(values)) if values else None


def results(known: RunFacts) -> dict[str, float]:
    """Every number that came of a run, by name; what was not measured is not there."""
    plain = {each.name: getattr(known, each.name) for each in fields(known) if each.name not in _NO_RESULTS}
    measured: dict[str, Any] = {
        **dict(sorted(plain.items(), key=lambda item: _FIRST.index(item[0]) if item[0] in _FIRST else len(_FIRST))),
        "warnings": len(known.warnings),
        **_below("", known.evaluation),
        **_below("learned.", (known.totals or {}).get("learner")),
        **_below("spent.", {name: stage["seconds"] for name, stage in known.stages.items()}),
    }
    return {name: value for name, value in measured.items() if _is_number(value) and not name.endswith(_GIVEN)}


def _below(prefix: str, values: object) -> dict[str, Any]:
    return dict(flat(values, prefix)) if isinstance(values, Mapping) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
