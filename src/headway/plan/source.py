"""From a plan file and `--set` texts to a plain mapping, before anything is known about its keys."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from headway.errors import PlanError


def read_mapping(path: Path) -> dict[str, Any]:
    """The content of a TOML or JSON file; a PlanError when there is none."""
    if path.suffix not in (".toml", ".json"):
        raise PlanError(str(path), [f"{path.suffix or 'no suffix'} is not a plan; write a .toml or a .json file"])
    try:
        text = path.read_bytes().decode("utf-8-sig")
        value = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text, object_pairs_hook=_unique)
    except FileNotFoundError as cause:
        raise PlanError(str(path), [f"there is no such file{_nearby(path)}"]) from cause
    except IsADirectoryError as cause:
        raise PlanError(str(path), [f"is a folder; name the plan file in it{_nearby(path / 'plan')}"]) from cause
    except OSError as cause:
        raise PlanError(str(path), [f"cannot be read: {cause.strerror}"]) from cause
    except (ValueError, RecursionError) as cause:
        raise PlanError(str(path), [f"is not valid {path.suffix[1:].upper()}: {cause}"]) from cause
    if not isinstance(value, dict):
        raise PlanError(str(path), [f"holds {type(value).__name__}; a plan is an object with data and learner"])
    return value


def override(mapping: Mapping[str, Any], texts: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """A copy of a mapping with `section.key=value` texts applied, and what is wrong with those that cannot be."""
    result = _copy(mapping)
    return result, [problem for text in texts if (problem := _apply(result, text))]


def did_you_mean(given: str, known: Sequence[str]) -> str:
    """A hint to append to a message; empty when nothing is close."""
    close = get_close_matches(given, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _apply(mapping: dict[str, Any], text: str) -> str | None:
    dotted, equals, value = text.partition("=")
    keys = [key.strip() for key in dotted.split(".")]
    if not equals or not all(keys):
        return f"--set {text!r} is not KEY=VALUE; write for example run.epochs=2"
    table = mapping
    for depth, key in enumerate(keys[:-1], start=1):
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            return f"--set {text!r}: {'.'.join(keys[:depth])} is a value, not a table"
    table[keys[-1]] = _toml_value(value.strip())
    return None


def _toml_value(text: str) -> Any:
    """The TOML value of a text; what is none is a bare string."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _copy(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in mapping.items()}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON keeps the last of two equal keys without a word; TOML and we do not."""
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} is given twice")
    return dict(pairs)


def _nearby(path: Path) -> str:
    plans = sorted(file.name for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
    if not plans:
        return ""
    return did_you_mean(path.name, plans) or f"; the folder has {', '.join(plans[:5])}"
