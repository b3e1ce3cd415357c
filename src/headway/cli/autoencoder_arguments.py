"""What the verb autoencoder takes."""

import argparse
from collections.abc import Callable
from pathlib import Path

from headway.cli.options import add_runs_dir, at_least_one, some_text

_ACTIONS = {
    "encode": "the codes of texts",
    "decode": "the text nearest to what codes hold",
    "generate": "new text",
    "evaluate": "how good it is on text that was held out, beside what a constant and a line reach",
    "rebuild": "texts beside what comes out of their codes alone",
    "curves": "a picture of how it became better",
}
_REBUILT = 5
# As in learners/autoencoder/generation.py, by the names there; written out here so that --help needs nothing of it.
CHOOSING: dict[str, tuple[type, str, str]] = {
    "length": (int, "N", "words at the most, line breaks included (default: 50)"),
    "temperature": (float, "T", "below 1 likely words become likelier; 0: always the likeliest (default: 0.8)"),
    "top_p": (float, "P", "draw from the likeliest words that together have this probability (default: 0.9)"),
    "repetition_penalty": (float, "X", "what scores of words already there are divided by (default: 1.1)"),
    "length_penalty": (float, "X", "what the score of the end is divided by (default: 1.0)"),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, purpose in _ACTIONS.items():
        action = verbs.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        action.add_argument("run", metavar="RUN", help="a run folder, or its name")
        _OPTIONS[name](action)
        add_runs_dir(action)
        if name != "curves":
            action.add_argument(
                "--which",
                choices=("best", "latest"),
                default="best",
                help="the model of the best evaluation, or of the last save (default: best)",
            )
        action.add_argument("--json", action="store_true", help="JSON instead of text")


def _texts_options(action: argparse.ArgumentParser) -> None:
    action.add_argument("files", nargs="*", metavar="FILE", help="files, folders or globs that hold texts")
    action.add_argument(
        "--text", type=some_text, action="append", default=[], metavar="TEXT", help="a text; as often as given"
    )
    _field_option(action)


def _field_option(action: argparse.ArgumentParser) -> None:
    action.add_argument("--field", metavar="NAME", help="the key or column that holds a text (default: the run's)")


def _encode_options(action: argparse.ArgumentParser) -> None:
    _texts_options(action)
    action.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="codes.npy: the numbers alone; codes.jsonl: with text, place and length (default: the same to the screen)",
    )


def _decode_options(action: argparse.ArgumentParser) -> None:
    action.add_argument("codes", type=Path, metavar="CODES", help="a .npy or .jsonl of codes")
    action.add_argument(
        "--length",
        type=at_least_one,
        metavar="N",
        help="tokens of each text (default: what the .jsonl says, for a .npy the longest window)",
    )


def _generate_options(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--seed-text", type=some_text, metavar="TEXT", help="write from the code of this text (default: a drawn code)"
    )
    for name, (kind, sign, what) in CHOOSING.items():
        option = f"--{name.replace('_', '-')}"
        action.add_argument(option, type=kind, default=argparse.SUPPRESS, metavar=sign, help=what)
    action.add_argument(
        "--top-k",
        type=_number_or_all,
        default=argparse.SUPPRESS,
        metavar="N",
        help='draw from so many of the likeliest words, or from "all" (default: 50)',
    )
    action.add_argument("--number", type=at_least_one, default=1, metavar="N", help="how many texts (default: 1)")
    action.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed, the same text (default: 0)")


def _evaluate_options(action: argparse.ArgumentParser) -> None:
    what = action.add_mutually_exclusive_group()
    what.add_argument(
        "--side",
        choices=("valid", "test"),
        default="valid",
        help="the side that was looked at while training, or the one that nothing looked at (default: valid)",
    )
    what.add_argument("--data", action="append", metavar="FILE", help="texts of a file instead; as often as given")
    _field_option(action)
    action.add_argument("--output", type=Path, metavar="FILE", help="write the report as JSON, too")


def _rebuild_options(action: argparse.ArgumentParser) -> None:
    _texts_options(action)
    action.add_argument(
        "--number",
        type=at_least_one,
        default=_REBUILT,
        metavar="N",
        help=f"only the first N windows (default: {_REBUILT})",
    )


def _curves_options(action: argparse.ArgumentParser) -> None:
    action.add_argument("others", nargs="*", metavar="OTHER", help="runs to compare with")
    action.add_argument("--output", required=True, type=Path, metavar="FILE", help="a .png or .svg")


_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "encode": _encode_options,
    "decode": _decode_options,
    "generate": _generate_options,
    "evaluate": _evaluate_options,
    "rebuild": _rebuild_options,
    "curves": _curves_options,
}


def _number_or_all(text: str) -> int | None:
    return None if text == "all" else at_least_one(text)
