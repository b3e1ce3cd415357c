"""The append-only facts of a run, one JSON line each; the console is one listener of it."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from headway.durable import write_errors
from headway.errors import RunError
from headway.plan.values import Mean, Metrics, Position, add_metrics
from headway.record.events import Evaluated, Event, Finished, Sampled, Saved, Spans, Step, as_line
from headway.record.lines import DAMAGE_ADVICE, LineFile, read_lines
from headway.record.stages import Durations

Listener = Callable[[dict[str, Any]], None]
_Item = TypeVar("_Item")
STEP_SECONDS = 0.2
USAGE_SECONDS = 60.0
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Counted(Protocol):
    """What a batch tells the record."""

    @property
    def documents(self) -> int: ...
    @property
    def tokens(self) -> int: ...


class Record:
    """Writes a run's events; steps are added up and written at most once per STEP_SECONDS, none is lost."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
        listeners: Sequence[Listener] = (),
        usage: Callable[[], Sampled | None] = lambda: None,
    ) -> None:
        """`usage` is asked at the end, and at saves that are far enough apart: a kill leaves what the last one said."""
        self.path = path
        self._clock = clock
        self._timer = timer
        self._listeners = tuple(listeners)
        self._file = LineFile(path)
        self._lock = RLock()
        self._steps = _Steps()
        self._steps_due = -math.inf
        self._spans: dict[str, Durations] = {}
        self._usage = usage
        self._usage_due = timer() + USAGE_SECONDS

    def step(self, position: Position, batch: Counted, metrics: Mapping[str, float | Mean]) -> None:
        """Count one finished step; `position` is the one after it."""
        with self._lock:
            self._steps.add(position, batch, metrics)
            if self._timer() >= self._steps_due:
                self._write_steps()

    def span(self, name: str) -> "SpanTimer":
        """Measure the body of a `with`, also when it raises."""
        return SpanTimer(self, self._timer, name)

    def timed(self, name: str, items: Iterable[_Item]) -> Iterator[_Item]:
        """The same items; how long each was waited for is a span."""
        iterator = iter(items)
        while True:
            with self.span(name):
                item = next(iterator, None)
            if item is None:
                return
            yield item

    def evaluated(self, position: Position, metrics: Mapping[str, float | Mean]) -> None:
        """Note how good the learner is."""
        self.write(Evaluated(position, metrics))

    def saved(self, position: Position, seconds: float, *, done: tuple[int, int] | None = None) -> None:
        """Note that everything before `position` is durable, which is so many documents and tokens."""
        self.write(Saved(position, seconds, *(done or ())))

    def write(self, event: Event) -> None:
        """Append one event, after the steps that came before it (and the spans, when it marks a save or an end)."""
        with self._lock:
            self._write_steps()
            if isinstance(event, Saved | Finished):
                self._write_spans()
                self._write_usage(last=isinstance(event, Finished))
            self._append(event)

    def close(self) -> None:
        """Write what is still held back; calling it twice is harmless."""
        with self._lock:
            try:
                self._write_steps()
                self._write_spans()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def add_span(self, name: str, seconds: float) -> None:
        """Count one measured span."""
        with self._lock:
            durations = self._spans.get(name)
            if durations is None:
                durations = self._spans[name] = Durations()
            durations.add(seconds)

    def _write_steps(self) -> None:
        event = self._steps.take()
        if event is not None:
            self._append(event)
            self._steps_due = self._timer() + STEP_SECONDS

    def _write_spans(self) -> None:
        if not self._spans:
            return
        spans = {name: durations.to_json() for name, durations in self._spans.items()}
        self._spans = {}
        self._append(Spans(spans))

    def _write_usage(self, *, last: bool) -> None:
        if not last and self._timer() < self._usage_due:
            return
        self._usage_due = self._timer() + USAGE_SECONDS
        event = self._usage()
        if event is not None:
            self._append(event)

    def _append(self, event: Event) -> None:
        line = as_line(event, self._clock())
        content = _line_bytes(line)
        with write_errors(self.path, kept="everything saved so far is safe"):
            self._file.append(content)
        for listener in self._listeners:
            listener(line)


class SpanTimer:
    """Adds the time of a `with` body to the record."""

    __slots__ = ("_began", "_name", "_record", "_timer")

    def __init__(self, record: Record, timer: Callable[[], float], name: str) -> None:
        self._record = record
        self._timer = timer
        self._name = name

    def __enter__(self) -> None:
        self._began = self._timer()

    def __exit__(self, *_: object) -> None:
        self._record.add_span(self._name, self._timer() - self._began)


class _Steps:
    """Steps not yet written, added up."""

    __slots__ = ("_count", "_documents", "_metrics", "_position", "_tokens")

    def __init__(self) -> None:
        self._clear()

    def add(self, position: Position, batch: Counted, metrics: Mapping[str, float | Mean]) -> None:
        self._position = position
        self._count += 1
        self._documents += batch.documents
        self._tokens += batch.tokens
        add_metrics(self._metrics, metrics)

    def take(self) -> Step | None:
        """The steps so far as one event; they are forgotten here."""
        if self._count == 0:
            return None
        event = Step(self._position, self._documents, self._tokens, self._metrics, self._count)
        self._clear()
        return event

    def _clear(self) -> None:
        self._position = Position.START
        self._count = self._documents = self._tokens = 0
        self._metrics: Metrics = {}


def _line_bytes(line: dict[str, Any]) -> bytes:
    try:
        text = _encode(line)
    except ValueError as cause:
        raise ValueError(f"a figure in {line} is not finite; what was not measured is left out") from cause
    # A file name that is not UTF-8 holds lone surrogates; their backslash form is also their JSON form.
    return text.encode(errors="backslashreplace")


def read_record(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a record in order; a last line cut by a crash is left out, any other damage is a RunError."""
    for number, event in enumerate(read_lines(path), start=1):
        if not isinstance(event, dict) or not {"time", "event"} <= event.keys():
            raise RunError(f"{path} line {number} is not an event of a run; {DAMAGE_ADVICE}")
        yield event
