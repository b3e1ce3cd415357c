"""The facts a run records; each becomes one line of `record.jsonl`.

A line is {"time": unix seconds, "event": kind, ...the fields}. A Position is written as [epoch, batch].
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from headway.plan.values import Mean, Position


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A process began to work on the run (also when it continues one)."""

    kind: ClassVar[str] = "run_started"
    run: str
    plan_fingerprint: str
    dataset: str
    workers: int
    memory: int
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    code: str | None = None
    """A digest of Headway's own source."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The run continues from `position`, before which so much was done."""

    kind: ClassVar[str] = "resumed"
    position: Position
    documents: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One or more steps ending at `position`; their documents, tokens and metrics added up."""

    kind: ClassVar[str] = "step"
    position: Position
    documents: int
    tokens: int
    metrics: Mapping[str, float | Mean]
    """A mean is written as [total, weight]."""
    steps: int = 1


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How good the learner was at `position`, as it told itself."""

    kind: ClassVar[str] = "evaluated"
    position: Position
    metrics: Mapping[str, float | Mean]


@dataclass(frozen=True, slots=True)
class Saved:
    """Everything before `position` is durable."""

    kind: ClassVar[str] = "saved"
    position: Position
    seconds: float
    documents: int | None = None
    tokens: int | None = None
    """What lies before `position`; a save that is written beside the training is durable later than it was made."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Where time went since the last such event: by name the count, total and longest seconds, and counts by size."""

    kind: ClassVar[str] = "spans"
    spans: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the session's processes used from its start up to now, as a sampler measured it."""

    kind: ClassVar[str] = "sampled"
    interval: float
    usage: Mapping[str, Any]
    absent: Mapping[str, str]
    """What could not be measured, each with its reason."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing later."""

    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should look at."""

    kind: ClassVar[str] = "warned"
    text: str


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a learner did beside learning, such as merging its files."""

    kind: ClassVar[str] = "upkeep"
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The process stopped working on the run, and why."""

    kind: ClassVar[str] = "finished"
    position: Position
    seconds: float
    reason: Literal["complete", "stopped", "failed", "refused"]
    """A run is refused where it may not even begin to continue: it is then what it was before."""
    totals: Mapping[str, object]
    why: str | None = None


Event = RunStarted | Resumed | Step | Evaluated | Saved | Spans | Sampled | Note | Warned | Upkeep | Finished


def as_line(event: Event, time: float) -> dict[str, Any]:
    """The event as it is written, and as listeners receive it."""
    line: dict[str, Any] = {"time": time, "event": event.kind}
    for field in fields(event):
        value = getattr(event, field.name)
        line[field.name] = [value.epoch, value.batch] if isinstance(value, Position) else value
    return line
