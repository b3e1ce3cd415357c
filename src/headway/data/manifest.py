"""What a Dataset's folder says about itself."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headway.data.npy import REBUILD
from headway.durable import read_json
from headway.errors import DataError

FORMAT = "headway-dataset"
VERSION = 1
MANIFEST = "manifest.json"
VOCABULARY = "vocabulary.json"
SHARDS = "shards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One shard: its files are `shards/<name>.{tokens,documents,segments}.npy`."""

    name: str
    documents: int
    tokens: int
    segments: int | None
    checksums: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything a Dataset is, except its numbers."""

    key: str
    documents: int
    tokens: int
    dtype: str
    split: str
    tokenizer: dict[str, str]
    vocabulary: dict[str, Any]
    skipped: dict[str, int]
    components: dict[str, Any]
    sources: list[dict[str, Any]]
    shards: list[Shard]

    def to_json(self) -> dict[str, Any]:
        """The content of manifest.json."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished Dataset; a DataError when there is none or it is not one."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise DataError(f"there is no dataset at {folder}; build one with: headway data build")
    if not path.is_file():
        raise DataError(f"{folder} is not a dataset (no {MANIFEST}); build one with: headway data build")
    try:
        value = read_json(path)
    except DataError as cause:
        raise DataError(f"{cause}; {REBUILD}") from cause
    return parse_manifest(value, where=path)


def parse_manifest(value: Any, *, where: Path) -> Manifest:
    """The manifest in a JSON value, checked for format, version and keys."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise DataError(f"{where} is not the manifest of a dataset; {REBUILD}")
    if value.get("version") != VERSION:
        raise DataError(
            f"{where} has version {value.get('version')!r}, this Headway reads version {VERSION}; {REBUILD}"
        )
    fields: dict[str, Any] = {name: given for name, given in value.items() if name not in ("format", "version")}
    try:
        fields["shards"] = [Shard(**shard) for shard in fields["shards"]]
        manifest = Manifest(**fields)
        _check_sums(manifest, where)
    except (KeyError, TypeError) as cause:
        raise DataError(f"{where} is damaged ({cause}); {REBUILD}") from cause
    return manifest


def _check_sums(manifest: Manifest, where: Path) -> None:
    if manifest.dtype not in ("uint16", "uint32"):
        raise DataError(f"{where} names the number type {manifest.dtype!r}; {REBUILD}")
    for name in ("documents", "tokens"):
        counted = sum(int(getattr(shard, name)) for shard in manifest.shards)
        if counted != getattr(manifest, name):
            raise DataError(
                f"{where} says {getattr(manifest, name):,} {name} but its shards hold {counted:,}; {REBUILD}"
            )


def shard_files(folder: Path, shard: Shard, dtype: str) -> dict[str, tuple[Path, np.dtype[Any], int]]:
    """Path, number type and length of every file of a shard, by its kind."""
    offsets = np.dtype(np.int64)
    parts: dict[str, tuple[np.dtype[Any], int]] = {
        "tokens": (np.dtype(dtype), shard.tokens),
        "documents": (offsets, shard.documents + 1),
    }
    if shard.segments is not None:
        parts["segments"] = (offsets, shard.segments + 1)
    return {kind: (shard_path(folder, shard.name, kind), *part) for kind, part in parts.items()}


def shard_path(folder: Path, name: str, kind: str) -> Path:
    """Where a shard keeps its numbers of one kind."""
    return folder / SHARDS / f"{name}.{kind}.npy"
