"""A folder of checkpoints: `latest.json` and `best.json` name those that exist, whatever else lies there.

    checkpoints/latest.json                names the newest ones, the newest last
    checkpoints/best.json                  names the best one
    checkpoints/000012-00000345/           one checkpoint: after 12 epochs and 345 batches
        state.safetensors  facts.json      tensors, everything else
        manifest.json                      what the two have to be to be whole

Checksums are xxh3-128, as everywhere in Headway: they find damage, they do not prove who wrote a file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, cast

import xxhash

from headway.durable import make_folder, read_json, replace_json, sync_folder
from headway.errors import DataError, RunError
from headway.learners.gradient.files import DRAFT, Bytes, Written, check_file, write_file
from headway.plan.values import Position

FORMAT = "headway-checkpoint"
VERSION = 1
STATE = "state.safetensors"
FACTS = "facts.json"
MANIFEST = "manifest.json"
Kind = Literal["periodic", "best", "final"]
Index = Literal["latest", "best"]
INDEXES: tuple[Index, ...] = ("latest", "best")
_NAME = re.compile(r"\d{6,}-\d{8,}(-best|-final)?(~\d+)?")
_OURS = re.compile(rf"{_NAME.pattern}(\.[0-9a-f]{{8}}{re.escape(DRAFT)})?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One checkpoint that an index names."""

    name: str
    kind: Kind
    position: Position
    manifest: str
    """Checksum of the manifest, which holds those of the files."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a checkpoint consists of."""

    kind: Kind
    position: Position
    state: Iterable[Bytes]
    facts: bytes
    tied: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a checkpoint's folder holds."""

    kind: Kind
    position: Position
    files: Mapping[str, Written]
    tied: Mapping[str, str]


def index_of(kind: Kind) -> Index:
    """Which index names checkpoints of a kind."""
    return "best" if kind == "best" else "latest"


def read_index(folder: Path, index: Index) -> list[Entry]:
    """What an index names, the newest last; nothing where no checkpoint was ever written."""
    path = folder / f"{index}.json"
    if not path.exists():
        if unnamed := [each.name for each in _whole(folder) if index_of(_kind_in(each.name)) == index]:
            raise RunError(
                f"{path} is missing, but there are checkpoints ({', '.join(unnamed)}); "
                "restore it from a copy, or start a new run with --new"
            )
        return []
    try:
        value = read_json(path)
        if (value["format"], value["version"]) != (FORMAT, VERSION):
            raise RunError(
                f"{path} is {value['format']} version {value['version']}; this Headway reads {FORMAT} version {VERSION}"
            )
        return [_entry(each) for each in cast("list[dict[str, Any]]", value["checkpoints"])]
    except (DataError, KeyError, TypeError, AttributeError) as cause:
        there = ", ".join(each.name for each in _whole(folder)) or "none"
        raise RunError(
            f"{path} is torn or damaged ({cause}); restore it from a copy, or start a new run with --new. "
            f"Checkpoints beside it: {there}"
        ) from cause


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(value["name"], value["kind"], Position(*value["position"]), value["manifest"])


def write_index(folder: Path, index: Index, entries: Sequence[Entry]) -> None:
    """Replace an index; every checkpoint it names must be durable already."""
    checkpoints = [asdict(each) | {"position": [each.position.epoch, each.position.batch]} for each in entries]
    replace_json(folder / f"{index}.json", {"format": FORMAT, "version": VERSION, "checkpoints": checkpoints})


def read_manifest(folder: Path, entry: Entry) -> Manifest:
    """The manifest of a checkpoint, all of whose files are what it says; else a RunError that names one."""
    path = folder / entry.name / MANIFEST
    if not path.is_file():
        raise RunError(f"{path} is missing")
    content = path.read_bytes()
    if xxhash.xxh3_128_hexdigest(content) != entry.manifest:
        raise RunError(f"{path} does not have the checksum that the index knows: it is torn or damaged")
    value = json.loads(content)
    files = {name: Written(**file) for name, file in value["files"].items()}
    for name, written in files.items():
        check_file(folder / entry.name / name, written)
    return Manifest(value["kind"], Position(*value["position"]), files, value["tied"])


class Shelf:
    """A folder of checkpoints opened for writing: by one process at a time, which holds the run's lock."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        make_folder(folder)
        sync_folder(folder.parent)
        self._entries = {index: read_index(folder, index) for index in INDEXES}
        for index in INDEXES:
            # Before the first checkpoint: an index that is missing later was lost.
            if not (folder / f"{index}.json").exists():
                write_index(folder, index, [])
        # An index that could not be written may be on the disk all the same, and name what was new in it.
        self._unsure: dict[Index, set[str]] = {index: set() for index in INDEXES}
        self.sweep()

    @property
    def latest(self) -> Entry | None:
        """The newest checkpoint that `latest.json` names."""
        return self._entries["latest"][-1] if self._entries["latest"] else None

    def put(self, content: Content) -> int:
        """Make a checkpoint durable and have its index name it; its bytes."""
        name = self._name(content)
        draft = self._folder / f"{name}.{token_hex(4)}{DRAFT}"
        try:
            draft.mkdir()
            size, digest = _fill(draft, content)
            draft.rename(self._folder / name)
        except BaseException:
            # What it takes may be what another needs: the disk may be full.
            shutil.rmtree(draft, ignore_errors=True)
            raise
        sync_folder(self._folder)
        index = index_of(content.kind)
        entries = self._kept([*self._entries[index], Entry(name, content.kind, content.position, digest)])
        self._unsure[index].add(name)
        write_index(self._folder, index, entries)
        self._unsure[index].clear()
        self._entries[index] = entries
        return size

    def sweep(self) -> None:
        """Remove every checkpoint that no index names, and what was begun and not finished."""
        named = {entry.name for entries in self._entries.values() for entry in entries}
        named = named.union(*self._unsure.values())
        for path in list(self._folder.iterdir()):
            if _OURS.fullmatch(path.name) and path.name not in named and path.is_dir():
                shutil.rmtree(path)

    def _name(self, content: Content) -> str:
        suffix = "" if content.kind == "periodic" else f"-{content.kind}"
        plain = name = f"{content.position.epoch:06}-{content.position.batch:08}{suffix}"
        twin = 0
        # A run that went on from an earlier checkpoint comes by here again.
        while (self._folder / name).exists():
            twin += 1
            name = f"{plain}~{twin}"
        return name

    def _kept(self, entries: list[Entry]) -> list[Entry]:
        newest = entries[-1]
        if newest.kind == "best":
            return [newest]
        periodic = [each for each in entries if each.kind == "periodic"][-self._keep :]
        return periodic if newest in periodic else [*periodic, newest]


def _fill(draft: Path, content: Content) -> tuple[int, str]:
    """Write the files of a checkpoint; their bytes, and the checksum of the manifest."""
    files = {
        STATE: write_file(draft / STATE, content.state),
        FACTS: write_file(draft / FACTS, [content.facts]),
    }
    manifest = {
        "kind": content.kind,
        "position": [content.position.epoch, content.position.batch],
        "files": {name: asdict(file) for name, file in files.items()},
        "tied": dict(content.tied),
    }
    text = (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()
    written = write_file(draft / MANIFEST, [text])
    sync_folder(draft)
    return sum(file.bytes for file in files.values()) + written.bytes, written.checksum


def _whole(folder: Path) -> list[Path]:
    """Folders that were renamed into place, whether an index names them or not."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name) and (path / MANIFEST).is_file())


def _kind_in(name: str) -> Kind:
    return "best" if "-best" in name else "periodic"
