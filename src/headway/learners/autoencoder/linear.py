"""The linear code as a learner: one epoch of sums, then the best matrix there is."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from headway.data.dataset import Rows
from headway.data.npy import Ints
from headway.durable import replace_bytes, write_errors
from headway.errors import RunError
from headway.feed.batch import Batch
from headway.learners.autoencoder.baselines import flat_rows
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.evaluate import glance
from headway.learners.autoencoder.groundwork import Groundwork, groundwork
from headway.learners.autoencoder.pca import LinearCodec, LinearSums
from headway.learners.autoencoder.words import Singles, Table
from headway.learners.base import Setup
from headway.plan.plan import Parallel
from headway.plan.values import Metrics, Position, finite

STATE = "linear.npz"


class FlatCodec:
    """A linear code of windows up to a length, as evaluations take it."""

    bypass = False

    def __init__(self, codec: LinearCodec, table: Table, *, size: int) -> None:
        self._codec = codec
        self._table = table
        self._size = size

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"linear code of {self.code} numbers"

    @property
    def code(self) -> int:
        """Numbers of a code."""
        return self._codec.code

    def encode(self, corpus: Corpus) -> Singles:
        """The code of each window."""
        return self._codec.encode(flat_rows(corpus, self._table, size=self._size))

    def decode(self, codes: Singles, lengths: Ints) -> Singles:
        """Every token's vector from the code alone."""
        rows = self._codec.decode(codes).reshape(len(codes), self._size, self._table.dimensions)
        return rows[np.arange(self._size)[None, :] < lengths[:, None]]

    def forced(self, corpus: Corpus) -> None:
        """A line reads no previous words."""
        del corpus


class LinearLearner:
    """Gathers what a linear code is made of; after one epoch it has enough."""

    parallel: Parallel = "single"

    def __init__(self, setup: Setup) -> None:
        section: Section = setup.section
        self._section = section
        self._path = setup.folder / STATE
        self._ground: Groundwork = groundwork(setup)
        self._ground.check()
        self._sums = LinearSums()
        self._evaluation: dict[str, float] | None = None
        self.enough = False
        whole = section.window.size * self._ground.table.dimensions
        if section.model.code > whole:
            raise RunError(
                f"learner.model.code: a window of {section.window.size} vectors of {self._ground.table.dimensions} has "
                f"{whole} numbers in all, fewer than a linear code of {section.model.code}; lower it"
            )

    def step(self, batch: Batch) -> Metrics:
        """Add the windows of a batch to the sums."""
        found = self._ground.seen(Rows(batch.ids, batch.starts, None, batch.mask))
        if len(found):
            self._sums.add(flat_rows(found, self._ground.table, size=self._section.window.size))
        return {"sequences": len(found), "left_out": len(batch.starts) - 1 - len(found)}

    def evaluate(self, position: Position) -> Metrics | None:
        """Skill on validation; windows of another epoch would be the same."""
        del position
        self.enough = True
        yardstick = self._ground.yardstick if self._section.evaluate_every else None
        if yardstick is None:
            return None
        codec = codec_of(self._sums, self._section, self._ground.table)
        self._evaluation = glance(codec, yardstick).metrics()
        return finite(self._evaluation)

    def save(self, folder: Path, position: Position) -> Position:
        """Replace the file that holds sums and position."""
        del folder
        content = io.BytesIO()
        place = np.array([position.epoch, position.batch, self.enough], np.int64)
        told = np.frombuffer(json.dumps(self._evaluation).encode(), np.uint8)
        np.savez(content, allow_pickle=False, position=place, evaluation=told, **self._sums.arrays())
        with write_errors(self._path, kept="what was saved before is safe"):
            replace_bytes(self._path, content.getvalue())
        return position

    def settle(self) -> None:
        """A save is durable when it returns."""

    def restore(self, folder: Path) -> Position | None:
        """Take up the saved sums."""
        del folder
        found = read_sums(self._path)
        if found is None:
            return None
        self._sums, self.enough, self._evaluation = found.sums, found.enough, found.evaluation
        return found.position

    def finish(self) -> None:
        """Nothing is left open."""

    def close(self) -> None:
        """Nothing is held."""

    def totals(self) -> dict[str, Any]:
        """What it is and how good it was when last looked at."""
        found: dict[str, Any] = {
            "model": f"linear code of {self._section.model.code} numbers",
            "code": self._section.model.code,
            "dimensions": self._ground.table.dimensions,
            "windows": self._sums.windows,
            "vectors": self._ground.lexicon.facts.source,
            "coverage": self._ground.lexicon.facts.coverage,
        }
        return found if self._evaluation is None else found | {"evaluation": self._evaluation}


@dataclass(frozen=True, slots=True)
class SavedSums:
    """What a linear learner saves."""

    sums: LinearSums
    position: Position
    enough: bool
    evaluation: dict[str, float] | None


def read_sums(path: Path) -> SavedSums | None:
    """What was saved in a file; None where there is none, a RunError where it is damaged."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        epoch, batch, enough = arrays["position"].tolist()
        evaluation: Any = json.loads(arrays["evaluation"].tobytes())
        return SavedSums(LinearSums.from_arrays(arrays), Position(epoch, batch), bool(enough), evaluation)
    except (ValueError, KeyError, OSError, EOFError, BadZipFile) as cause:
        raise RunError(f"{path} is damaged ({cause}); restore it from a copy, or start anew with --new") from cause


def codec_of(sums: LinearSums, section: Section, table: Table) -> FlatCodec:
    """The linear code of everything added so far; a RunError where that is too little."""
    if sums.windows < 2:
        raise RunError(f"a linear code needs 2 windows or more, the learned side has {sums.windows}; give more text")
    return FlatCodec(sums.finish(section.model.code), table, size=section.window.size)
