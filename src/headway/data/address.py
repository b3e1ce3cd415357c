"""Addresses of Hugging Face data sets, read without `datasets`."""

from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import parse_qsl, unquote

from headway.errors import DataError

HUB = "hf://"
_KEYS = ("split", "field", "config", "revision")


@dataclass(frozen=True, slots=True)
class Address:
    """Which data set, and which of its rows and columns."""

    name: str
    """`owner/name`, an old single name, or the absolute path of a folder that `datasets` can load."""
    config: str | None = None
    split: str = "train"
    field: str | None = None
    """None: the plan's field."""
    revision: str | None = None


def parse_address(text: str) -> Address:
    """Read hf://OWNER/NAME[/CONFIG]?split=train&field=text&config=...&revision=..., or hf:///absolute/folder?..."""
    body, _, query = text.removeprefix(HUB).partition("?")
    given = _query(text, query)
    name, config = _name(text, unquote(body))
    if config is not None and "config" in given:
        raise DataError(f"{text} names its configuration twice, {config} and {given['config']}; keep one")
    return Address(
        name=name,
        config=given.get("config", config),
        split=given.get("split", "train"),
        field=given.get("field"),
        revision=given.get("revision"),
    )


def _query(text: str, query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    for key, value in pairs:
        if key not in _KEYS:
            close = get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(_KEYS)}"
            raise DataError(f"{text} has an unknown key {key!r}; {hint}")
        if not value:
            raise DataError(f"{text} gives no value for {key}; write {key}=VALUE or leave it out")
    return dict(pairs)


def _name(text: str, body: str) -> tuple[str, str | None]:
    """Name and configuration: a third piece is the configuration, since two are an owner and a name."""
    if body.startswith("/"):
        return body, None
    pieces = body.split("/")
    if len(pieces) > 3 or not all(pieces):
        raise DataError(f"{text} is not a data set; write hf://OWNER/NAME[/CONFIG]?split=train&field=text")
    return "/".join(pieces[:2]), pieces[2] if len(pieces) == 3 else None
