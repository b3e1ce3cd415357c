"""headway runs list | show RUN | compare RUN RUN... | export [RUN...]"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headway.cli.options import add_runs_dir

if TYPE_CHECKING:
    from rich.table import Table

    from headway.run.facts import RunFacts
    from headway.run.history.portable import Portable

_ACTIONS = {
    "list": "all runs, one line each",
    "show": "one run",
    "compare": "what differs between runs, and what came of it",
    "export": "runs as a table, or into another tracker",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, purpose in _ACTIONS.items():
        action = verbs.add_parser(name, help=purpose)
        if name == "show":
            action.add_argument("name", metavar="RUN", help="a run folder, or its name")
        if name == "compare":
            action.add_argument("names", metavar="RUN", nargs="+", help="run folders, or their names; two or more")
        add_runs_dir(action)
        if name == "export":
            _export_arguments(action)
        else:
            action.add_argument("--json", action="store_true", help="JSON instead of a table")


def _export_arguments(action: argparse.ArgumentParser) -> None:
    action.add_argument("names", metavar="RUN", nargs="*", help="run folders, or their names (default: all)")
    into = action.add_mutually_exclusive_group(required=True)
    into.add_argument("--csv", type=Path, metavar="FILE", help="a line for each run")
    into.add_argument("--json", type=Path, metavar="FILE", help="settings and results of each run")
    into.add_argument("--mlflow", type=Path, metavar="DIR", help="MLflow's file store in a folder")
    into.add_argument("--trackio", metavar="PROJECT", nargs="?", const="headway", help="a project of trackio")


def run(options: argparse.Namespace) -> int:
    """Print what the run folders tell."""
    return _DO[options.action](options)


def _list(options: argparse.Namespace) -> int:
    from headway.cli.places import check_runs
    from headway.run.history.history import History

    check_runs(options.runs_dir)
    with History(options.runs_dir) as history:
        if options.json:
            print(json.dumps([_plain(known) for known in history.facts], ensure_ascii=False))
        elif history.briefs:
            from headway.cli.listing import show

            show(history.briefs, sys.stdout)
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


def _compare(options: argparse.Namespace) -> int:
    from headway.cli.comparison import as_json, show
    from headway.cli.places import check_runs, run_folder
    from headway.errors import RunError
    from headway.run.facts import facts_or_damage
    from headway.run.history.compare import compare
    from headway.run.history.history import History

    check_runs(options.runs_dir)
    if len(options.names) < 2:
        raise RunError(f"{options.names[0]} is one run; name another one to compare it with")
    named = [facts_or_damage(run_folder(name, options.runs_dir)) for name in options.names]
    with History(options.runs_dir) as history:
        compared = compare(named, history)
    if options.json:
        print(as_json(compared))
    else:
        show(compared, sys.stdout)
    return 0


def _export(options: argparse.Namespace) -> int:
    from headway.cli.places import check_runs, run_folder
    from headway.run.facts import facts_or_damage
    from headway.run.history.history import History
    from headway.run.history.portable import portable

    check_runs(options.runs_dir)
    if options.names:
        known = [facts_or_damage(run_folder(name, options.runs_dir)) for name in options.names]
    else:
        with History(options.runs_dir) as history:
            known = history.facts
    # Of a damaged record no more can be told than that it is damaged.
    whole = [portable(each) for each in known if each.status != "damaged"]
    for each in known:
        if each.status == "damaged":
            print(f"left out: {each.name}: {'; '.join(each.warnings)}", file=sys.stderr)
    print(_exported(whole, options))
    return 0


def _exported(runs: "list[Portable]", options: argparse.Namespace) -> str:
    """What was done, in words."""
    from headway.run.history import tables, trackers
    from headway.run.text import amount

    if options.csv or options.json:
        (tables.write_csv if options.csv else tables.write_json)(runs, options.csv or options.json)
        return f"{options.csv or options.json}: {amount(len(runs), 'run')}"
    if options.mlflow:
        done, where = trackers.to_mlflow(runs, options.mlflow), f"{options.mlflow}"
    else:
        done, where = trackers.to_trackio(runs, options.trackio), f"trackio project {options.trackio}"
    known = f", {len(done.known)} there already" if done.known else ""
    return f"{where}: {amount(len(done.written), 'run')} written{known}"


def _plain(known: "RunFacts") -> dict[str, Any]:
    return asdict(known) | {"folder": str(known.folder)}


def _print_facts(known: "RunFacts") -> None:
    from rich.text import Text

    from headway.cli.console import page
    from headway.cli.summary import pairs
    from headway.cli.tables import fitting
    from headway.plan.section import format_bytes
    from headway.run.text import cores, count, peak, rate, when

    speeds = (rate(known.documents_per_second, "documents"), rate(known.tokens_per_second, "tokens"))
    rows = {
        "run": str(known.folder),
        "status": known.status,
        "started": when(known.started),
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
    from headway.run.text import when

    said = f"as recorded {when(known.recorded)}"
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


def _amount(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _whole_time(known: "RunFacts") -> str:
    from headway.run.text import duration

    if known.sessions is None:
        return "-"
    return f"{duration(known.seconds)} in {known.sessions} session{'s' if known.sessions != 1 else ''}, starts included"


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)


_DO: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "show": _show,
    "compare": _compare,
    "export": _export,
}
