"""What a run folder tells about its run, from its record and its lock."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headway.lock import holder
from headway.record.record import read_record
from headway.run.folders import RECORD

Status = Literal["finished", "stopped", "interrupted", "running"]
_BY_REASON: dict[str | None, Status] = {"complete": "finished", "stopped": "stopped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run; what it never recorded is None."""

    name: str
    folder: Path
    status: Status
    documents: int
    tokens: int
    seconds: float
    started: float | None
    documents_per_second: float | None
    tokens_per_second: float | None
    sessions: int
    workers: int | None
    memory: int | None
    dataset: str | None
    totals: dict[str, Any] | None
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Fold:
    """The events so far; `saved` is what a crash leaves of `done`."""

    done: tuple[int, int] = (0, 0)
    saved: tuple[int, int] = (0, 0)
    learned: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    training_seconds: float = 0.0
    session: tuple[float, float] | None = None
    measured: float | None = None
    sessions: int = 0
    started: float | None = None
    latest: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reason: str | None = None
    fresh: bool = False
    warnings: list[str] = field(default_factory=list[str])

    def add(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        self.latest[kind] = event
        if kind == "run_started":
            self._begin(event["time"])
        elif kind == "resumed" and event.get("documents") is not None:
            self.done = self.saved = (event["documents"], event["tokens"])
            self.fresh = False
        elif kind == "step":
            self._restart_if_fresh()
            self.done = (self.done[0] + event["documents"], self.done[1] + event["tokens"])
            self.learned = (self.learned[0] + event["documents"], self.learned[1] + event["tokens"])
        elif kind == "saved":
            self.saved = self.done
        elif kind == "warned":
            self.warnings.append(event["text"])
        elif kind == "finished":
            self.reason = event["reason"]
            self.measured = event["seconds"]
        if self.session is not None:
            self.session = (self.session[0], event["time"])

    def close(self) -> None:
        """End the session being read."""
        if self.session is not None:
            lasted = max(0.0, self.session[1] - self.session[0])
            self.seconds += lasted
            # A session that ended in order measured its training without the start; of others only the whole is known.
            self.training_seconds += lasted if self.measured is None else self.measured
        self.session = self.measured = None

    def _begin(self, time: float) -> None:
        self.close()
        self.session = (time, time)
        self.sessions += 1
        self.started = time if self.started is None else self.started
        self.fresh = True
        self.reason = None

    def _restart_if_fresh(self) -> None:
        # A session that records no `resumed` before its first step begins at the start.
        if self.fresh:
            self.done = self.saved = (0, 0)
        self.fresh = False


def facts(folder: Path) -> RunFacts:
    """What is known about the run in a folder."""
    path = folder / RECORD
    fold = _folded(read_record(path)) if path.is_file() else _Fold()
    status = "running" if holder(folder) is not None else _BY_REASON.get(fold.reason, "interrupted")
    documents, tokens = fold.done if status == "running" else fold.saved
    begun = fold.latest.get("run_started", {})
    return RunFacts(
        name=folder.name,
        folder=folder,
        status=status,
        documents=documents,
        tokens=tokens,
        seconds=fold.seconds,
        started=fold.started,
        documents_per_second=rate(fold.learned[0], fold.training_seconds),
        tokens_per_second=rate(fold.learned[1], fold.training_seconds),
        sessions=fold.sessions,
        workers=begun.get("workers"),
        memory=begun.get("memory"),
        dataset=begun.get("dataset"),
        totals=fold.latest.get("finished", {}).get("totals"),
        warnings=tuple(fold.warnings),
    )


def rate(amount: int, seconds: float) -> float | None:
    """Amount per second; None before anything could be measured."""
    return amount / seconds if amount and seconds > 0 else None


def _folded(events: Iterable[dict[str, Any]]) -> _Fold:
    fold = _Fold()
    for event in events:
        fold.add(event)
    fold.close()
    return fold
