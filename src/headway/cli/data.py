"""headway data build SOURCES"""

import argparse
import json
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.data.dataset import Dataset

# As in a plan; written out here so that --help needs neither numpy nor pydantic.
_SPLITS = ("whole", "simple", "article", "book")
_ENDS = ("file", "blank lines", "headings")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = verbs.add_parser("build", help="turn text files into a dataset, or find the one that was built before")
    build.add_argument(
        "sources", nargs="+", metavar="SOURCES", help="files, folders, globs, or hf://NAME[/CONFIG]?split=train"
    )
    build.add_argument(
        "--tokenizer", default="gpt2", help="gpt2, a tokenizer.json, tiktoken:NAME, words, words:REGEX, verse or bytes"
    )
    build.add_argument(
        "--texts",
        choices=_ENDS,
        default="file",
        help="where a text of a .txt or .md file ends (default: with the file)",
    )
    build.add_argument(
        "--split", choices=_SPLITS, default="whole", help="how a document is cut into segments (default: not at all)"
    )
    build.add_argument("--field", default="text", help="the key or column that holds a document's text (default: text)")
    build.add_argument("--max-tokens", type=int, metavar="N", help="tokens kept of each segment (default: all)")
    build.add_argument("--documents", type=int, metavar="N", help="only the first N documents (default: all)")
    build.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    build.add_argument(
        "--datasets-dir",
        type=Path,
        default=Path("datasets"),
        metavar="DIR",
        help="where datasets lie (default: datasets)",
    )
    shown = build.add_mutually_exclusive_group()
    shown.add_argument("--quiet", action="store_true", help="only errors and the last line")
    shown.add_argument("--json", action="store_true", help="events as JSON lines, nothing else")


def run(options: argparse.Namespace) -> int:
    """Build, showing progress; 130 or 143 when a signal stopped it."""
    from headway.cli.console import display
    from headway.run.building import build_dataset
    from headway.run.stop import Stop
    from headway.run.team import means

    with _as_typed():
        section = _section(options)
        began = time.perf_counter()
        shown = display(quiet=options.quiet, json=options.json, stream=sys.stdout)
        with shown, Stop() as stop:
            dataset = build_dataset(
                section,
                means(options.workers, None),
                folder=Path.cwd(),
                cache=options.datasets_dir,
                listeners=shown.listeners,
                stop=stop,
            )
    _report(dataset, options, time.perf_counter() - began)
    return 0


_OPTIONS = ("texts", "tokenizer", "split", "field", "max_tokens", "documents")


@contextmanager
def _as_typed() -> Generator[None]:
    """Errors about settings of a plan, in the words of the arguments that were given instead."""
    from headway.errors import DataError, PlanError, TokenizerError

    try:
        yield
    except PlanError as cause:
        raise PlanError(cause.where, [_in_arguments(problem) for problem in cause.problems]) from cause
    except TokenizerError as cause:
        raise TokenizerError(_in_arguments(str(cause))) from cause
    except DataError as cause:
        raise DataError(_in_arguments(str(cause))) from cause


def _in_arguments(text: str) -> str:
    names = {"data.sources": "SOURCES"} | {f"data.{name}": f"--{name.replace('_', '-')}" for name in _OPTIONS}
    options = re.sub(r"(?m)^workers\b", "--workers", text)
    return re.sub(r"\bdata\.\w+", lambda found: names.get(found[0], found[0]), options)


def _section(options: argparse.Namespace) -> Any:
    """The `[data]` of a plan that says the same, validated like one; all it names is there."""
    from headway.plan.load import Origin, changed_plan
    from headway.run.train import check_here, look_in, plan_kinds

    data = {name: getattr(options, name) for name in ("sources", *_OPTIONS) if getattr(options, name) is not None}
    mapping = {"data": data, "learner": {"kind": "patterns"}}
    if options.workers is not None:
        mapping["workers"] = options.workers
    origin = Origin(Path.cwd(), "headway data build")
    plan = changed_plan(mapping, [], origin=origin, kinds=plan_kinds(), look=look_in(origin.folder))
    check_here(plan, where=origin.name)
    return plan.data


def _report(dataset: "Dataset", options: argparse.Namespace, seconds: float) -> None:
    values = _values(dataset) | {"seconds": seconds}
    if options.json:
        print(json.dumps({"event": "result", **values}, ensure_ascii=False))
    elif options.quiet:
        print(_line(values))
    else:
        _print(values)


def _values(dataset: "Dataset") -> dict[str, Any]:
    report = dataset.report
    return {
        "folder": str(dataset.folder),
        "key": dataset.key,
        "documents": dataset.documents,
        "tokens": dataset.tokens,
        "split": dataset.split,
        "tokenizer": dataset.tokenizer,
        "skipped": dataset.skipped,
        "found": None if report is None else report.reused,
        "changed": [] if report is None else list(report.changed),
        "engine": None if report is None else report.engine,
        "notes": [] if report is None else list(report.notes),
    }


def _line(values: dict[str, Any]) -> str:
    from headway.run.text import amount

    return f"{values['folder']}: {amount(values['documents'], 'document')}, {amount(values['tokens'], 'token')}"


def _print(values: dict[str, Any]) -> None:
    from headway.run.text import amount, duration

    print(_line(values))
    print(
        f"  tokenizer  {values['tokenizer'].get('name', '-')}" + (f" by {values['engine']}" if values["engine"] else "")
    )
    for reason, number in sorted(values["skipped"].items()):
        print(f"  skipped    {amount(number, 'document')}: {reason}")
    if values["found"]:
        print("  found      nothing had to be built")
    else:
        print(f"  built      in {duration(values['seconds'])}")
    for change in values["changed"]:
        print(f"  because    {change}")
    for note in values["notes"]:
        print(f"  note       {note}")
