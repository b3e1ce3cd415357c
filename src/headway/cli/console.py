"""How a training shows itself: full screen in a terminal, lines elsewhere, JSON for programs, or not at all."""

import json
import os
import re
from collections import deque
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headway.cli.output import Forgiving, Output
from headway.plan.section import format_bytes
from headway.record.record import Listener
from headway.run.listeners import Lines
from headway.run.text import count, duration, percent, rate
from headway.run.watch import Watch

_MEMORY_SECONDS = 1.0
_REFRESH_PER_SECOND = 4
_NOTES = 4
_WHOLE_LINES = 10_000
_FOOTER, _FOOTER_SHORT = "Ctrl-C saves and leaves", "Ctrl-C saves"
_FRAME_COLUMNS, _FRAME_LINES = 4, 2
# What a small screen does without, the least important first; how far it is and how long it takes stay.
_LEAVE = (
    "notes",
    "space",
    "details",
    "metrics",
    "workers",
    "memory",
    "shards",
    "read",
    "phase",
    "rate",
    "tokens",
    "documents",
)
_TRAILING = re.compile(r" +$", re.MULTILINE)


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
    """The display that fits the stream and what the user asked for; it falls silent when the stream takes no more."""
    if quiet:
        return Display((), nullcontext())
    # Whoever read along has left, or the disk is full; that is no reason to stop learning.
    stream = cast(TextIO, Forgiving(stream))
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
    if console.is_terminal:
        return console
    return _Page(file=cast(TextIO, _Trimmed(stream)), highlight=False, width=_WHOLE_LINES)


class _Trimmed(Output):
    """Without the spaces that tables fill their last column with."""

    def write(self, text: str, /) -> int:
        return super().write(_TRAILING.sub("", text))


class JsonLines:
    """Every event as one line of JSON."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Write one event."""
        self._stream.write(json.dumps(event, ensure_ascii=False) + "\n")
        self._stream.flush()


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
        self._console = console
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
        """The screen as it should look now; where it is too small, what matters least is left out."""
        with self._lock:
            title, notes = _title(self._watch), tuple(self._notes)
            bodies = [_body(self._watch, self._memory.bytes(), notes, left_out) for left_out in range(len(_LEAVE) + 1)]
        inside = self._console.options.update(width=max(1, self._console.width - _FRAME_COLUMNS))
        height = self._console.height - _FRAME_LINES
        fitting = (body for body in bodies if len(self._console.render_lines(body, inside)) <= height)
        footer = _FOOTER if self._console.width >= len(_FOOTER) + _FRAME_COLUMNS + 2 else _FOOTER_SHORT
        body = next(fitting, bodies[-1])
        return Panel(body, title=title, subtitle=footer, title_align="left", subtitle_align="left")


def _body(watch: Watch, resident: int | None, notes: Sequence[str], left_out: int) -> Group:
    """What is on the screen without the first so many things of _LEAVE."""
    gone = frozenset(_LEAVE[:left_out])
    space = [] if "space" in gone else [Text()]
    parts: list[RenderableType] = [_bar(watch), *space, _facts(watch, resident, gone)]
    if "metrics" not in gone and (metrics := watch.metrics(brief="details" in gone)):
        parts += [*space, *_heading(watch), _metrics(metrics)]
    if "notes" not in gone and notes:
        parts += [*space, *(Text(note, style="dim", overflow="fold") for note in notes)]
    return Group(*parts)


def _heading(watch: Watch) -> list[Text]:
    """What metrics are of, where that is not the whole run."""
    return [Text("in this session", style="dim")] if watch.progress.continued else []


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


def _facts(watch: Watch, resident: int | None, gone: Set[str]) -> Table:
    if watch.training:
        rows = _training_rows(watch)
    else:
        rows = [("phase", "starting")] if watch.build is None else _build_rows(watch, watch.build)
    table = _grid()
    for name, value in [*rows, ("memory", _memory_of(watch, resident))]:
        if name not in gone:
            table.add_row(name, value)
    return table


def _training_rows(watch: Watch) -> list[tuple[str, str]]:
    progress, speed = watch.progress, watch.progress.rate
    speeds = rate(speed and speed.documents, "documents"), rate(speed and speed.tokens, "tokens")
    rows = [
        ("documents", _of(progress.documents, progress.total_documents)),
        ("tokens", _of(progress.tokens, progress.total_tokens)),
        ("rate", "\n".join(speeds)),
        ("time", f"{duration(progress.seconds)}, {duration(progress.eta_seconds)} left"),
    ]
    return rows if watch.began is None else [*rows, ("workers", str(watch.began["workers"]))]


def _build_rows(watch: Watch, build: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("phase", str(build["stage"])),
        ("shards", _of(build["shards_done"], build["shards"])),
        ("read", f"{format_bytes(build['bytes_done'])} of {format_bytes(build['bytes'])}"),
        ("documents", count(build["documents"])),
        ("tokens", count(build["tokens"])),
        ("time", duration(watch.build_seconds())),
    ]


def _metrics(metrics: Mapping[str, str]) -> Table:
    table = _grid()
    for name, shown in metrics.items():
        table.add_row(name, shown)
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
