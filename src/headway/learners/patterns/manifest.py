"""The manifest of a memory: what it does not name does not exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import xxhash

from headway.data.vocabulary import Vocabulary
from headway.durable import read_json, replace_json
from headway.errors import DataError, MemoryDamage
from headway.learners.patterns.runs import RunFile
from headway.plan.values import Position

NAME = "manifest.json"
RUNS = "runs"
VOCABULARY = "vocabulary.json"
FORMAT = "headway-patterns"
VERSION = 2
# A memory to which texts are added however they were cut.
MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Identity:
    """What must be equal for two memories to add up."""

    widths: tuple[int, ...]
    mode: str
    min_sentence_tokens: int | None
    """None where the mode does not ask for it."""
    split: str
    max_tokens: int | None
    names: str
    unicode: str
    metadata: str
    vocabulary: str
    tokenizer: str
    source: str

    def to_json(self) -> dict[str, Any]:
        """As it stands in the manifest."""
        return {name: getattr(self, name) for name in self.__slots__} | {"widths": list(self.widths)}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where noted documents come from, and how they are called."""

    title: str
    author: str = "Unknown"
    numbered: bool = True
    """Whether documents are `<title>_sample_<number>`; else the title is that of one book, and the number its place."""

    def to_json(self) -> list[Any]:
        """As it stands in the manifest."""
        return [self.title, self.author, self.numbered]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which runs make up a memory, how far the run that made it was, and what every level has seen."""

    identity: Identity
    position: Position | None = None
    documents: int = 0
    tokens: int = 0
    left: tuple[int, ...] = ()
    runs: tuple[RunFile, ...] = ()
    notes: tuple[RunFile, ...] = field(default=())
    origins: tuple[Origin, ...] = ()
    """Of the noted documents, where memories were added; else all are of the one source in the identity."""
    added: tuple[str, ...] = ()
    """What was added and must not be added again."""

    def level(self, level: int) -> list[RunFile]:
        """The pattern runs of one level."""
        return [run for run in self.runs if run.level == level]

    def observed(self, level: int) -> int:
        """How many patterns one level has learned, repeats included."""
        return sum(run.observed for run in self.runs if run.level == level)

    def files(self) -> set[str]:
        """Every file the manifest names below the runs folder."""
        return {run.file for run in (*self.runs, *self.notes)}

    def with_parts(self, parts: Sequence[dict[str, Any]]) -> Manifest:
        """This manifest with flushed parts added."""
        left = list(self.left or [0] * len(self.identity.widths))
        for part in parts:
            left = [a + b for a, b in zip(left, part["left"], strict=True)]
        return replace(
            self,
            documents=self.documents + sum(part["documents"] for part in parts),
            tokens=self.tokens + sum(part["tokens"] for part in parts),
            left=tuple(left),
            runs=(*self.runs, *(RunFile(**run) for part in parts for run in part["runs"])),
            notes=(*self.notes, *(RunFile(**run) for part in parts for run in part["notes"])),
        )

    def write(self, folder: Path) -> None:
        """Replace the manifest in a memory folder; the runs it names must be durable already."""
        body: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self.identity.to_json(),
            "position": None if self.position is None else [self.position.epoch, self.position.batch],
            "documents": self.documents,
            "tokens": self.tokens,
            "left": list(self.left),
            "runs": [run.to_json() for run in sorted(self.runs, key=_place)],
            "notes": [run.to_json() for run in sorted(self.notes, key=_place)],
        }
        if self.origins:
            body["origins"] = [origin.to_json() for origin in self.origins]
        if self.added:
            body["added"] = list(self.added)
        replace_json(folder / NAME, body | {"checksum": _digest(body)})


def read_vocabulary(folder: Path, identity: Identity) -> Vocabulary:
    """The symbols behind the token ids of a memory; MemoryDamage when they are not those it was made with."""
    path = folder / VOCABULARY
    if not path.exists():
        raise MemoryDamage(f"{path} is missing; restore it from a copy")
    try:
        vocabulary = Vocabulary.from_json(read_json(path))
    except DataError as cause:
        raise MemoryDamage(f"{path} is torn or damaged ({cause.__cause__ or cause}); restore it from a copy") from cause
    if vocabulary.digest != identity.vocabulary:
        raise MemoryDamage(f"{path} is not the vocabulary this memory was made with; restore it from a copy")
    return vocabulary


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a memory folder; None when there is none, MemoryDamage when it is not whole."""
    path = folder / NAME
    if not path.exists():
        return None
    if not path.is_file():
        raise MemoryDamage(f"{path} is no file; restore it from a copy")
    try:
        body = read_json(path)
    except DataError as cause:
        raise MemoryDamage(f"{path} is torn or damaged ({cause.__cause__}); restore it from a copy") from cause
    if isinstance(body, dict) and body.get("format") not in (None, FORMAT):
        raise MemoryDamage(f"{folder} is no memory: its {NAME} says {body['format']!r}; name a run or a memory folder")
    if not isinstance(body, dict) or body.pop("checksum", None) != _digest(body):
        raise MemoryDamage(f"{path} does not have the checksum it carries: damaged; restore it from a copy")
    if body["format"] != FORMAT or body["version"] != VERSION:
        raise MemoryDamage(
            f"{path} is {body['format']} version {body['version']}; this Headway reads {FORMAT} version {VERSION}"
        )
    identity = Identity(**(body["identity"] | {"widths": tuple(body["identity"]["widths"])}))
    return Manifest(
        identity,
        None if body["position"] is None else Position(*body["position"]),
        body["documents"],
        body["tokens"],
        tuple(body["left"]),
        tuple(RunFile(**run) for run in body["runs"]),
        tuple(RunFile(**run) for run in body["notes"]),
        tuple(Origin(*origin) for origin in body.get("origins", ())),
        tuple(body.get("added", ())),
    )


def _place(run: RunFile) -> tuple[int, str]:
    return run.level, run.file


def _digest(body: dict[str, Any]) -> str:
    return xxhash.xxh3_128(json.dumps(body, sort_keys=True).encode()).hexdigest()
