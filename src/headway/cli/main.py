"""The command line: one verb per file, each loaded only when it is called."""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from headway.errors import HeadwayError

_VERBS = {
    "train": "train what a plan describes; an interrupted run is continued",
    "data": "build datasets: text to tokens, once",
    "runs": "list runs, show one",
    "memory": "look into a pattern memory: statistics, patterns, checks, export",
    "plan": "check a plan, print its JSON schema",
}
_BROKEN_PIPE = 141


class Verb(Protocol):
    """What a verb's module offers."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Describe what the verb takes."""
        ...

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit code."""
        ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command: 0, or 2 with a message when something the user can change is wrong, or 1 for a bug of ours."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(given)
        sys.stdout.flush()
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _forget_output()
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        print("headway: interrupted; what was finished before is kept", file=sys.stderr)
        return 130
    except Exception:  # noqa: BLE001 - the outermost frame: whatever arrives here is shown in full
        traceback.print_exc()
        print(
            "headway: this is a bug in Headway, not in your plan; please report it with the lines above",
            file=sys.stderr,
        )
        return 1
    return code


def _run(given: list[str]) -> int:
    name = next((word for word in given if not word.startswith("-")), None)
    verb = _load(name) if name in _VERBS else None
    options = _parser(name, verb).parse_args(given)
    if verb is None:
        raise AssertionError("argparse accepts known verbs only")
    return verb.run(options)


def _load(name: str) -> Verb:
    return cast(Verb, import_module(f"headway.cli.{name}"))


def _parser(chosen: str | None, verb: Verb | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headway", description="Train fast, predictably, exactly once.")
    parser.add_argument("--version", action=_Version, help="print the version")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for name, purpose in _VERBS.items():
        of_verb = verbs.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name == chosen and verb is not None:
            verb.arguments(of_verb)
    return parser


class _Version(argparse.Action):
    """Reads the version only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from headway import __version__

        print(f"headway {__version__}")
        parser.exit()


def _forget_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush finds no broken pipe."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


if __name__ == "__main__":
    sys.exit(main())
