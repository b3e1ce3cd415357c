"""Reading a .json file, an array or a single record, without holding the whole file."""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from headway.data.records import Unusable, checked_record, checked_text, value_of
from headway.data.sources import Document, Part, Skipped, Source
from headway.data.streams import BLOCK, open_source, refused
from headway.errors import DataError

_SPACE = " \t\n\r"
# A value cut off by the end of the window fails at most this far before it, unless it is a string.
_TORN = 16


def read_array(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The items of an array, or the one record of the file."""
    name = part.source.name
    unusable = Unusable(field)
    texts = 0
    for index, record in enumerate(_items(part.source)):
        place = f"{name}:item {index}"
        checked_record(record, place=place)
        text = value_of(record, field)
        if isinstance(text, str) and text:
            texts += 1
            yield Document(checked_text(text, place=place), index, place)
        else:
            yield Skipped(unusable.add(record), index, place)
    if unusable.records and not texts and not unusable.found:
        raise unusable.error(name)


def _items(source: Source) -> Iterator[Any]:
    with open_source(source) as file:
        window = Window(file, source=source)
        if window.peek() == "[":
            yield from _array(window)
        else:
            yield window.value()
        if window.peek():
            raise window.error(
                "more follows after the value; one record a line is .jsonl, several records are an array"
            )


def _array(window: "Window") -> Iterator[Any]:
    window.take()
    if window.peek() == "]":
        window.take()
        return
    while True:
        yield window.value()
        mark = window.peek()
        if mark not in ("]", ","):
            raise window.error("expected ',' or ']' after an item" if mark else "the file ends inside its array")
        window.take()
        if mark == "]":
            return


class Window:
    """The part of a JSON text that is being parsed; grows until the next value is complete."""

    def __init__(self, file: BinaryIO, *, source: Source) -> None:
        self._file = file
        self._source = source
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._parse = json.JSONDecoder().raw_decode
        self._read = 0
        self._text = ""
        self._at = 0
        self._line = 1
        self._before = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is not white space, without taking it; empty at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._grow()

    def take(self) -> None:
        """Go past the character that `peek` showed."""
        self._at += 1

    def value(self) -> Any:
        """The next value."""
        if not self.peek():
            raise self.error("a value is missing: the file ends before it")
        while True:
            try:
                value, self._at = self._parse(self._text, self._at)
            except json.JSONDecodeError as cause:
                if self._ended or not self._torn(cause):
                    self._at = cause.pos
                    raise self.error(f"invalid JSON ({cause.msg})") from cause
            except (ValueError, RecursionError) as cause:
                raise self.error(f"unusable JSON ({cause})") from cause
            else:
                return value
            self._grow()

    def error(self, wrong: str) -> DataError:
        """What is wrong at the present place, by line and column."""
        line, before = self._place()
        return DataError(f"{self._source.name}, line {line}, column {before + 1}: {wrong}; repair the file")

    def _place(self) -> tuple[int, int]:
        """The present line, and the characters before the present place in it."""
        breaks = self._text.count("\n", 0, self._at)
        if breaks == 0:
            return self._line, self._before + self._at
        return self._line + breaks, self._at - self._text.rindex("\n", 0, self._at) - 1

    def _torn(self, cause: json.JSONDecodeError) -> bool:
        """Whether the value may be whole once more is read."""
        return cause.msg.startswith("Unterminated string") or cause.pos >= len(self._text) - _TORN

    def _grow(self) -> None:
        """Drop what was parsed and at least double the rest, so that a huge value is tried few times."""
        self._line, self._before = self._place()
        rest = self._text[self._at :]
        block = self._file.read(max(BLOCK, len(rest)))
        self._read += len(block)
        self._ended = not block
        try:
            self._text = rest + self._decode.decode(block, final=self._ended)
        except UnicodeDecodeError as cause:
            offset = self._read - len(cause.object)
            raise refused(self._source, cause.object, offset, cause.start) from cause
        self._at = 0
