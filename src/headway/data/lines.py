"""Reading JSON lines: the fast path of every large corpus."""

import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from headway.data.records import Unusable, checked_record, checked_text, joined, value_of
from headway.data.sources import Document, Part, Skipped, Source
from headway.data.streams import BLOCK, decoded, lines_before, open_source
from headway.errors import DataError

_BOM = b"\xef\xbb\xbf"
_BLANK = object()
# The fast parser reserves twelve times the length of what it parses.
_LONG = 16 << 20


def read_lines(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The records of the lines that begin inside the part; a line belongs to the part of its first byte."""
    name = part.source.name
    unusable = Unusable(field)
    texts = 0
    for index, (offset, record) in enumerate(_records(part, field)):
        text = record.get(field) if type(record) is dict else record
        if type(text) is list:
            text = joined(text)
        if type(text) is str and text:
            texts += 1
            yield Document(text, index, f"{name}:@{offset}")
        elif text is _BLANK:
            yield Skipped("blank line", index, f"{name}:@{offset}")
        else:
            yield Skipped(unusable.add(record), index, f"{name}:@{offset}")
    if unusable.records and not texts and not unusable.found and not _anywhere(part.source, field):
        raise unusable.error(name)


def _records(part: Part, field: str) -> Iterator[tuple[int, Any]]:
    """Byte offset and parsed value of each line."""
    source = part.source
    stop = part.stop if source.compression is None else sys.maxsize
    parse = orjson.loads
    with open_source(source) as file:
        offset = _first_line(file, part)
        while offset < stop and (line := file.readline()):
            try:
                record = (
                    parse(line) if len(line) < _LONG else _parsed_with_care(line, field, source=source, offset=offset)
                )
            except orjson.JSONDecodeError:
                record = _parsed_with_care(line, field, source=source, offset=offset)
            if type(record) is not dict and type(record) is not str and record is not _BLANK:
                checked_record(record, place=_place(source, offset))
            yield offset, record
            offset += len(line)


def _first_line(file: BinaryIO, part: Part) -> int:
    """Go to the first line that begins in the part; its offset, or at least `stop` when none does."""
    if part.start == 0:
        return 0
    offset = file.seek(part.start - 1)
    # In blocks, so that a part inside one enormous line does not load that line.
    while offset < part.stop and (piece := file.readline(min(BLOCK, part.stop - offset))):
        offset += len(piece)
        if piece.endswith(b"\n"):
            return offset
    return part.stop


def _anywhere(source: Source, field: str) -> bool:
    """Whether any record of the whole source has text in the field, even an empty one."""
    whole = Part(source, 0, source.bytes or 0, source.bytes)
    return any(isinstance(value_of(record, field), str) for _, record in _records(whole, field))


def _parsed_with_care(line: bytes, field: str, *, source: Source, offset: int) -> Any:
    """What the fast parser refuses: blank and long lines, a byte order mark, NaN; or the error with its place."""
    data = line.removeprefix(_BOM) if offset == 0 else line
    if not data.strip():
        return _BLANK
    text = decoded(data, source=source, offset=offset + len(line) - len(data))
    try:
        record = json.loads(text)
    except json.JSONDecodeError as cause:
        raise DataError(
            f"{_place(source, offset)}, column {cause.pos + 1}: invalid JSON ({cause.msg}); {_hint(source)}"
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise DataError(f"{_place(source, offset)}: unusable JSON ({cause}); repair or remove the line") from cause
    value = value_of(record, field)
    if isinstance(value, str):
        checked_text(value, place=_place(source, offset))
    return record


def _hint(source: Source) -> str:
    return f"repair or remove the line; if {source.name} is not one record a line, give it the suffix of its format"


def _place(source: Source, offset: int) -> str:
    return f"{source.name}, line {lines_before(source, offset) + 1}"
