"""The end of a training: what was learned, how fast, where it lies, what to try next."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.cli.console import page
from headway.cli.tables import fitting
from headway.errors import RunError
from headway.plan.section import format_bytes
from headway.run.result import RunResult
from headway.run.text import amount, cores, duration, peak, percent, rate

if TYPE_CHECKING:
    from headway.cli.learned import Rows
    from headway.learners.patterns.memory import Memory

_TOP = 5
_CHARACTERS = 60
_COMMANDS = 3
# Reading asks every run of a level; from here on it shows.
_MANY_RUNS = 8
_LEVELS = ("level", "patterns", "observed", "repeats", "on disk", "bytes each")


def last_line(result: RunResult) -> str:
    """One line: what happened, how much, how fast, where; of a continued run, which of it was this session's."""
    done = f"{result.folder} {result.status}: {amount(result.documents, 'document')}, {amount(result.tokens, 'token')}"
    if result.seconds is None:
        return f"{done}; there was nothing left to do"
    speed = f"{duration(result.seconds)}, {rate(result.tokens_per_second, 'tokens')}"
    if not _continued(result):
        return f"{done}; {speed}"
    here = f"{amount(result.learned_documents, 'document')}, {amount(result.learned_tokens, 'token')}"
    return f"{done} in all; this session {here}; {speed}"


def _continued(result: RunResult) -> bool:
    """Whether other sessions learned a part of it."""
    return (result.learned_documents, result.learned_tokens) != (result.documents, result.tokens)


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


def show(result: RunResult, stream: TextIO, *, again: Sequence[str]) -> None:
    """Print the summary; `again` are the words of the command that continues the run."""
    console = page(stream)
    console.print()
    console.print(Text(last_line(result), style="bold"), soft_wrap=True)
    console.print()
    console.print(_facts(result))
    memory = _memory(result.folder)
    if memory is not None:
        with memory:
            try:
                _show_memory(console, memory)
            except RunError as cause:
                # The training is done and safe: what keeps its memory from being shown is not its failure.
                console.print(Text(f"{cause}"), soft_wrap=True)
    learned = _learned(result)
    if learned:
        console.print()
        console.print(pairs(learned))
    many = memory is not None and max(level.runs for level in memory.levels) >= _MANY_RUNS
    commands = [*_continuing(result, again), *_commands(result, has_memory=memory is not None, many=many)]
    _show_next(console, commands[:_COMMANDS])


def pairs(rows: Sequence[tuple[str, str]]) -> Table:
    """Names and what there is to say of each."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def _learned(result: RunResult) -> "Rows":
    """What an autoencoder has come to; of others their memory is shown."""
    from headway.cli.learned import KIND, kind_of, rows

    return rows(result.folder, result.totals) if kind_of(result.folder) == KIND else []


def _facts(result: RunResult) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("documents", _split(result.documents, result.learned_documents, result))
    table.add_row("tokens", _split(result.tokens, result.learned_tokens, result))
    if result.seconds is not None:
        if _continued(result):
            table.add_row("", Text("these times and speeds are of this session alone", style="dim"))
        workers = "" if result.workers is None else f" with {amount(result.workers, 'worker')}"
        table.add_row("training", f"{duration(result.seconds)}{workers}")
        table.add_row("", _speed(result.documents_per_second, result.tokens_per_second))
        whole = (duration(result.seconds_end_to_end), duration(result.build_seconds), duration(result.start_seconds))
        table.add_row("end to end", "{} with {} for the dataset, {} to start".format(*whole))
        table.add_row("", _speed(result.documents_per_second_end_to_end, result.tokens_per_second_end_to_end))
        table.add_row("memory", peak(result.peak_memory_bytes, result.peak_shared_once_bytes))
        table.add_row("processor", cores(result.cpu_cores))
    table.add_row("run", str(result.folder))
    if result.dataset is not None:
        table.add_row("dataset", result.dataset)
    return table


def _split(whole: int, here: int, result: RunResult) -> str:
    shared = result.seconds is not None and _continued(result)
    return f"{whole:,} in all, {here:,} in this session" if shared else f"{whole:,}"


def _speed(documents: float | None, tokens: float | None) -> str:
    return f"{rate(documents, 'documents')}, {rate(tokens, 'tokens')}"


def _memory(folder: Path) -> "Memory | None":
    if not (folder / "memory" / "manifest.json").is_file():
        return None
    from headway.learners.patterns.memory import open_memory

    return open_memory(folder)


def _show_memory(console: Console, memory: "Memory") -> None:
    console.print()
    console.print(levels_table(memory, console))
    for number, level in enumerate(memory.levels):
        console.print()
        if level.observed == level.unique:
            console.print(Text(f"level {number}: nothing was seen twice" if level.unique else f"level {number}: empty"))
            continue
        console.print(Text(f"most frequent on level {number}", style="bold"))
        console.print(top_table(memory, _TOP, number))


def levels_table(memory: "Memory", console: Console) -> Table:
    """Patterns and bytes of every level; where that is too wide, less of it."""
    rows: list[list[str]] = []
    for number, level in enumerate(memory.levels):
        each = f"{level.bytes / level.unique:.1f}" if level.unique else "-"
        repeats = percent(level.observed - level.unique, level.observed)
        figures = (f"{level.unique:,}", f"{level.observed:,}", repeats, format_bytes(level.bytes), each)
        rows.append([str(number), *figures])
    return fitting(console, [_levels(rows, most) for most in range(len(_LEVELS), 1, -1)])


def _levels(rows: Sequence[Sequence[str]], columns: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for header in _LEVELS[:columns]:
        table.add_column(header, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row[:columns])
    return table


def top_table(
    memory: "Memory", number: int, level: int, *, characters: int = _CHARACTERS, names: bool = False
) -> Table:
    """The most frequent patterns of a level, as text, each with its name below it if that is wanted."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    # What does not fit is left out of a text and never of a number, so only this column may shrink.
    table.add_column()
    for pattern in memory.top(number, level):
        text = Text(shortened(memory.text(pattern), characters), no_wrap=True, overflow="ellipsis")
        table.add_row(f"{pattern.frequency:,}", text)
        if names:
            table.add_row("", Text(pattern.name, style="dim", overflow="fold"))
    return table


def shortened(text: str, characters: int) -> str:
    """A text in quotes on one line, its middle left out when it is long."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    if len(shown) > characters:
        half = (characters - 3) // 2
        shown = f"{shown[:half]} … {shown[-half:]}"
    return f"“{shown}”"


def _continuing(result: RunResult, again: Sequence[str]) -> list[str]:
    return [shlex.join(again)] if result.status == "stopped" else []


def _commands(result: RunResult, *, has_memory: bool, many: bool) -> list[str]:
    run = shlex.quote(str(result.folder))
    if not has_memory:
        return [*_trials(run, result), f"headway runs show {run}"]
    return [
        *([f"headway memory compact {run}"] if many and result.status == "finished" else []),
        f"headway memory top {run}",
        f"headway memory verify {run}",
        f"headway memory export --format parquet --output patterns.parquet {run}",
    ]


def _trials(run: str, result: RunResult) -> list[str]:
    from headway.cli.learned import KIND, commands, kind_of

    return commands(run, result.folder) if kind_of(result.folder) == KIND and result.totals else []


def _show_next(console: Console, commands: Sequence[str]) -> None:
    console.print()
    console.print(Text("next", style="bold"))
    for command in commands:
        # Never wrapped: a command is copied as it stands.
        console.print(Text(f"  {command}"), soft_wrap=True)
