"""What is there before the first step: windows of each side, words with their vectors, and that nothing leaks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headway.data.dataset import Rows
from headway.data.npy import Array, Ints
from headway.errors import RunError
from headway.feed.rows import WindowRows
from headway.learners.autoencoder.baselines import Baselines
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.figures import Background
from headway.learners.autoencoder.lexicon import Lexicon, load_lexicon, make_lexicon, reader
from headway.learners.autoencoder.material import Material, material
from headway.learners.autoencoder.scores import Ground
from headway.learners.autoencoder.words import Table
from headway.learners.autoencoder.yardstick import Yardstick
from headway.learners.base import Setup

MODEL = "model"


@dataclass(frozen=True, eq=False)
class Groundwork:
    """What a run stands on; the same for every session of it."""

    section: Section
    material: Material
    lexicon: Lexicon
    seed: int

    @cached_property
    def table(self) -> Table:
        """The words as evaluations score them."""
        return self.lexicon.table()

    def corpus(self, rows: WindowRows) -> Corpus:
        """Windows in the ids that the model reads; tokens that are left out are gone."""
        documents = rows.windows.documents
        return self.seen(rows.read(slice(0, len(documents))), documents)

    def seen(self, rows: Rows, documents: Ints | None = None) -> Corpus:
        """Rows of tokens as the model reads them; rows of no documents that are named are numbered."""
        owned = np.ones(len(rows.ids), np.bool_) if rows.mask is None else rows.mask
        numbers = np.arange(len(rows.starts) - 1) if documents is None else documents
        return without(self.lexicon.read_as[rows.ids], rows.starts, owned, numbers)

    @cached_property
    def baselines(self) -> Baselines:
        """What a constant and a line of the model's size reach, fitted on the learned side."""
        return self.fitted(also=())

    def fitted(self, *, also: tuple[int, ...]) -> Baselines:
        """The same with more sizes of lines, which take their time."""
        code = self.section.model.code
        return Baselines.fit(self.corpus(self.material.train), self.table, code=code, seed=self.seed, also=also)

    def check(self) -> None:
        """A DataError, before anything is learned, where evaluations would have nothing to look at."""
        if len(self.material.valid.windows.documents):
            Ground.of(self.corpus(self.material.valid), self.table)

    @cached_property
    def yardstick(self) -> Yardstick | None:
        """What validation is measured with; None where nothing is held out for it."""
        if not len(self.material.valid.windows.documents):
            return None
        return Yardstick.of(self.corpus(self.material.valid), self.table, self.baselines)

    def background(self, rows: WindowRows, side: str) -> Background:
        """What a report says of how a side was made."""
        split, found, grouping = self.section.split, self.material.overlap, self.material.grouping
        dropped = self.section.absent == "drop"
        documents = np.unique(rows.windows.documents)
        return Background(
            side=side,
            split={
                "seed": split.seed,
                "train": split.train,
                "valid": split.valid,
                "test": split.test,
                "groups": grouping.groups,
                "exact duplicates": grouping.exact,
                "near-duplicates": grouping.near,
            },
            checks={"on two sides": found.documents, "same words": found.exact, "alike": found.near},
            document_tokens=None if dropped else int(rows.dataset.document_lengths()[documents].sum()),
        )


def groundwork(setup: Setup) -> Groundwork:
    """Made by the first session of a run and kept in its folder; a RunError where held-out text would be learned."""
    section: Section = setup.section
    made = material(section, setup.dataset)
    if made.overlap.leaks:
        said = f"held-out text is among what is learned: {made.overlap}"
        if section.split.leakage == "stop":
            raise RunError(f'{said}. Remove the duplicates, raise split.alike, or set split.leakage = "warn"')
        setup.warn(said)
    home = setup.folder / MODEL
    lexicon = load_lexicon(home)
    if lexicon is None:
        lexicon = _lexicon(setup, made)
        lexicon.save(home)
    if lexicon.facts.made_up:
        setup.warn('vectors = "random": the vectors are made up; every figure is about these, not about the words')
    return Groundwork(section, made, lexicon, setup.run.seed)


def without(ids: Array, starts: Ints, owned: NDArray[np.bool_], documents: Ints) -> Corpus:
    """Windows without the tokens whose id is -1, and without those that had no others."""
    kept = ids >= 0
    if kept.all():
        return Corpus(ids=ids, starts=starts, owned=owned, documents=documents)
    offsets = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    begins = offsets[starts]
    some = np.diff(begins) > 0
    return Corpus(
        ids=ids[kept],
        starts=np.concatenate([begins[:-1][some], begins[-1:]]),
        owned=owned[kept],
        documents=documents[some],
    )


def _lexicon(setup: Setup, made: Material) -> Lexicon:
    section: Section = setup.section
    train = made.train
    vocabulary = setup.dataset.vocabulary
    read = train.read(slice(0, len(train.windows.documents)))
    own = read.ids if read.mask is None else read.ids[read.mask]
    counts = np.bincount(own, minlength=len(vocabulary)).astype(np.int64)
    cache = setup.dataset.folder.parent / "vectors"
    return make_lexicon(
        section, vocabulary, counts=counts, read=reader(section, home=setup.home, cache=cache), seed=setup.run.seed
    )


def side(made: Material, name: str) -> WindowRows:
    """The windows of a side by its name."""
    return {"train": made.train, "valid": made.valid, "test": made.test}[name]
