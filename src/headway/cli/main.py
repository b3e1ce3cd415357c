"""The command line: one verb per file, each loaded only when it is called."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from headway.cli.output import UNWRITABLE, Output, OutputError, checked_output, say
from headway.errors import HeadwayError
from headway.run.stop import orderly

_VERBS = {
    "train": "train what a plan describes; an interrupted run is continued",
    "data": "build datasets: text to tokens, once",
    "runs": "list runs, show, compare and export them",
    "memory": "look into a pattern memory: statistics, patterns, checks, export",
    "autoencoder": "use a trained autoencoder: codes, new text, how good it is",
    "vectors": "convert word vectors, once",
    "machine": "what is here, and what it was measured to do",
    "profile": "run any command and measure what its processes use",
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
    """Run one command; its exit code.

    0, or 2 with a message when something the user can change is wrong, 74 when its output could not be written, 128
    and the signal's number when one stopped it, 1 for a bug of ours.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with checked_output() as output:
        try:
            with orderly():
                code = _run(given)
        except HeadwayError as error:
            say(f"headway: {error}")
            code = 2
        except (BrokenPipeError, OutputError) as error:
            return _unwritten(output, error, code=0)
        except KeyboardInterrupt as interrupt:
            say(f"headway: interrupted; {str(interrupt) or 'what was finished before is kept'}")
            code = 130
        except SystemExit as end:
            # From argparse and from signals, which both give numbers.
            code = end.code if isinstance(end.code, int) else 0
        except Exception:  # noqa: BLE001 - the outermost frame: whatever arrives here is shown in full
            say(traceback.format_exc())
            say("headway: this is a bug in Headway, not in your plan; please report it with the lines above")
            code = 1
        return _flushed(output, code)


def _flushed(output: Output, code: int) -> int:
    """The exit code once all that was said is written."""
    try:
        output.flush()
    except (BrokenPipeError, OutputError) as error:
        return _unwritten(output, error, code=code)
    return code


def _unwritten(output: Output, error: BrokenPipeError | OutputError, *, code: int) -> int:
    """The exit code of a command that could not say all it had to; one that failed before keeps its own."""
    output.forget()
    if isinstance(error, BrokenPipeError):
        return code or _BROKEN_PIPE
    say(f"headway: cannot write to standard output ({error.strerror}); what the command did is kept, not all was said")
    return code or UNWRITABLE


def _run(given: list[str]) -> int:
    name = next((word for word in given if not word.startswith("-")), None)
    verb = _load(name) if name in _VERBS else None
    options = _parser(name, verb).parse_args(given)
    if verb is None:
        raise AssertionError("argparse accepts known verbs only")
    _check_here()
    return verb.run(options)


def _check_here() -> None:
    try:
        Path.cwd()
    except OSError as cause:
        raise HeadwayError(f"the working directory is not there any more ({cause.strerror}); cd to another") from cause


def _load(name: str) -> Verb:
    return cast(Verb, import_module(f"headway.cli.{name}"))


def _parser(chosen: str | None, verb: Verb | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headway", description="Train fast, predictably, exactly once.")
    parser.add_argument("--version", action=_Version, help="print the version")
    # Long enough for argparse to put every verb on the line of what it does.
    verbs = parser.add_subparsers(metavar="VERB [OPTIONS]", required=True)
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


if __name__ == "__main__":
    sys.exit(main())
