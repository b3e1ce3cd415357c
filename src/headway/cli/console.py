"""How a training shows itself: full screen in a terminal, lines elsewhere, JSON for programs, or not at all."""

import json
import os
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headway.plan.section import format_bytes
from headway.record.record import Listener
from headway.run.listeners import Lines
from headway.run.text import count, duration, percent, rate
from headway.run.watch import Watch

_MEMORY_SECONDS = 1.0
_REFRESH_PER_SECOND = 4
_NOTES = 4
_WHOLE_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Display:
    """Listeners, and the screen they need while they listen."""

    listeners: tuple[Listener, ...]
    screen: AbstractContextManager[object]

    def __enter__(self) -> Self:
        self.screen.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.screen.__exit__(kind, error, at)


def display(*, quiet: bool, json: bool, stream: TextIO) -> Display:
    """The display that fits the stream and what the user asked for."""
    if quiet:
        return Display((), nullcontext())
    if json:
        return Display((JsonLines(stream),), nullcontext())
    console = Console(file=stream)
    if console.is_terminal and not console.is_dumb_terminal:
        screen = FullScreen(console)
        return Display((screen,), screen)
    memory = Memory()
    return Display((Lines(stream, extra=memory.said),), nullcontext())


class _Page(Console):
    """A console that leaves a broken pipe to `main`, where every verb's is treated alike."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def page(stream: TextIO) -> Console:
    """A console for what stays on the screen: as wide as the terminal; into a file or a pipe, lines stay whole."""
    console = _Page(file=stream, highlight=False)
    return console if console.is_terminal else _Page(file=stream, highlight=False, width=_WHOLE_LINES)


class JsonLines:
    """Every event as one line of JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Write one event."""
        if self._gone:
            return
        try:
            self._stream.write(json.dumps(event, ensure_ascii=False) + "\n")
            self._stream.flush()
        except BrokenPipeError:
            # Whoever read along has left; that is no reason to stop learning.
            self._gone = True


class Memory:
    """What this process and its children hold together, looked up once a second at most."""

    def __init__(self) -> None:
        self._bytes: int | None = None
        self._due = 0.0

    def bytes(self) -> int | None:
        """Resident bytes; None where the system does not tell."""
        if monotonic() >= self._due:
            self._bytes = _resident()
            self._due = monotonic() + _MEMORY_SECONDS
        return self._bytes

    def said(self) -> str | None:
        """The same for people."""
        held = self.bytes()
        return None if held is None else f"{format_bytes(held)} resident"


class FullScreen:
    """A screen of its own while entered, and whatever was there before afterwards."""

    def __init__(self, console: Console) -> None:
        self._watch = Watch()
        self._memory = Memory()
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._lock = RLock()
        self._live = Live(
            console=console, screen=True, get_renderable=self.render, refresh_per_second=_REFRESH_PER_SECOND
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.__exit__(kind, error, at)

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in one event; the screen follows by itself."""
        with self._lock:
            self._watch(event)
            if event["event"] in ("note", "warned"):
                self._notes.append(event["text"])

    def render(self) -> RenderableType:
        """The screen as it should look now."""
        with self._lock:
            watch = self._watch
            parts: list[RenderableType] = [_bar(watch), Text(), _facts(watch, self._memory.bytes())]
            if metrics := watch.metrics():
                parts += [Text(), _metrics(metrics)]
            parts += [Text(), *(Text(note, style="dim", overflow="fold") for note in self._notes)]
        footer = "Ctrl-C saves and leaves"
        return Panel(Group(*parts), title=_title(watch), subtitle=footer, title_align="left", subtitle_align="left")


def _title(watch: Watch) -> str:
    if watch.began is None:
        return "headway · dataset"
    return f"headway · {watch.began['run']}"


def _bar(watch: Watch) -> RenderableType:
    done = watch.share
    row = Table.grid(padding=(0, 1), expand=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    bar = ProgressBar(total=1.0, completed=done or 0.0, pulse=done is None)
    row.add_row(bar, "" if done is None else percent(done, 1))
    return row


def _facts(watch: Watch, resident: int | None) -> Table:
    table = _grid()
    if watch.training:
        _training_rows(table, watch)
    elif watch.build is not None:
        _build_rows(table, watch, watch.build)
    else:
        table.add_row("phase", "starting")
    table.add_row("memory", _memory_of(watch, resident))
    return table


def _training_rows(table: Table, watch: Watch) -> None:
    progress, speed = watch.progress, watch.progress.rate
    table.add_row("documents", _of(progress.documents, progress.total_documents))
    table.add_row("tokens", _of(progress.tokens, progress.total_tokens))
    table.add_row("rate", rate(speed and speed.documents, "documents"))
    table.add_row("", rate(speed and speed.tokens, "tokens"))
    table.add_row("time", f"{duration(progress.seconds)}, {duration(progress.eta_seconds)} left")
    if watch.began is not None:
        table.add_row("workers", str(watch.began["workers"]))


def _build_rows(table: Table, watch: Watch, build: Mapping[str, Any]) -> None:
    table.add_row("phase", str(build["stage"]))
    table.add_row("shards", _of(build["shards_done"], build["shards"]))
    table.add_row("read", f"{format_bytes(build['bytes_done'])} of {format_bytes(build['bytes'])}")
    table.add_row("documents", count(build["documents"]))
    table.add_row("tokens", count(build["tokens"]))
    table.add_row("time", duration(watch.build_seconds()))


def _metrics(metrics: Mapping[str, float]) -> Table:
    table = _grid()
    for name, value in metrics.items():
        table.add_row(name, count(value))
    return table


def _grid() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _of(done: int, whole: int | None) -> str:
    return count(done) if whole is None else f"{count(done)} of {count(whole)}"


def _memory_of(watch: Watch, resident: int | None) -> str:
    held = "-" if resident is None else format_bytes(resident)
    return held if watch.began is None else f"{held} of {format_bytes(watch.began['memory'])} allowed"


def _resident() -> int | None:
    import psutil

    from headway.machine.describe import resident_bytes

    children = psutil.Process().children(recursive=True)
    return resident_bytes([os.getpid(), *(child.pid for child in children)])
