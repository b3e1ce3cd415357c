"""What names a Dataset: a digest over everything its tokens depend on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from headway.data.config import DataSection
from headway.data.manifest import MANIFEST, VERSION
from headway.data.sources import Source
from headway.durable import read_json
from headway.errors import DataError

# Raise it when the same input would give other files: a new layout of parts, another order, another rule.
RULES = 1


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
    return Key(_digest(components | {"tokenizer": tokenizer["digest"]}), components, listed)


def changed(cache: Path, key: Key) -> tuple[str, ...]:
    """Which components differ from the most similar Dataset in the cache; nothing when there is none."""
    candidates = [_differences(manifest, key) for manifest in _manifests(cache)]
    return min(candidates, key=len, default=())


def _listed(source: Source) -> dict[str, Any]:
    """One source; without a digest (a Hugging Face data set) its address has to stand for its content."""
    content = source.digest if source.digest is not None else source.location
    kind = source.format if source.compression is None else f"{source.format}.{source.compression}"
    return {"name": source.name, "format": kind, "bytes": source.bytes, "content": content}


def _digest(value: object) -> str:
    return xxhash.xxh3_128_hexdigest(json.dumps(value, sort_keys=True).encode())


def _manifests(cache: Path) -> list[dict[str, Any]]:
    """The manifests in a cache; one that cannot be read is no candidate, opening it says why."""
    found: list[dict[str, Any]] = []
    for path in sorted(cache.glob(f"*/{MANIFEST}")):
        try:
            value = read_json(path)
        except DataError:
            continue
        if isinstance(value, dict) and isinstance(value.get("components"), dict) and not path.parent.suffix:
            found.append(value)
    return found


def _differences(manifest: dict[str, Any], key: Key) -> tuple[str, ...]:
    lines: list[str] = []
    for name, new in key.components.items():
        old = manifest["components"].get(name)
        if old != new:
            lines.append(f"{name} changed: {_change(name, manifest, key) or f'{old} -> {new}'}")
    return tuple(lines)


def _change(name: str, manifest: dict[str, Any], key: Key) -> str | None:
    if name != "sources":
        return None
    old, new = ({entry["name"]: entry for entry in listed} for listed in (manifest["sources"], key.sources))
    altered = [known for known in new if known in old and old[known] != new[known]]
    pieces = [
        (len(altered), f"other content in {', '.join(altered[:3])}"),
        (len(added := new.keys() - old.keys()), f"{len(added)} added"),
        (len(gone := old.keys() - new.keys()), f"{len(gone)} removed"),
    ]
    return ", ".join(text for count, text in pieces if count) or "another order"
