"""Machines that tests own: a clock that moves when read, others that disturb when they should, made-up results."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.machine.bench import Means
from headway.machine.disturbance import Taken
from headway.machine.figure import Figure
from headway.machine.probe import Group, Lack, Probe, Site
from headway.machine.result import BenchResult


@dataclass
class Clock:
    """Moves on by `step` whenever it is read."""

    time: float = 0.0
    step: float = 1.0

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@dataclass
class Others:
    """Computes for a whole repetition when `busy` says so; asked twice a repetition."""

    busy: Callable[[int], bool] = lambda repetition: False
    used: float = 0.0
    asked: int = 0

    def __call__(self) -> Taken:
        if self.asked % 2 and self.busy(self.asked // 2):
            self.used += 1000.0
        self.asked += 1
        return Taken(0.0, self.used)


def means(clock: Clock | None = None, others: Others | None = None) -> Means:
    """What a bench is given in place of time, chance and load."""
    return Means(clock or Clock(step=0.001), others or Others(), random.Random(0))


@dataclass
class Made:
    """Probes that return what the test says, and note the order they were asked in."""

    values: dict[str, Sequence[float]]
    asked: list[str] = field(default_factory=list)
    __name__: str = "made"

    def __call__(self, site: Site) -> Iterator[Probe | Lack]:
        for name in self.values:
            yield Probe(name, "MiB/s", "more", 0.1, lambda name=name: self._next(name), "made up")
        yield Lack("gpu.copy", "GiB/s", "there is none")

    def _next(self, name: str) -> float:
        self.asked.append(name)
        given = self.values[name]
        return given[(self.asked.count(name) - 1) % len(given)]


def groups(values: dict[str, Sequence[float]]) -> tuple[Group, ...]:
    return (Made(values),)


def figure(name: str, values: Sequence[float], **fields: Any) -> Figure:
    given: dict[str, Any] = {"unit": "MiB/s", "better": "more", "margin": 0.1}
    return Figure(name=name, values=tuple(values), **(given | fields))


def result(*figures: Figure) -> BenchResult:
    return BenchResult(
        fingerprint="f" * 16,
        folder=str(Path("/somewhere")),
        began="2026-11-20T00:00:00+00:00",
        seconds=60.0,
        hardware={},
        figures=figures,
    )
