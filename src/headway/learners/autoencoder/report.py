"""What an evaluation found: everything that has to stand beside a cosine, as JSON and as lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from headway.learners.autoencoder.figures import (
    LINEAR,
    Absent,
    Accuracy,
    Apart,
    Background,
    Baseline,
    CodeFacts,
    Figure,
    Interval,
    Linear,
    Score,
    Shuffle,
    Side,
    Spread,
    Subject,
)
from headway.learners.autoencoder.report_lines import written
from headway.learners.autoencoder.statements import sentences

FORMAT = "headway-autoencoder-report"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that has to stand beside a cosine."""

    subject: Subject
    seed: int
    trained_on: Side
    held: Side
    background: Background
    coverage: Figure
    """Tokens that are owned by a window, per token of the documents; anything but 1 is a fault."""
    free: Score
    """The headline: from the code alone."""
    interval: Interval | Absent
    """Of the skill."""
    forced: Score | Absent
    """With the true previous words given."""
    constant: float
    baselines: tuple[Baseline, ...]
    linear: Linear
    shuffle: Shuffle | Absent
    accuracy: Accuracy
    spread: Spread
    apart: tuple[Apart, ...]
    code: CodeFacts

    @property
    def linear_codes(self) -> dict[int, Score]:
        """What linear codes reach, by their size."""
        pairs = ((each.name.split(LINEAR), each.score) for each in self.baselines if each.name.startswith(LINEAR))
        return {int(size): score for (_, size), score in pairs}

    @property
    def statements(self) -> tuple[str, ...]:
        """What the figures say, in sentences."""
        return sentences(self)

    def lines(self) -> list[str]:
        """The report as a table of text."""
        return written(self)

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON: what was not measured is None, and `absent` says why by its dotted path."""
        absent = {path: gap.why for path, gap in _gaps(self, "")}
        said = {"statements": list(self.statements), "absent": absent}
        return {"format": FORMAT, "version": VERSION, **_plain(self), **said}


def _plain(value: Any) -> Any:
    if isinstance(value, Absent):
        return None
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a figure of a report is not finite; what was not measured is Absent")
    return value


def _gaps(value: Any, path: str) -> Iterator[tuple[str, Absent]]:
    if isinstance(value, Absent):
        yield path, value
    elif is_dataclass(value):
        for each in fields(value):
            yield from _gaps(getattr(value, each.name), f"{path}.{each.name}" if path else each.name)
    elif isinstance(value, tuple):
        for number, each in enumerate(value):
            yield from _gaps(each, f"{path}.{number}")
