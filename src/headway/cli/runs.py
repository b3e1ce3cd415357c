"""headway runs list | show RUN"""

import argparse
import json
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.run.facts import RunFacts


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, purpose in (("list", "all runs, one line each"), ("show", "one run")):
        action = verbs.add_parser(name, help=purpose)
        if name == "show":
            action.add_argument("name", metavar="RUN", help="a run folder, or its name")
        action.add_argument(
            "--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="where runs lie (default: runs)"
        )
        action.add_argument("--json", action="store_true", help="JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    """Print what the run folders tell."""
    return _list(options) if options.action == "list" else _show(options)


def _list(options: argparse.Namespace) -> int:
    from headway.run.facts import facts
    from headway.run.folders import RESOLVED, numbered

    runs = [facts(entry.folder) for entry in numbered(options.runs_dir) if (entry.folder / RESOLVED).is_file()]
    if options.json:
        print(json.dumps([_plain(known) for known in runs], ensure_ascii=False))
    elif runs:
        _print_table(runs)
    else:
        print(f"no runs in {options.runs_dir}; start one with: headway train PLAN")
    return 0


def _show(options: argparse.Namespace) -> int:
    from headway.run.facts import facts
    from headway.run.folders import find

    known = facts(find(options.name, options.runs_dir))
    if options.json:
        print(json.dumps(_plain(known), ensure_ascii=False))
        return 0
    _print_facts(known)
    return 0


def _plain(known: "RunFacts") -> dict[str, Any]:
    return asdict(known) | {"folder": str(known.folder)}


def _print_table(runs: "list[RunFacts]") -> None:
    from rich.table import Table

    from headway.cli.console import page
    from headway.run.text import duration, rate

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="cyan")
    for header in ("run", "status", "started"):
        table.add_column(header, no_wrap=True)
    for header in ("documents", "tokens", "rate", "time"):
        table.add_column(header, justify="right", no_wrap=True)
    for known in runs:
        amounts = (f"{known.documents:,}", f"{known.tokens:,}", rate(known.tokens_per_second, "tokens"))
        table.add_row(known.name, known.status, _when(known.started), *amounts, duration(known.seconds))
    page(sys.stdout).print(table)


def _print_facts(known: "RunFacts") -> None:
    from rich.table import Table

    from headway.cli.console import page
    from headway.plan.section import format_bytes
    from headway.run.text import duration, rate

    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "run": str(known.folder),
        "status": known.status,
        "started": _when(known.started),
        "documents": f"{known.documents:,}",
        "tokens": f"{known.tokens:,}",
        "rate": f"{rate(known.documents_per_second, 'documents')}, {rate(known.tokens_per_second, 'tokens')}",
        "time": f"{duration(known.seconds)} in {known.sessions} session{'s' if known.sessions != 1 else ''}",
        "workers": _or_dash(known.workers),
        "memory": "-" if known.memory is None else format_bytes(known.memory),
        "dataset": _or_dash(known.dataset),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    for name, value in ((known.totals or {}).get("learner") or {}).items():
        table.add_row(name, json.dumps(value, ensure_ascii=False))
    for warning in known.warnings:
        table.add_row("warning", warning)
    page(sys.stdout).print(table)


def _when(time: float | None) -> str:
    return "-" if time is None else datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M")


def _or_dash(value: object) -> str:
    return "-" if value is None else str(value)
