"""How often patterns were learned and what they take on disk, as tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.cli.tables import fitting
from headway.learners.patterns.memory import Memory
from headway.learners.patterns.sizes import analysis
from headway.plan.section import format_bytes
from headway.run.history.growth import recorded_growth
from headway.run.text import count, percent

_RAW = {"utf8": "the text (UTF-8)", "tokens16": "16-bit tokens", "tokens32": "32-bit tokens"}
_PERCENTILES = ("90", "99")


def analysed(memory: Memory) -> dict[str, Any]:
    """Frequencies, sizes and growth; the growth from the files, and from the record of the run where that has it."""
    found = analysis(memory)
    recorded = recorded_growth(_run_of(memory))
    for level in found["levels"]:
        points = {point["observed"]: point["unique"] for point in level["growth"]}
        points = dict(recorded.get(level["level"], [])) | points
        level["growth"] = [{"observed": observed, "unique": points[observed]} for observed in sorted(points)]
    return found


def show(memory: Memory, console: Console) -> None:
    """Print what one reading of all levels tells."""
    found = analysed(memory)
    levels = [level["frequencies"] for level in found["levels"]]
    console.print()
    console.print(_summary(levels))
    console.print()
    console.print(fitting(console, [_ranks(levels[:most]) for most in range(len(levels), 0, -1)]))
    growing = [level for level in found["levels"] if len(level["growth"]) > 1]
    if growing:
        console.print()
        console.print(_growth(growing))
    console.print()
    for line in _sizes(found["sizes"]):
        console.print(Text(line), soft_wrap=True)


def _run_of(memory: Memory) -> Path:
    return memory.folder.absolute().parent


def _summary(levels: Sequence[dict[str, Any]]) -> Table:
    table = _table("level", "seen once", "mean", "median", *(f"{each} %" for each in _PERCENTILES), "most")
    for number, level in enumerate(levels):
        figures = (
            level["mean"],
            level["median"],
            *(level["percentiles"][each] for each in _PERCENTILES),
            level["most"],
        )
        table.add_row(str(number), percent(level["singletons"], level["unique"]), *map(_figure, figures))
    return table


def _ranks(levels: Sequence[dict[str, Any]]) -> Table:
    """The mean frequency of ranks that double from line to line."""
    table = _table("rank", *(f"level {number}" for number in range(len(levels))))
    longest = max((level["ranks"] for level in levels), key=len)
    for i, each in enumerate(longest):
        cells = [level["ranks"][i]["mean"] if i < len(level["ranks"]) else None for level in levels]
        table.add_row(f"from {each['first']:,}", *map(_figure, cells))
    return table


def _growth(levels: Iterable[dict[str, Any]]) -> Table:
    table = _table("level", "observed", "different", "share")
    for level in levels:
        for point in level["growth"]:
            share = percent(point["unique"], point["observed"])
            table.add_row(str(level["level"]), f"{point['observed']:,}", f"{point['unique']:,}", share)
    return table


def _sizes(sizes: dict[str, Any]) -> Iterable[str]:
    raw = [f"{_RAW[name]} {format_bytes(size)}" for name, size in sizes["raw_bytes"].items() if size is not None]
    yield f"what level 0 learned, as {', as '.join(raw)}; the memory takes {format_bytes(sizes['bytes'])}"
    for level in sizes["levels"]:
        shares = [
            f"{100 * share:.1f} % of {_RAW[name]}" for name, share in level["shares"].items() if share is not None
        ]
        yield f"level {level['level']}: {format_bytes(level['bytes'])}, {', '.join(shares) or 'of nothing learned'}"


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return count(value) if value >= 100 or value == int(value) else f"{value:.2f}"


def _table(*headers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    return table
