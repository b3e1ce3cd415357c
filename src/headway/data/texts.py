"""Where the texts of a plain text file end, when it holds more than one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from headway.data.config import DocumentEnd

# Two blank lines and more; they may hold spaces, such as the carriage returns of Windows.
_APART = re.compile(r"\n(?:[^\S\n]*\n){2,}+")
# A line after a blank line, or the first one.
_SET_OFF = re.compile(r"\n(?:[^\S\n]*\n)++([^\n]+)")
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*+")
_NUMBER = re.compile(r"[(\[]?[0-9]+[.:)\]]*")


def cut(text: str, texts: DocumentEnd) -> Iterator[tuple[int, str]]:
    """Each text of a file without the blank lines around it, and the number of the line it starts on."""
    starts = _after_blank_lines(text) if texts == "blank lines" else []
    starts = starts or _at_headings(text)
    line, counted = 1, 0
    for start, stop in pairwise([0, *starts, len(text)]):
        begin = _first_line(text, start, stop)
        if found := text[begin:stop].rstrip():
            line += text.count("\n", counted, begin)
            counted = begin
            yield line, found


def is_heading(line: str) -> bool:
    """Whether all letters of a line are capitals, as in roman numerals, or it is nothing but a number."""
    return line.isupper() or _NUMBER.fullmatch(line.strip()) is not None


def _after_blank_lines(text: str) -> list[int]:
    inside = _first_line(text, 0, len(text)), len(text.rstrip())
    return [match.end() for match in _APART.finditer(text, *inside)]


def _at_headings(text: str) -> list[int]:
    """Headings in a row, such as a title and a number, open one text together."""
    first = _first_line(text, 0, len(text))
    stop = text.find("\n", first)
    heading_end = stop if is_heading(text[first:stop]) else -1
    starts: list[int] = []
    for match in _SET_OFF.finditer(text, first):
        if is_heading(match[1]):
            if match.start() != heading_end:
                starts.append(match.start(1))
            heading_end = match.end()
    return starts


def _first_line(text: str, start: int, stop: int) -> int:
    """Where the first line starts that is not blank; indents belong to their lines."""
    match = _BLANK_LINES.match(text, start, stop)
    return match.end() if match else start
