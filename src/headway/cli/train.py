"""headway train PLAN"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.run.choose import Mode
    from headway.run.result import RunResult

_RUNS, _DATASETS = Path("runs"), Path("datasets")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    parser.add_argument("plan", type=Path, metavar="PLAN", help="a plan file, .toml or .json")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes that learn at once (default: the plan's, or one per core)"
    )
    parser.add_argument("--runs-dir", type=Path, default=_RUNS, metavar="DIR", help="where runs lie (default: runs)")
    parser.add_argument(
        "--datasets-dir",
        type=Path,
        default=_DATASETS,
        metavar="DIR",
        help="where datasets lie (default: datasets)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="overrides",
        metavar="KEY=VALUE",
        help="change the plan: learner.widths=[5,7,9]",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="measure closely: ten looks a second instead of one, like --set run.profile=full",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--resume",
        dest="mode",
        action="store_const",
        const="resume",
        help="continue the newest run; an error if there is none",
    )
    mode.add_argument(
        "--new", dest="mode", action="store_const", const="new", help="start a new run, whatever is there"
    )
    parser.set_defaults(mode="auto")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="only errors and the last line")
    shown.add_argument("--json", action="store_true", help="events as JSON lines, nothing else")


def run(options: argparse.Namespace) -> int:
    """Train, showing progress; 128 and the signal's number when one stopped it."""
    from headway.cli.console import Display, display
    from headway.cli.output import OutputError
    from headway.cli.places import check_plan
    from headway.run.train import train

    check_plan(options.plan)
    shown: Display = display(quiet=options.quiet, json=options.json, stream=sys.stdout)
    with shown:
        result = train(
            options.plan,
            overrides=_overrides(options),
            runs_dir=options.runs_dir,
            datasets_dir=options.datasets_dir,
            mode=_mode(options),
            listeners=shown.listeners,
        )
    code = 0 if result.signal is None or result.status == "finished" else 128 + result.signal
    try:
        _report(result, options)
    except (BrokenPipeError, OutputError):
        # A terminal that is closed takes no summary; that it sent a signal says more.
        if code == 0:
            raise
    return code


def _overrides(options: argparse.Namespace) -> list[str]:
    workers = [] if options.workers is None else [f"workers={options.workers}"]
    profile = ['run.profile="full"'] if options.profile else []
    return [*options.overrides, *workers, *profile]


def _mode(options: argparse.Namespace) -> "Mode":
    return options.mode


def _report(result: "RunResult", options: argparse.Namespace) -> None:
    from headway.cli.summary import as_json, last_line, show

    if options.json:
        print(as_json(result))
    elif options.quiet:
        print(last_line(result))
    else:
        show(result, sys.stdout, again=_again(options))


def _again(options: argparse.Namespace) -> list[str]:
    """The words of the command that continues this one; neither --new nor --resume, which a run needs once."""
    words = ["headway", "train", str(options.plan)]
    for name, default in (("workers", None), ("runs_dir", _RUNS), ("datasets_dir", _DATASETS)):
        value = getattr(options, name)
        if value != default:
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--profile"] if options.profile else []
    return [*words, *(word for change in options.overrides for word in ("--set", change))]
