"""headway machine [describe | bench | compare A B]"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.machine.compare import Comparison
    from headway.run.bench import Benched

_ACTIONS = {
    "describe": "what is here, and what this process may use of it (the default)",
    "bench": "measure what it can do, once: in 90 seconds at most; later calls show what is remembered",
    "compare": "say which figures of two results differ: a result is what bench --json writes",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    _add_options(parser, default=False)
    verbs = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, purpose in _ACTIONS.items():
        action = verbs.add_parser(name, help=purpose)
        if name == "compare":
            action.add_argument("first", type=Path, metavar="A", help="a result")
            action.add_argument("second", type=Path, metavar="B", help="another one")
        if name == "bench":
            _add_bench(action)
        # What the verb was given before its action stays.
        _add_options(action, default=argparse.SUPPRESS)


def _add_options(parser: argparse.ArgumentParser, *, default: Any) -> None:
    parser.add_argument("--json", action="store_true", default=default, help="JSON instead of text")
    parser.add_argument(
        "--folder",
        type=Path,
        default=default or Path(),
        metavar="DIR",
        help="a folder on the disk that will be used (default: here)",
    )


def _add_bench(action: argparse.ArgumentParser) -> None:
    action.add_argument("--again", action="store_true", help="measure though there is a remembered result, and compare")
    action.add_argument("--service", metavar="URL", help="also the round trip to a service, at this address")
    action.add_argument(
        "--cache-dir", type=Path, metavar="DIR", help="where results are remembered (default: the user's cache)"
    )


def run(options: argparse.Namespace) -> int:
    """Describe, measure or compare."""
    return {"bench": _bench, "compare": _compare}.get(options.action, _describe)(options)


def _describe(options: argparse.Namespace) -> int:
    from headway.machine.hardware import hardware

    here = hardware((options.folder,))
    if options.json:
        _print_json(here.to_json())
        return 0
    from headway.cli.console import page
    from headway.cli.machine_text import described
    from headway.cli.summary import pairs

    page(sys.stdout).print(pairs(described(here)))
    return 0


def _bench(options: argparse.Namespace) -> int:
    from headway.run.bench import BenchSettings, bench_machine

    settings = BenchSettings(
        folder=options.folder, cache=options.cache_dir, again=options.again, service_url=options.service
    )
    done = bench_machine(settings, progress=None if options.json else _tell)
    against = None if done.before is None else _compared(done.before.figures, done.result.figures)
    if options.json:
        known = {"remembered": done.remembered, "path": str(done.path)}
        compared = None if against is None else against.to_json()
        _print_json(done.result.to_json() | known | {"compared_with_before": compared})
        return 0
    _show(done, against)
    return 0


def _tell(done: int, rounds: int) -> None:
    from headway.cli.output import say

    if not done:
        say(f"headway: measuring in {rounds} rounds, 90 seconds at most; leave the machine alone meanwhile")


def _show(done: "Benched", against: "Comparison | None") -> None:
    from headway.cli.console import page
    from headway.cli.machine_text import compared, figures, headline
    from headway.cli.tables import fitting

    console = page(sys.stdout)
    console.print(headline(done), soft_wrap=True)
    console.print()
    console.print(fitting(console, figures(done.result)))
    if against is not None:
        console.print()
        console.print(fitting(console, compared(against)))


def _compare(options: argparse.Namespace) -> int:
    first, second = (_result(path) for path in (options.first, options.second))
    comparison = _compared(first.figures, second.figures)
    if options.json:
        _print_json(comparison.to_json())
        return 0
    from headway.cli.console import page
    from headway.cli.machine_text import compared
    from headway.cli.tables import fitting

    console = page(sys.stdout)
    console.print(fitting(console, compared(comparison)))
    return 0


def _result(path: Path) -> Any:
    from headway.durable import read_json
    from headway.errors import DataError
    from headway.machine.result import result_from

    try:
        return result_from(read_json(path), str(path))
    except OSError as cause:
        raise DataError(f"cannot read {path} ({cause.strerror}); name what bench --json has written") from cause


def _compared(first: Any, second: Any) -> "Comparison":
    from headway.machine.compare import compare

    return compare(first, second)


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False))
