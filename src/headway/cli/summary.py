"""The end of a training: what was learned, how fast, where it lies, what to try next."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.cli.console import page
from headway.plan.section import format_bytes
from headway.run.result import RunResult
from headway.run.text import duration, percent, rate

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory

_TOP = 5
_CHARACTERS = 60


def last_line(result: RunResult) -> str:
    """One line: what happened, how much, how fast, where."""
    done = f"{result.folder} {result.status}: {result.documents:,} documents, {result.tokens:,} tokens"
    if result.seconds is None:
        return f"{done}; there was nothing left to do"
    return f"{done}; {duration(result.seconds)}, {rate(result.tokens_per_second, 'tokens')}"


def as_json(result: RunResult) -> str:
    """The result as the last of the JSON lines."""
    values = asdict(result) | {
        "event": "result",
        "folder": str(result.folder),
        "documents_per_second": result.documents_per_second,
        "tokens_per_second": result.tokens_per_second,
        "documents_per_second_end_to_end": result.documents_per_second_end_to_end,
        "tokens_per_second_end_to_end": result.tokens_per_second_end_to_end,
    }
    return json.dumps(values, ensure_ascii=False)


def show(result: RunResult, stream: TextIO) -> None:
    """Print the summary."""
    console = page(stream)
    console.print()
    console.print(Text(last_line(result), style="bold"), soft_wrap=True)
    console.print()
    console.print(_facts(result))
    memory = _memory(result.folder)
    if memory is not None:
        with memory:
            _show_memory(console, memory)
    _show_next(console, result, has_memory=memory is not None)


def _facts(result: RunResult) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("documents", f"{result.documents:,}")
    table.add_row("tokens", f"{result.tokens:,}")
    if result.seconds is not None:
        workers = f"{result.workers} worker{'s' if result.workers != 1 else ''}"
        table.add_row("training", f"{duration(result.seconds)} with {workers}")
        table.add_row("", _speed(result.documents_per_second, result.tokens_per_second))
        whole = (duration(result.seconds_end_to_end), duration(result.build_seconds), duration(result.start_seconds))
        table.add_row("end to end", "{} with {} for the dataset, {} to start".format(*whole))
        table.add_row("", _speed(result.documents_per_second_end_to_end, result.tokens_per_second_end_to_end))
    table.add_row("run", str(result.folder))
    if result.dataset is not None:
        table.add_row("dataset", result.dataset)
    return table


def _speed(documents: float | None, tokens: float | None) -> str:
    return f"{rate(documents, 'documents')}, {rate(tokens, 'tokens')}"


def _memory(folder: Path) -> "Memory | None":
    if not (folder / "memory" / "manifest.json").is_file():
        return None
    from headway.learners.patterns.memory import open_memory

    return open_memory(folder)


def _show_memory(console: Console, memory: "Memory") -> None:
    console.print()
    console.print(levels_table(memory))
    for number, level in enumerate(memory.levels):
        console.print()
        if level.observed == level.unique:
            console.print(Text(f"level {number}: nothing was seen twice" if level.unique else f"level {number}: empty"))
            continue
        console.print(Text(f"most frequent on level {number}", style="bold"))
        console.print(top_table(memory, _TOP, number))


def levels_table(memory: "Memory") -> Table:
    """Patterns and bytes of every level."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="cyan")
    for header in ("level", "patterns", "observed", "repeats", "on disk", "bytes each"):
        table.add_column(header, justify="right", no_wrap=True)
    for number, level in enumerate(memory.levels):
        each = f"{level.bytes / level.unique:.1f}" if level.unique else "-"
        repeats = percent(level.observed - level.unique, level.observed)
        figures = (f"{level.unique:,}", f"{level.observed:,}", repeats, format_bytes(level.bytes), each)
        table.add_row(str(number), *figures)
    return table


def top_table(memory: "Memory", number: int, level: int, characters: int = _CHARACTERS) -> Table:
    """The most frequent patterns of a level, as text."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="ellipsis", no_wrap=True)
    for pattern in memory.top(number, level):
        table.add_row(f"{pattern.frequency:,}", Text(shortened(memory.text(pattern), characters)))
    return table


def shortened(text: str, characters: int) -> str:
    """A text in quotes on one line, its middle left out when it is long."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    if len(shown) > characters:
        half = (characters - 3) // 2
        shown = f"{shown[:half]} … {shown[-half:]}"
    return f"“{shown}”"


def _show_next(console: Console, result: RunResult, *, has_memory: bool) -> None:
    run = shlex.quote(str(result.folder))
    commands = [f"headway runs show {run}"]
    if has_memory:
        commands = [
            f"headway memory top {run}",
            f"headway memory verify {run}",
            f"headway memory export --format parquet --output patterns.parquet {run}",
        ]
    console.print()
    console.print(Text("next", style="bold"))
    for command in commands:
        # Never wrapped: a command is copied as it stands.
        console.print(Text(f"  {command}"), soft_wrap=True)
