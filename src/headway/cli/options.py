"""Options that several verbs take, checked in our words."""

import argparse
from pathlib import Path


def at_least_one(text: str) -> int:
    """How many of something; what argparse says otherwise is ours to word."""
    number = int(text) if text.isascii() and text.removeprefix("-").isdigit() else None
    if number is None or number < 1:
        raise argparse.ArgumentTypeError(f"{text} should be 1 or more")
    return number


def some_text(text: str) -> str:
    """A text with anything in it."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the text is blank; give some words")
    return text


def add_runs_dir(parser: argparse.ArgumentParser) -> None:
    """Where a run is looked for by its name."""
    parser.add_argument(
        "--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="where runs lie (default: runs)"
    )
