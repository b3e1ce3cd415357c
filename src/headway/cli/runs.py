"""headway runs list | show RUN"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from headway.cli.options import add_runs_dir

if TYPE_CHECKING:
    from rich.table import Table

    from headway.run.facts import RunFacts


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, purpose in (("list", "all runs, one line each"), ("show", "one run")):
        action = verbs.add_parser(name, help=purpose)
        if name == "show":
            action.add_argument("name", metavar="RUN", help="a run folder, or its name")
        add_runs_dir(action)
        action.add_argument("--json", action="store_true", help="JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    """Print what the run folders tell."""
    return _list(options) if options.action == "list" else _show(options)


def _list(options: argparse.Namespace) -> int:
    from headway.cli.places import check_runs
    from headway.run.facts import facts_or_damage
    from headway.run.folders import RESOLVED, numbered

    check_runs(options.runs_dir)
    runs = [
        facts_or_damage(entry.folder) for entry in numbered(options.runs_dir) if (entry.folder / RESOLVED).is_file()
    ]
    if options.json:
        print(json.dumps([_plain(known) for known in runs], ensure_ascii=False))
    elif runs:
        _print_table(runs)
    else:
        print(f"no runs in {options.runs_dir}; start one with: headway train PLAN")
    return 0


def _show(options: argparse.Namespace) -> int:
    from headway.cli.places import run_folder
    from headway.run.facts import facts

    known = facts(run_folder(options.name, options.runs_dir))
    if options.json:
        print(json.dumps(_plain(known), ensure_ascii=False))
        return 0
    _print_facts(known)
    return 0


def _plain(known: "RunFacts") -> dict[str, Any]:
    return asdict(known) | {"folder": str(known.folder)}


def _print_table(runs: "list[RunFacts]") -> None:
    from headway.cli.console import page
    from headway.cli.tables import fitting

    console = page(sys.stdout)
    console.print(fitting(console, [_runs_table(runs, columns) for columns in _LAYOUTS]))


def _runs_table(runs: "list[RunFacts]", columns: tuple[str, ...]) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for name in columns:
        header, justify, _ = _COLUMNS[name]
        table.add_column(header, justify=justify, overflow="fold", no_wrap=name != "run")
    for known in runs:
        table.add_row(*(_COLUMNS[name][2](known) for name in columns))
    return table


def _print_facts(known: "RunFacts") -> None:
    from rich.text import Text

    from headway.cli.console import page
    from headway.cli.summary import pairs
    from headway.cli.tables import fitting
    from headway.plan.section import format_bytes
    from headway.run.text import cores, count, peak, rate

    speeds = (rate(known.documents_per_second, "documents"), rate(known.tokens_per_second, "tokens"))
    rows = {
        "run": str(known.folder),
        "status": known.status,
        "started": _when(known.started),
        "documents": _amount(known.documents),
        "tokens": _amount(known.tokens),
        "rate": f"{', '.join(speeds)} while training",
        **{f"{name}/s": count(number) for name, number in known.counts_per_second.items() if number},
        "time": _whole_time(known),
        "workers": _or_dash(known.workers),
        "peak memory": peak(known.peak_memory_bytes, known.peak_shared_once_bytes),
        "processor": cores(known.cpu_cores),
        "memory limit": "-" if known.memory is None else format_bytes(known.memory),
        "dataset": _or_dash(known.dataset),
    }
    learned, lists = _learned(known)
    rows |= {name: text for name, text in learned.items() if name not in rows}
    console = page(sys.stdout)
    console.print(pairs([*rows.items(), *(("warning", warning) for warning in known.warnings)]))
    if known.stages:
        console.print()
        console.print(fitting(console, [_stages(known, columns) for columns in (6, 3)]))
    for name, value in lists.items():
        console.print()
        console.print(Text(f"{name} {_as_recorded(known, learned)}"), soft_wrap=True)
        columns = list(value[0])
        console.print(fitting(console, [_list_table(value, columns[:most]) for most in range(len(columns), 0, -1)]))


def _stages(known: "RunFacts", columns: int) -> "Table":
    """What took how long; the stages of workers pass side by side, and with those of the loop that waits for them."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for number, name in enumerate(("stage", "in all", "times", "median", "95 %", "longest")[:columns]):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for name, stage in sorted(known.stages.items(), key=lambda each: -each[1]["seconds"]):
        figures = (_short(stage["seconds"]), f"{stage['count']:,}")
        spread = (_short(stage[figure]) for figure in ("median", "p95", "longest"))
        table.add_row(*(name, *figures, *spread)[:columns])
    return table


def _short(seconds: float | None) -> str:
    """A time that may be far below a second."""
    from headway.run.text import duration

    if seconds is None or seconds >= 1:
        return duration(seconds)
    return f"{1000 * seconds:.3g} ms"


def _learned(known: "RunFacts") -> tuple[dict[str, str], dict[str, list[dict[str, Any]]]]:
    """What the learner said of itself: lines, and tables of what it says of several things."""
    from headway.cli.learned import KIND, kind_of, rows

    said: dict[str, Any] = (known.totals or {}).get("learner") or {}
    if kind_of(known.folder) == KIND:
        return dict(rows(known.folder, said)), {}
    lists = {name: value for name, value in said.items() if _is_table(value)}
    lines = {name: _fact(value, known.folder) for name, value in said.items() if name not in lists}
    return lines, lists


def _is_table(value: object) -> bool:
    """Whether a learner says the same of several things, such as levels."""
    items = cast(list[object], value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, dict) for item in items)


def _as_recorded(known: "RunFacts", learned: dict[str, Any]) -> str:
    """Of when a learner's figures are: a memory may have been compacted or damaged since."""
    said = f"as recorded {_when(known.recorded)}"
    run = shlex.quote(str(known.folder))
    return f"{said}; as they are now: headway memory stats {run}" if "memory" in learned else said


def _list_table(items: list[dict[str, Any]], columns: list[str]) -> "Table":
    from rich.table import Table

    from headway.plan.section import format_bytes

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for item in items:
        values = ((name, item.get(name)) for name in columns)
        table.add_row(*(format_bytes(value) if name == "bytes" and value else _fact(value) for name, value in values))
    return table


def _fact(value: object, folder: Path | None = None) -> str:
    """A learner's figure, text or file; a file of the run lies where the run is now, not where it was."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, str):
        return str(folder / Path(value).name) if folder and value and (folder / Path(value).name).exists() else value
    return json.dumps(value, ensure_ascii=False)


def _when(time: float | None, shape: str = "%Y-%m-%d %H:%M") -> str:
    return "-" if time is None else datetime.fromtimestamp(time).astimezone().strftime(shape)


def _amount(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _about(number: int | None) -> str:
    from headway.run.text import count

    return "-" if number is None else count(number)


def _rate(known: "RunFacts") -> str:
    from headway.run.text import rate

    return rate(known.tokens_per_second, "tokens")


def _whole_time(known: "RunFacts") -> str:
    from headway.run.text import duration

    if known.sessions is None:
        return "-"
    return f"{duration(known.seconds)} in {known.sessions} session{'s' if known.sessions != 1 else ''}, starts included"


def _time(known: "RunFacts") -> str:
    from headway.run.text import duration

    return duration(known.seconds)


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


# The rate is that of training alone, the time that of whole sessions; the headers say so.
_COLUMNS: dict[str, tuple[str, Literal["left", "right"], Callable[["RunFacts"], str]]] = {
    "run": ("run", "left", lambda known: known.name),
    "status": ("status", "left", lambda known: known.status),
    "started": ("started", "left", lambda known: _when(known.started)),
    "day": ("started", "left", lambda known: _when(known.started, "%Y-%m-%d")),
    "documents": ("documents", "right", lambda known: _amount(known.documents)),
    "tokens": ("tokens", "right", lambda known: _amount(known.tokens)),
    "about": ("tokens", "right", lambda known: _about(known.tokens)),
    "rate": ("training rate", "right", _rate),
    "time": ("whole time", "right", _time),
}
# The widest that fits the terminal is shown.
_LAYOUTS = (
    ("run", "status", "started", "documents", "tokens", "rate", "time"),
    ("run", "status", "day", "documents", "about", "rate", "time"),
    ("run", "status", "day", "about", "rate", "time"),
    ("run", "status", "about", "rate", "time"),
    ("run", "status", "about"),
    ("run", "status"),
)
