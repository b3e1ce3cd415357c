"""What a trained autoencoder does for its user: codes of texts, words of codes, new text, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headway.data.config import DataSection
from headway.data.dataset import Dataset, open_dataset
from headway.data.npy import Ints
from headway.data.tokenizers import load_tokenizer
from headway.durable import read_json
from headway.errors import DataError, RunError
from headway.learners.autoencoder.beside import seen_before
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.evaluate import SIZES, evaluate
from headway.learners.autoencoder.figures import Background
from headway.learners.autoencoder.groundwork import MODEL, Groundwork, groundwork, side, without
from headway.learners.autoencoder.lexicon import UNK, Lexicon, load_lexicon
from headway.learners.autoencoder.linear import STATE, FlatCodec, codec_of, read_sums
from headway.learners.autoencoder.material import windows_in
from headway.learners.autoencoder.report import Report
from headway.learners.autoencoder.words import Kind, Singles, Table
from headway.learners.base import Setup
from headway.plan.load import load_plan
from headway.plan.plan import Kinds, RunSection
from headway.plan.values import Place, Position

if TYPE_CHECKING:
    from headway.learners.autoencoder.codec import NetworkCodec
    from headway.learners.autoencoder.generation import GenerationSettings

Which = Literal["best", "latest"]
Side = Literal["valid", "test"]
_PLAN, _DATASET = "plan.resolved.json", "dataset.json"
# Larger lines take minutes.
_LINES = SIZES[:4]


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The code of each window of some texts."""

    codes: Singles
    """float32[windows, numbers]."""
    corpus: Corpus
    """Which text each window is of, and its words."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A window and what the model makes of its code alone."""

    document: int
    given: str
    made: str
    cosine: float | None
    """Mean over the words that have a vector; None where none has."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A model with its words, opened from a run; nothing here changes the run."""

    folder: Path
    section: Section
    run: RunSection
    data: DataSection
    lexicon: Lexicon
    codec: NetworkCodec | FlatCodec
    position: Position
    """How far the run was when it was saved."""

    @cached_property
    def table(self) -> Table:
        """The words as evaluations score them."""
        return self.lexicon.table()

    def corpus(self, texts: Sequence[str]) -> Corpus:
        """Texts in the ids that the model reads, cut into windows as in training."""
        tokenizer = load_tokenizer(self.data.tokenizer, folder=self.folder)
        encoded = tokenizer.encode(list(texts))
        index = self.lexicon.vocabulary.index
        known = np.array([index.get(symbol, UNK) for symbol in tokenizer.symbols], np.int64)
        ids = self.lexicon.read_as[known[encoded.ids]] if len(encoded.ids) else np.zeros(0, np.int64)
        found = windows_in(known[encoded.ids], encoded.offsets, self.lexicon.vocabulary.symbols, self.section.window)
        starts = np.zeros(len(found.starts) + 1, np.int64)
        np.cumsum(found.lengths, out=starts[1:])
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], found.lengths)
        flat = np.repeat(encoded.offsets[found.documents] + found.starts, found.lengths) + places
        owned = places >= np.repeat(found.owned - found.starts, found.lengths)
        corpus = without(ids[flat], starts, owned, found.documents)
        if not len(corpus):
            raise DataError("none of these texts has a word that the model knows; give text in the words it learned")
        return corpus

    def encode(self, texts: Sequence[str]) -> Codes:
        """The code of each window of some texts."""
        corpus = self.corpus(texts)
        return Codes(self.codec.encode(corpus)[:, : self.codec.code], corpus)

    def decode(self, codes: Singles, lengths: Ints | int) -> list[str]:
        """The text nearest to what the model makes of each code, of so many tokens."""
        codes = np.atleast_2d(np.asarray(codes, np.float32))
        if codes.shape[1] != self.codec.code:
            raise DataError(f"a code of this model has {self.codec.code} numbers, these have {codes.shape[1]}")
        sizes = np.broadcast_to(np.asarray(lengths, np.int64), (len(codes),))
        most = self.section.window.size
        if len(sizes) and not 1 <= sizes.min() <= sizes.max() <= most:
            raise DataError(f"windows of this model have 1 to {most} tokens, not {sizes.min()} to {sizes.max()}")
        if self.codec.bypass:
            raise RunError("this model attends to its encoder's states (bypass): a code alone is not decoded")
        return self._texts(self.codec.decode(codes, sizes), sizes)

    def rebuild(self, texts: Sequence[str], *, most: int | None = None) -> list[Rebuilt]:
        """Windows of some texts next to what comes out of their codes."""
        corpus = self.corpus(texts)
        if most is not None:
            corpus = corpus.part(slice(0, most))
        outputs = self.codec.decode(self.codec.encode(corpus), corpus.lengths)
        made = self._texts(outputs, corpus.lengths)
        units = outputs / np.maximum(np.linalg.norm(outputs, axis=1, keepdims=True), 1e-12)
        cosines = (units * self.table.units[corpus.ids]).sum(axis=1)
        scored = self.table.kinds[corpus.ids] == Kind.SCORED
        found: list[Rebuilt] = []
        for i, document in enumerate(corpus.documents.tolist()):
            place = slice(int(corpus.starts[i]), int(corpus.starts[i + 1]))
            some = cosines[place][scored[place]]
            given = self.lexicon.vocabulary.decode(corpus.ids[place].tolist())
            found.append(Rebuilt(document, given, made[i], float(some.mean()) if len(some) else None))
        return found

    def generate(
        self, *, seed_text: str | None, settings: GenerationSettings, seed: int = 0, number: int = 1
    ) -> list[str]:
        """New texts of a text's code, or of codes drawn as those of the learned windows lie; same seed, same texts."""
        if isinstance(self.codec, FlatCodec):
            raise RunError("a linear code writes no new text; train a model with an encoder of another kind")
        import torch

        from headway.learners.autoencoder.generate import Codes as Drawn
        from headway.learners.autoencoder.generate import generate

        generator = torch.Generator().manual_seed(seed)
        model = self.codec.model
        given = None if seed_text is None else torch.from_numpy(self.encode([seed_text]).codes[:1].copy())
        learned = torch.from_numpy(self.lexicon.learned > 0)
        drawn = None if given is not None else Drawn(*map(torch.from_numpy, self._spread))
        texts: list[str] = []
        for _ in range(number):
            z = given if drawn is None else drawn.draw(generator)
            assert z is not None
            texts.append(self.lexicon.vocabulary.decode(generate(model, z, settings, generator, learned=learned)))
        return texts

    def evaluate(self, which: Side = "valid", *, texts: Sequence[str] | None = None) -> Report:
        """Everything that has to stand beside a cosine, of a side that was held out or of other texts."""
        ground = self._ground
        if texts is not None:
            held = self.corpus(texts)
            learned, alike = ground.material.split.train, self.section.split.alike
            found = seen_before(self._dataset, learned, texts, tokenizer=self.data.tokenizer, alike=alike)
            checks = {"same words as a learned one": found.exact, "alike to a learned one": found.near}
            background = Background(side="given texts", checks=checks)
        else:
            rows = side(ground.material, which)
            if not len(rows.windows.documents):
                raise RunError(f"nothing was held out as {which}; set learner.split.{which} above 0, or give texts")
            held, background = ground.corpus(rows), ground.background(rows, which)
        baselines = ground.fitted(also=_LINES)
        return evaluate(
            self.codec, train=baselines, held=held, table=ground.table, seed=self.run.seed, background=background
        )

    def holds(self, which: Side) -> bool:
        """Whether anything was held out as this side."""
        return len(side(self._ground.material, which).windows.documents) > 0

    @cached_property
    def _spread(self) -> tuple[Singles, Singles]:
        """Mean and covariance of the codes of the learned windows."""
        ground = self._ground
        codes = self.codec.encode(ground.corpus(ground.material.train))[:, : self.codec.code]
        return codes.mean(axis=0), np.atleast_2d(np.cov(codes, rowvar=False)).astype(np.float32)

    @cached_property
    def _dataset(self) -> Dataset:
        known: Any = read_json(self.folder / _DATASET)
        # A copy of a run keeps its dataset beside it, under a relative name.
        return open_dataset(self.folder / known["folder"])

    @cached_property
    def _ground(self) -> Groundwork:
        return groundwork(Setup(self.section, self._dataset, self.folder, Place(), 0, run=self.run))

    def _texts(self, outputs: Singles, lengths: Ints) -> list[str]:
        ids = _nearest(outputs, self.table)
        edges = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        decode = self.lexicon.vocabulary.decode
        return [decode(ids[low:high].tolist()) for low, high in pairwise(edges)]


def open_trained(folder: Path, which: Which = "best") -> Trained:
    """The model of a run as it was at its best evaluation, or at its last save; `best` without any is the last."""
    path = folder / _PLAN
    if not path.is_file():
        raise RunError(f"{folder} is no run (it has no {_PLAN}); list runs with: headway runs list")
    kind = _kind(path)
    if kind != "autoencoder":
        raise RunError(f"{folder} is a run of kind {kind!r}, not of an autoencoder")
    kinds = Kinds(data=DataSection, learners={"autoencoder": Section})
    plan = load_plan(path, kinds=kinds)
    section, data = plan.learner, plan.data
    assert isinstance(section, Section) and isinstance(data, DataSection)
    lexicon = load_lexicon(folder / MODEL)
    if lexicon is None:
        raise RunError(f"{folder} has learned nothing yet; continue it with: headway train PLAN")
    codec, position = (
        _linear(folder, section, lexicon)
        if section.model.encoder == "pca"
        else _network(folder, section, lexicon, which)
    )
    return Trained(folder, section, plan.run, data, lexicon, codec, position)


def _kind(path: Path) -> object:
    value: Any = read_json(path)
    try:
        return value["learner"]["kind"]
    except (KeyError, TypeError) as cause:
        raise RunError(f"{path} is damaged (it names no kind of learner); restore it from a copy") from cause


def _linear(folder: Path, section: Section, lexicon: Lexicon) -> tuple[FlatCodec, Position]:
    found = read_sums(folder / STATE)
    if found is None:
        raise _nothing(folder)
    return codec_of(found.sums, section, lexicon.table()), found.position


def _network(folder: Path, section: Section, lexicon: Lexicon, which: Which) -> tuple[NetworkCodec, Position]:
    from headway.learners.autoencoder.learner import prepare

    prepare(section)
    from headway.learners.autoencoder.codec import NetworkCodec
    from headway.learners.autoencoder.making import CHECKPOINTS, device_of, load_weights, made_model
    from headway.learners.gradient.restore import restore
    from headway.learners.gradient.state import part

    home = folder / CHECKPOINTS
    found = (restore(home, "best") if which == "best" else None) or restore(home)
    if found is None:
        raise _nothing(folder)
    model = made_model(section, lexicon.matrix, seed=0, device=device_of("cpu"))
    load_weights(model, part(found.state, "model"))
    return NetworkCodec(model, longest=section.window.size), found.position


def _nothing(folder: Path) -> RunError:
    return RunError(f"{folder} has saved nothing yet; continue it with: headway train PLAN")


def _nearest(outputs: Singles, table: Table) -> Ints:
    """The word or mark whose direction is nearest to each output; padding and unknown words are none."""
    allowed = np.flatnonzero(table.units.any(axis=1))
    allowed = allowed[(allowed > UNK + 1) | (table.special == 0)]
    units = table.units[allowed]
    found = [allowed[np.argmax(outputs[low : low + 4096] @ units.T, axis=1)] for low in range(0, len(outputs), 4096)]
    return np.concatenate(found) if found else np.zeros(0, np.int64)
