"""What names a Dataset: a digest over everything its tokens depend on."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import xxhash

from headway.data.config import DataSection
from headway.data.manifest import MANIFEST, VERSION
from headway.data.sources import Source
from headway.durable import read_json
from headway.errors import DataError

# Raise it when the same input would give other files: a new layout of parts, another order, another rule.
RULES = 1
# Settings that are newer than the first Datasets take part with other values only, so that those keep their names.
_LATER = {"texts": "file"}


@dataclass(frozen=True, slots=True)
class Key:
    """The digest, and the parts it was made of, each readable by a person."""

    digest: str
    components: dict[str, Any]
    sources: list[dict[str, Any]]


def key_of(section: DataSection, sources: Sequence[Source], *, tokenizer: dict[str, str]) -> Key:
    """The key of what a build would make; where files lie and what they are called plays no part."""
    listed = [_listed(source) for source in sources]
    contents = [{name: value for name, value in entry.items() if name != "name"} for entry in listed]
    components: dict[str, Any] = {
        "format": f"{VERSION}.{RULES}",
        "sources": _digest(contents),
        "field": section.field,
        "tokenizer": f"{tokenizer['name']} ({tokenizer['digest'][:16]})",
        "split": section.split,
        "max_tokens": section.max_tokens,
        "documents": section.documents,
    }
    components |= {name: value for name, usual in _LATER.items() if (value := getattr(section, name)) != usual}
    return Key(_digest(components | {"tokenizer": tokenizer["digest"]}), components, listed)


def changed(cache: Path, key: Key) -> tuple[str, ...]:
    """Which components differ from the most similar Dataset in the cache; nothing when there is none."""
    found = [(_differences(manifest, key), _unlike(manifest, key).number) for manifest in _manifests(cache)]
    return min(found, key=lambda each: (len(each[0]), each[1]), default=((), 0))[0]


def changed_since(home: Path, key: Key) -> tuple[str, ...]:
    """Which components differ from those of the Dataset in a folder; nothing when it cannot be read."""
    return next((_differences(manifest, key) for manifest in _manifests(home.parent, home.name)), ())


def _listed(source: Source) -> dict[str, Any]:
    """One source; without a digest (a Hugging Face data set) its address has to stand for its content."""
    content = source.digest if source.digest is not None else source.location
    kind = source.format if source.compression is None else f"{source.format}.{source.compression}"
    return {"name": source.name, "format": kind, "bytes": source.bytes, "content": content}


def _digest(value: object) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(value, sort_keys=True).encode())


def _manifests(cache: Path, name: str = "*") -> list[dict[str, Any]]:
    """The manifests in a cache; one that cannot be read is no candidate, opening it says why."""
    found: list[dict[str, Any]] = []
    for path in sorted(cache.glob(f"{name}/{MANIFEST}")):
        try:
            value = read_json(path)
        except DataError:
            continue
        if isinstance(value, dict) and isinstance(value.get("components"), dict) and not path.parent.suffix:
            found.append(value)
    return found


def _differences(manifest: dict[str, Any], key: Key) -> tuple[str, ...]:
    lines: list[str] = []
    for name in dict.fromkeys((*key.components, *_LATER)):
        old, new = (every.get(name, _LATER.get(name)) for every in (manifest["components"], key.components))
        if old != new:
            lines.append(f"{name} changed: {_change(name, manifest, key) or f'{_shown(old)} -> {_shown(new)}'}")
    return tuple(lines)


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)


def _change(name: str, manifest: dict[str, Any], key: Key) -> str | None:
    if name != "sources":
        return None
    unlike = _unlike(manifest, key)
    altered, added, removed = unlike.altered, unlike.added, unlike.removed
    more = len(altered) - 3
    pieces = [
        (altered, f"other content in {', '.join(altered[:3])}{f' and {more} more' if more > 0 else ''}"),
        (added, f"{len(added)} added"),
        (removed, f"{len(removed)} removed"),
    ]
    return ", ".join(text for names, text in pieces if names) or "another order"


@dataclass(frozen=True, slots=True)
class _Unlike:
    """Names of sources that differ."""

    altered: list[str]
    added: list[str]
    removed: list[str]

    @property
    def number(self) -> int:
        return len(self.altered) + len(self.added) + len(self.removed)


def _unlike(manifest: dict[str, Any], key: Key) -> _Unlike:
    """What became of the sources; one is known again by its content, then its name, then its name without folders."""
    old, new, altered = list(manifest["sources"]), list(key.sources), list[str]()
    for known_by in (_content, _name, _last_name):
        twins: defaultdict[object, list[dict[str, Any]]] = defaultdict(list)
        for entry in old:
            twins[known_by(entry)].append(entry)
        left: list[dict[str, Any]] = []
        for entry in new:
            if not (alike := twins[known_by(entry)]):
                left.append(entry)
                continue
            alike.pop()
            if known_by is not _content:
                altered.append(entry["name"])
        old, new = [entry for alike in twins.values() for entry in alike], left
    return _Unlike(altered, [entry["name"] for entry in new], [entry["name"] for entry in old])


def _content(entry: dict[str, Any]) -> object:
    return entry["format"], entry["bytes"], entry["content"]


def _name(entry: dict[str, Any]) -> object:
    return entry["name"]


def _last_name(entry: dict[str, Any]) -> object:
    return PurePath(entry["name"]).name
