"""Reading checkpoints back; needs no lock and changes nothing, so that any number of processes may."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from headway.errors import RunError
from headway.learners.gradient.shelf import (
    FACTS,
    INDEXES,
    STATE,
    Entry,
    Index,
    Kind,
    Manifest,
    read_index,
    read_manifest,
)
from headway.learners.gradient.state import State
from headway.plan.values import Position


@dataclass(frozen=True, slots=True)
class Restored:
    """A checkpoint as it was saved; tensors are on the CPU, mapped from the file until they are changed."""

    name: str
    kind: Kind
    position: Position
    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]

    @property
    def state(self) -> State:
        """Tensors and facts as they were given to `save`."""
        return State(self.tensors, self.facts)


def restore(folder: Path, index: Index = "latest") -> Restored | None:
    """The checkpoint that an index names, every byte checked; None where it names none.

    A missing or damaged file is a RunError that names it, and says what else is whole.
    """
    entries = read_index(folder, index)
    if not entries:
        return None
    entry = entries[-1]
    try:
        manifest = read_manifest(folder, entry)
    except RunError as cause:
        raise RunError(f"{cause}; {_advice(folder, index, entry)}") from cause
    return _load(folder, entry, manifest)


def _load(folder: Path, entry: Entry, manifest: Manifest) -> Restored:
    stored = load_file(folder / entry.name / STATE)
    tensors = stored | {name: stored[known] for name, known in manifest.tied.items()}
    facts = json.loads((folder / entry.name / FACTS).read_bytes())
    return Restored(entry.name, entry.kind, manifest.position, tensors, facts)


def _advice(folder: Path, index: Index, broken: Entry) -> str:
    """What else a run can go on from, and how."""
    for other in sorted(INDEXES, key=lambda each: each != index):
        for entry in reversed(_named(folder, other)):
            if entry.name == broken.name or not _is_whole(folder, entry):
                continue
            here, there = folder / f"{index}.json", folder / f"{other}.json"
            how = f"remove what follows it from {here}" if other == index else f"copy {there} over {here}"
            return f"{entry.name} is whole: restore the file from a copy, or, to go on from there, {how}"
    return "no other checkpoint is whole: restore the file from a copy, or start a new run with --new"


def _named(folder: Path, index: Index) -> list[Entry]:
    try:
        return read_index(folder, index)
    except RunError:
        return []


def _is_whole(folder: Path, entry: Entry) -> bool:
    try:
        read_manifest(folder, entry)
    except RunError:
        return False
    return True
