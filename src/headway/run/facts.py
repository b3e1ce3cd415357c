"""What a run folder tells about its run, from its record and its lock."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Literal, cast

from headway.errors import RunError
from headway.lock import holder
from headway.record.record import read_record
from headway.record.stages import Durations, add_spans
from headway.record.tick import merged, to_json
from headway.record.ticklog import read_ticks
from headway.run.folders import RECORD

Status = Literal["finished", "stopped", "interrupted", "running", "damaged", "unknown"]
_BY_REASON: dict[str | None, Status] = {"complete": "finished", "stopped": "stopped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run; what it never recorded is None."""

    name: str
    folder: Path
    status: Status
    documents: int | None
    tokens: int | None
    seconds: float | None
    started: float | None
    documents_per_second: float | None
    tokens_per_second: float | None
    sessions: int | None
    workers: int | None
    memory: int | None
    dataset: str | None
    totals: dict[str, Any] | None
    """What the learner said of its saved state when the last session ended."""
    recorded: float | None
    """When that was."""
    warnings: tuple[str, ...]
    plan: str | None = None
    """The fingerprint of its plan."""
    machine: dict[str, Any] | None = None
    versions: dict[str, str] | None = None
    code: str | None = None
    """As the last session began."""
    evaluation: dict[str, Any] | None = None
    """How good the learner was when it was last looked at."""
    peak_memory_bytes: int | None = None
    """The most that all processes held at a look, pages they share counted in each."""
    peak_shared_once_bytes: int | None = None
    """The same with shared pages counted once; looked at rarely."""
    counts_per_second: dict[str, float] = field(default_factory=dict[str, float])
    """What the learner counted while learning, such as patterns by level, over the same time as documents."""
    stages: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """What took how long over all sessions, by name: count, seconds, median, p95, longest."""
    cpu_cores: float | None = None
    """Cores' worth of time used, on average over all sessions."""
    not_measured: dict[str, str] = field(default_factory=dict[str, str])
    """What could not be measured in the last session, each with its reason."""


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
    before: str | None = None
    fresh: bool = False
    warnings: list[str] = field(default_factory=list[str])
    counted: dict[str, float] = field(default_factory=dict[str, float])
    stages: dict[str, Durations] = field(default_factory=dict[str, Durations])
    usage: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What each session used, as far as it said."""
    evaluation: dict[str, float] | None = None

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
            self._count(event.get("metrics", {}))
        elif kind == "saved":
            # A save written beside the training is older than what is done by now.
            there = event.get("documents") is not None
            self.saved = (event["documents"], event["tokens"]) if there else self.done
        elif kind == "evaluated":
            self.evaluation = _figures(event["metrics"])
        elif kind == "warned":
            self.warnings.append(event["text"])
        elif kind == "spans":
            add_spans(self.stages, event["spans"])
        elif kind == "sampled":
            # It counts from the session's start: the last one says all.
            usage = event["usage"]
            self.usage[-1:] = [{name: usage[name] for name in ("seconds", "sums", "peaks")}]
        elif kind == "finished":
            self.reason = self.before if event["reason"] == "refused" else event["reason"]
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
        self.usage.append({})
        # What the session before did not save is done again.
        self.done = self.saved
        self.before, self.reason = self.reason, None

    def _count(self, metrics: dict[str, Any]) -> None:
        for name, value in metrics.items():
            # A mean is written as a list; it has no rate.
            if not isinstance(value, list):
                self.counted[name] = self.counted.get(name, 0) + value

    def peak(self, name: str) -> int | None:
        """The largest of any session."""
        found = [usage["peaks"][name] for usage in self.usage if name in usage.get("peaks", ())]
        return round(max(found)) if found else None

    def cores(self) -> float | None:
        """Processor seconds per second, over the sessions that measured them."""
        measured = [usage for usage in self.usage if "cpu" in usage.get("sums", ())]
        seconds = sum(usage["seconds"] for usage in measured)
        return sum(usage["sums"]["cpu"] for usage in measured) / seconds if seconds > 0 else None

    def _restart_if_fresh(self) -> None:
        # A session that records no `resumed` before its first step begins at the start.
        if self.fresh:
            self.done = self.saved = (0, 0)
        self.fresh = False


def facts(folder: Path) -> RunFacts:
    """What is known about the run in a folder."""
    path = folder / RECORD
    fold = _folded(path, read_record(path)) if path.is_file() else _Fold()
    is_running = holder(folder) is not None
    if not fold.sessions:
        return _unknown(folder, "running" if is_running else "unknown", () if is_running else (_no_record(path),))
    status = "running" if is_running else _BY_REASON.get(fold.reason, "interrupted")
    documents, tokens = fold.done if status == "running" else fold.saved
    begun, ended = fold.latest["run_started"], fold.latest.get("finished", {})
    if not any(fold.usage):
        # It was killed before it could say.
        fold.usage = _measured(folder)
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
        totals=_table(ended.get("totals")),
        recorded=ended.get("time"),
        warnings=tuple(fold.warnings),
        plan=begun.get("plan_fingerprint"),
        machine=_table(begun.get("machine")),
        versions=_table(begun.get("versions")),
        code=begun.get("code"),
        evaluation=fold.evaluation,
        peak_memory_bytes=fold.peak("rss"),
        peak_shared_once_bytes=fold.peak("pss"),
        cpu_cores=fold.cores(),
        counts_per_second=_rates(fold),
        stages={name: _stage(durations) for name, durations in fold.stages.items()},
        not_measured=fold.latest.get("sampled", {}).get("absent", {}),
    )


def _rates(fold: _Fold) -> dict[str, float]:
    seconds = fold.training_seconds
    return {name: count / seconds for name, count in fold.counted.items()} if seconds > 0 else {}


def _measured(folder: Path) -> list[dict[str, Any]]:
    """What the ticks of a run tell; nothing where there are none, or none that can be read."""
    with suppress(RunError, OSError):
        ticks = read_ticks(folder)
        if ticks:
            whole = reduce(merged, ticks)
            return [to_json(whole) | {"peaks": whole.peaks}]
    return []


def _stage(durations: Durations) -> dict[str, Any]:
    return {
        "count": durations.count,
        "seconds": durations.seconds,
        "median": durations.percentile(0.5),
        "p95": durations.percentile(0.95),
        "longest": durations.longest,
    }


def facts_or_damage(folder: Path) -> RunFacts:
    """`facts`, and of a run whose record cannot be read, that."""
    try:
        return facts(folder)
    except RunError as cause:
        return _unknown(folder, "damaged", (str(cause),))
    except OSError as cause:
        why = f"cannot read {folder / RECORD} ({cause.strerror}); change its permissions"
        return _unknown(folder, "damaged", (why,))


def _unknown(folder: Path, status: Status, warnings: tuple[str, ...]) -> RunFacts:
    """A run that recorded nothing, or nothing that can be read."""
    return RunFacts(
        name=folder.name, folder=folder, status=status, documents=None, tokens=None, seconds=None, started=None,
        documents_per_second=None, tokens_per_second=None, sessions=None, workers=None, memory=None, dataset=None,
        totals=None, recorded=None, warnings=warnings,
    )  # fmt: skip


def _figures(metrics: dict[str, Any]) -> dict[str, float]:
    """Of means, which are written as total and weight, the mean; without weight there is none."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        total, weight = value if isinstance(value, list) else (value, 1)
        if weight:
            found[name] = total / weight
    return found


def _table(value: object) -> dict[str, Any] | None:
    """What should be a table, if it is one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _no_record(path: Path) -> str:
    what = "holds no session" if path.is_file() else "is missing"
    return f"{path} {what}: what the run did is not known; restore it from a copy, or continue the run"


def rate(amount: int, seconds: float) -> float | None:
    """Amount per second; None before anything could be measured."""
    return amount / seconds if amount and seconds > 0 else None


def _folded(path: Path, events: Iterable[dict[str, Any]]) -> _Fold:
    fold = _Fold()
    for number, event in enumerate(events):
        try:
            fold.add(event)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise RunError(f"{path}, line {number + 1}: not an event of a run ({cause}); restore it") from cause
    fold.close()
    return fold
