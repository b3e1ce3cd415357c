"""What a record of a JSON file gives: a text, or the reason why not."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from headway.errors import DataError

_NAMES: dict[type, str] = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def reason(record: object, field: str) -> str:
    """Why a record without usable text is skipped."""
    if isinstance(record, dict) and field not in record:
        return f"no field {field!r}"
    value = value_of(record, field)
    if value == "":
        return "empty text"
    return f"field {field!r} is {'null' if value is None else _NAMES[type(value)]}, not text"


def value_of(record: object, field: str) -> object:
    """The field of an object, lines joined to their text; any other record is its own value."""
    if not isinstance(record, dict):
        return record
    value = record.get(field)
    return joined(value) if isinstance(value, list) else value


def joined(lines: list[Any]) -> object:
    """The text of a list of lines; a list of anything else is itself."""
    return "\n".join(lines) if all(isinstance(line, str) for line in lines) else lines


def checked_record(record: object, *, place: str) -> None:
    """Refuse a record that is neither an object nor a string."""
    if not isinstance(record, dict | str):
        kind = "null" if record is None else _NAMES[type(record)]
        hint = "; a file that is one JSON array must be named .json" if isinstance(record, list) else ""
        raise DataError(f"{place}: the record is {kind}; it must be an object or a string{hint}")


def checked_text(text: str, *, place: str) -> str:
    """Refuse half a surrogate pair, which JSON can write as an escape and no UTF-8 can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as cause:
        escape = json.dumps(text[cause.start])
        raise DataError(f"{place}: the text holds half a surrogate pair ({escape}); remove it") from cause
    return text


class Unusable:
    """Remembers the fields of records without text, for the one message when no record has any."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._fields: dict[str, None] = {}
        self.records = 0
        self.found = False

    def add(self, record: Any) -> str:
        """Count one record without usable text and say why; an empty text shows that the field is right."""
        self.records += 1
        value = value_of(record, self._field)
        self.found = self.found or value == ""
        if isinstance(record, dict) and len(self._fields) < 100:
            self._fields |= dict.fromkeys(name for name in record if isinstance(value_of(record, name), str))
        return reason(record, self._field)

    def error(self, place: str) -> DataError:
        """Said when no record of a source has text in the field."""
        return no_field(place, self._field, self._fields, holder="record")


def no_field(place: str, field: str, names: Iterable[str], *, holder: str) -> DataError:
    """Nothing holds the field; the message lists what there is instead."""
    there = list(names)
    close = get_close_matches(field, there, n=1, cutoff=0.5) or [name for name in there if name == "lines"]
    listed = f"fields with text: {', '.join(there[:12])}" if holder == "record" else f"columns: {', '.join(there[:12])}"
    hint = f" (did you mean {close[0]}?)" if close else ""
    subject = "no record has text in the field" if holder == "record" else "there is no column"
    if not there:
        return DataError(f"{place}: {subject} {field!r}, nor in any other; check that this is the right file")
    return DataError(f"{place}: {subject} {field!r}; {listed}; set data.field to one of them{hint}")
