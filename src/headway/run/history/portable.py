"""A run as other programs take it: settings, results, and its course as numbers at steps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import RunError
from headway.record.record import read_record
from headway.run.facts import RunFacts
from headway.run.folders import RECORD, RESOLVED, place
from headway.run.history.compare import results
from headway.run.history.conditions import conditions, settings

_EVALUATION = "evaluation."


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at a step of a run."""

    time: float
    step: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Portable:
    """A run for another program; `settings` are dotted names below plan, data, machine and code."""

    facts: RunFacts
    series: str
    settings: Mapping[str, Any]
    results: Mapping[str, float]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.facts.name

    @property
    def files(self) -> list[Path]:
        """What the run itself keeps of this."""
        return [path for name in (RECORD, RESOLVED) if (path := self.facts.folder / name).is_file()]

    def points(self) -> Iterator[Point]:
        """The course of the run; steps that were lost in a crash and done again are there as often as they were done.

        A RunError where the record is damaged.
        """
        path = self.facts.folder / RECORD
        return _points(read_record(path)) if path.is_file() else iter(())


def portable(known: RunFacts) -> Portable:
    """A run for another program."""
    made = conditions(known, settings(known.folder))
    entry = place(known.folder)
    named = {
        f"{part}.{name.removeprefix(f'{part}.')}": value
        for part, values in made.items()
        for name, value in values.items()
    }
    return Portable(known, entry.name if entry else known.name, named, results(known))


def _points(events: Iterator[dict[str, Any]]) -> Iterator[Point]:
    step = saved = 0
    for event in events:
        kind = event["event"]
        try:
            if kind == "run_started":
                step = saved
            elif kind == "saved":
                saved = step
            elif kind == "step":
                step += event["steps"]
                yield Point(event["time"], step, _values(event["metrics"], ""))
            elif kind == "evaluated":
                yield Point(event["time"], step, _values(event["metrics"], _EVALUATION))
        except (KeyError, TypeError, AttributeError) as cause:
            raise RunError(f"an event of kind {kind!r} is damaged ({cause}); restore the record from a copy") from cause


def _values(metrics: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Means, which are written as total and weight, as what they are."""
    return {
        prefix + name: value[0] / value[1] if isinstance(value, list) else value
        for name, value in metrics.items()
        if not isinstance(value, list) or value[1]
    }
