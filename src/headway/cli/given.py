"""The texts that a command is given: those of files in any format that data may have, and those on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.cli.output import say
from headway.data.config import DocumentEnd
from headway.data.read import read_part
from headway.data.sources import Document, find_sources, split_sources
from headway.errors import DataError, RunError

ON_THE_LINE = "--text"


@dataclass(frozen=True, slots=True)
class Given:
    """A text, and where it is from."""

    text: str
    source: str
    """The file and the place in it, or `--text` and a number."""


def given_texts(files: Sequence[str], texts: Sequence[str], *, field: str, ends: DocumentEnd) -> list[Given]:
    """All of them, files first; records without text are counted aloud, and no text at all is a RunError."""
    try:
        found = _of_files(files, field, ends) if files else []
    except DataError as cause:
        raise DataError(_in_arguments(str(cause))) from cause
    found += [Given(text, f"{ON_THE_LINE} {number}") for number, text in enumerate(texts, start=1)]
    if not found:
        raise RunError('no text is given; name files that hold some, or give one: --text "so many words"')
    return found


def _in_arguments(text: str) -> str:
    """What is said about a plan's settings, in the words of the command line."""
    return text.replace("data.sources", "the names of the files").replace("data.field", "--field")


def _of_files(files: Sequence[str], field: str, ends: DocumentEnd) -> list[Given]:
    found: list[Given] = []
    skipped: Counter[str] = Counter()
    for part in split_sources(find_sources(files, folder=Path.cwd())):
        for record in read_part(part, field, texts=ends):
            if isinstance(record, Document):
                found.append(Given(record.text, record.source))
            else:
                skipped[record.reason] += 1
    for reason, number in sorted(skipped.items()):
        say(f"headway: {number:,} record{'s' if number != 1 else ''} skipped: {reason}")
    if not found:
        raise DataError(f"there is no text in {', '.join(files)}; look at the files, or at --field")
    return found
