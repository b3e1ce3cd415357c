"""Runs side by side: what differs, what came of it, and whether that means anything."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headway.cli.console import page
from headway.cli.tables import fitting
from headway.plan.section import format_bytes
from headway.run.history.compare import Comparison, Figure, Group, Spread
from headway.run.history.conditions import PARTS
from headway.run.history.verdict import Verdict, least_runs
from headway.run.text import amount, count, duration

_SAME = "every run had the same plan, data, machine and code"
_UNKNOWN = "not known"


def show(compared: Comparison, stream: TextIO) -> None:
    """Print what differs first, then results, then what may be concluded."""
    console = page(stream)
    _show_groups(console, compared.groups)
    console.print()
    _show_differences(console, compared)
    console.print()
    _show_results(console, compared)
    console.print()
    for line in conclusions(compared):
        console.print(Text(line, style="bold"), soft_wrap=True)


def as_json(compared: Comparison) -> str:
    """The whole comparison for programs."""
    groups = [
        {"group": _letter(i), "named": group.named, "runs": [run.name for run in group.runs]}
        for i, group in enumerate(compared.groups)
    ]
    values: dict[str, Any] = {
        "schema": "headway-comparison",
        "version": 1,
        "groups": groups,
        "differences": [asdict(each) for each in compared.differences],
        "figures": {
            figure.name: [spread and asdict(spread) for spread in figure.spreads] for figure in compared.figures
        },
        "verdicts": [asdict(each) for each in compared.verdicts],
        "conclusions": conclusions(compared),
    }
    return json.dumps(values, ensure_ascii=False, default=str)


def conclusions(compared: Comparison) -> list[str]:
    """What may be said of the rates of training, in words."""
    if len(compared.groups) == 1:
        return [f"{_SAME}: there is nothing to compare but chance"]
    if not compared.verdicts:
        return ["the data differ: rates of training on other data are no comparison"]
    several = f"; {_and(compared.parts)} differ, so none of them alone is shown to be why"
    found: list[str] = []
    for i, each in enumerate(compared.verdicts, start=1):
        why = several if each.said in ("faster", "slower") and len(compared.parts) > 1 else ""
        found.append(_said(each, "A", _letter(i)) + why)
    return found


def _said(found: Verdict, first: str, second: str) -> str:
    runs = f"{found.runs[0]} and {amount(found.runs[1], 'run')}"
    if found.said == "one run":
        return f"{second} and {first}: one run is no comparison; make {least_runs()} of each, in turns"
    if found.said == "too few" or found.ratio is None or found.least is None or found.most is None:
        return f"{second} and {first}: {runs} cannot tell them from chance; {least_runs()} of each can"
    ratio = f"{found.ratio:.3f} times the rate of {first} ({found.least:.3f} to {found.most:.3f}; {runs})"
    if found.said == "not shown":
        return f"{second}: no difference is shown; it had {ratio}"
    if found.said == "not in turns":
        return (
            f"{second} had {ratio}, but one was done with before the other began: "
            "a machine that changed meanwhile looks the same. Make them in turns"
        )
    return f"{second} is {found.said}: {ratio}"


def _show_groups(console: Console, groups: Sequence[Group]) -> None:
    table = _table("", "runs", "status")
    for i, group in enumerate(groups):
        others = len(group.runs) - len(group.named)
        alike = f" and {amount(others, 'finished run')} like {'it' if len(group.named) == 1 else 'them'}"
        status = ", ".join(dict.fromkeys(run.status for run in group.runs))
        table.add_row(_letter(i), Text(", ".join(group.named) + (alike if others else "")), status)
    console.print(table)


def _show_differences(console: Console, compared: Comparison) -> None:
    if not compared.differences:
        console.print(_SAME, soft_wrap=True)
        return
    table = _table("differs", "", *map(_letter, range(len(compared.groups))))
    for each in compared.differences:
        table.add_row(each.part, each.name, *(Text(_value(each.name, value)) for value in each.values))
    console.print(table)
    same = [part for part in PARTS if part not in compared.parts]
    if same:
        console.print(f"the same: {', '.join(same)}", soft_wrap=True)


def _show_results(console: Console, compared: Comparison) -> None:
    letters = [f"{_letter(i)} ({amount(len(group.runs), 'run')})" for i, group in enumerate(compared.groups)]
    shown = [(figure, _ratio(figure)) for figure in compared.figures]
    tables: list[Table] = []
    # Where the terminal is narrow, medians alone.
    for text in (_spread, _median):
        table = _table(
            "result", *letters, *([f"{_letter(len(letters) - 1)} / A"] if len(letters) > 1 else []), right=True
        )
        for figure, ratio in shown:
            cells = [text(figure.name, spread) for spread in figure.spreads]
            table.add_row(figure.name, *cells, *([ratio] if len(letters) > 1 else []))
        tables.append(table)
    console.print(fitting(console, tables))


def _ratio(figure: Figure) -> str:
    first, last = figure.spreads[0], figure.spreads[-1]
    return "-" if first is None or last is None or not first.median else f"{last.median / first.median:.3g}"


def _spread(name: str, spread: Spread | None) -> str:
    if spread is None or spread.least == spread.most:
        return _median(name, spread)
    ends = f"{_number(name, spread.least)} to {_number(name, spread.most)}"
    return f"{_median(name, spread)} ({ends})"


def _median(name: str, spread: Spread | None) -> str:
    return "-" if spread is None else _number(name, spread.median)


def _number(name: str, value: float) -> str:
    if name == "seconds" or name.startswith("spent.") or name.endswith("_seconds"):
        return duration(value)
    if name.endswith("bytes"):
        return format_bytes(round(value))
    return f"{value:,}" if isinstance(value, int) else count(value) if abs(value) >= 1000 else f"{value:.4g}"


def _value(name: str, value: object) -> str:
    if value is None:
        return _UNKNOWN if name in ("source", "fingerprint", "dataset") else "-"
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith("_bytes"):
        return format_bytes(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(*headers: str, right: bool = False) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for i, header in enumerate(headers):
        table.add_column(header, justify="right" if right and i else "left", overflow="fold")
    return table


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
