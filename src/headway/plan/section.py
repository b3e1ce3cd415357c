"""What a section of a plan is made of: plain frozen dataclasses whose fields say how they may change.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class RunSection:
        save_every: Annotated[Duration, FREE] = 5.0
        \"\"\"At most this much work is repeated after a crash.\"\"\"

A field without a marker is FIXED. The string under a field is its description in the JSON schema.
"""

import dataclasses
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge, MinLen


@dataclass(frozen=True, slots=True)
class Change:
    """What a resumed run may do with a field: change it freely, with a warning (careful), or not at all (fixed).

    A list that is growing may get more items at its end, or lose some there, with a warning: what was begun stays.
    """

    kind: Literal["free", "careful", "growing", "fixed"]


FREE = Change("free")
CAREFUL = Change("careful")
GROWING = Change("growing")
FIXED = Change("fixed")

_BYTES = {"": Decimal(1), "b": Decimal(1)} | {
    prefix + suffix: Decimal(base**power)
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}
_SECONDS = {"": Decimal(1), "ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)


def parse_bytes(text: str) -> int:
    """The bytes in "1GiB", "512 MB" or "1000"; a ValueError says how to write it."""
    return int(_amount(text, _BYTES, "a size; write it like '512MB' (10^6) or '1GiB' (2^30)"))


def parse_duration(text: str) -> float:
    """The seconds in "500ms", "5s", "2m", "1h" or "5"; a ValueError says how to write it."""
    return float(_amount(text, _SECONDS, "a duration; write it like '500ms', '5s', '2m' or '1h'"))


def format_bytes(size: int) -> str:
    """A size for people, in binary units: "512 B", "1.5 GiB"."""
    if size < 1024:
        return f"{size} B"
    power = min(int(math.log2(size)) // 10, 4)
    return f"{size / 1024**power:.3g} {'KMGT'[power - 1]}iB"


def _amount(text: str, units: dict[str, Decimal], expected: str) -> Decimal:
    match = _AMOUNT.fullmatch(text)
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"{text!r} is not {expected}")
    return Decimal(match[1]) * unit


@dataclass(frozen=True, slots=True)
class Parsed:
    """Marks a field that also accepts a string, which `parse` turns into the value."""

    parse: Callable[[str], object]
    examples: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self._accept, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string", "examples": list(self.examples)}]}

    def _accept(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        # A JSON array arrives as a list, which strict validation would refuse for a tuple.
        return tuple(value) if isinstance(value, list) else value


ByteSize = Annotated[int, Ge(1), Parsed(parse_bytes, ("512MB", "1GiB"))]
Duration = Annotated[float, Ge(0), Parsed(parse_duration, ("5s", "2m", "1h"))]
Strings = Annotated[tuple[str, ...], MinLen(1), Parsed(lambda text: (text,), ("one string",))]


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a section, as the rest of the plan needs to know it."""

    name: str
    hint: Any
    change: Change
    required: bool
    default: object
    section: type | None


def settings(section: type) -> dict[str, Setting]:
    """The fields of a section by name, in the order of the class."""
    hints = get_type_hints(section, include_extras=True)
    return {field.name: _setting(field, hints[field.name]) for field in dataclasses.fields(section)}


def _setting(field: "dataclasses.Field[Any]", hint: Any) -> Setting:
    made = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
    required = made is dataclasses.MISSING
    changes = [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Change)]
    return Setting(
        name=field.name,
        hint=hint,
        change=changes[0] if changes else FIXED,
        required=required,
        default=None if required else made,
        section=_section_in(hint),
    )


def _section_in(hint: Any) -> type | None:
    """The dataclass a field holds, also under Annotated or an optional; None for a plain value."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    if get_origin(hint) in (tuple, list, dict):
        return None
    return next((found for part in get_args(hint) if (found := _section_in(part))), None)
