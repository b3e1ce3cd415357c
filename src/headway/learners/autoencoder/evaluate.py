"""How good codes are: from the code alone, on held-out documents, beside all that a constant or a line reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headway.data.npy import Array, Ints
from headway.learners.autoencoder.baselines import Baselines
from headway.learners.autoencoder.code_facts import code_facts
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.figures import Absent, Background, Figure, Score, Shuffle, Subject
from headway.learners.autoencoder.findings import Draws, apart, baseline_rows, linear_code, spread_of
from headway.learners.autoencoder.nearest import Nearest, Spreading
from headway.learners.autoencoder.report import Report
from headway.learners.autoencoder.scores import AT_ONCE, Doubles, Ground, Predict, scored, side_of, tally
from headway.learners.autoencoder.shuffling import donors
from headway.learners.autoencoder.words import Singles, Table
from headway.learners.autoencoder.yardstick import Yardstick

__all__ = ["SIZES", "Codec", "Glance", "Yardstick", "evaluate", "glance"]

# Sizes of linear codes that are worth a row beside the model's own.
SIZES = (16, 64, 128, 256, 512)


class Codec(Protocol):
    """What compresses windows and writes them again."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def code(self) -> int:
        """Numbers that a window is compressed to."""
        ...

    @property
    def bypass(self) -> bool:
        """Whether `encode` gives more than the code: the columns after it are what goes round it."""
        ...

    def encode(self, corpus: Corpus) -> Singles:
        """The code of each window, one a row."""
        ...

    def decode(self, codes: Singles, lengths: Ints) -> Singles:
        """Every token's vector from the code alone, one window after the other: no word is given."""
        ...

    def forced(self, corpus: Corpus) -> Singles | None:
        """The same with the true previous words given; None for what has no such way."""
        ...


@dataclass(frozen=True, slots=True)
class Glance:
    """What a run looks at while it trains."""

    free: Score
    constant: float
    linear: Score
    tokens: int

    def metrics(self) -> dict[str, float]:
        """As a record keeps it; what was not measured is left out."""
        figures: dict[str, Figure] = {
            "cosine": self.free.cosine,
            "skill": self.free.skill,
            "constant": self.constant,
            "linear": self.linear.cosine,
            "linear_skill": self.linear.skill,
        }
        return {name: figure for name, figure in figures.items() if not isinstance(figure, Absent)}


def glance(codec: Codec, yardstick: Yardstick) -> Glance:
    """The headline alone, by the same way as `evaluate`."""
    ground = yardstick.ground
    sums = tally(ground, scored(ground, lambda _, part: codec.decode(codec.encode(part), part.lengths)))
    linear = yardstick.score(yardstick.beaten)
    return Glance(yardstick.score(sums), yardstick.constant, linear, int(ground.weights.sum()))


def evaluate(
    codec: Codec,
    *,
    train: Corpus | Baselines,
    held: Corpus,
    table: Table,
    seed: int,
    background: Background | None = None,
) -> Report:
    """Everything about a codec on held-out windows; `train` is the training side, or what was fitted on it."""
    baselines = train if isinstance(train, Baselines) else Baselines.fit(train, table, code=codec.code, seed=seed)
    if baselines.code != codec.code:
        raise ValueError(f"baselines for {baselines.code} numbers do not fit a code of {codec.code}")
    yardstick = Yardstick.of(held, table, baselines)
    ground, codes = yardstick.ground, _codes(codec, held)
    nearest, spreading = Nearest.of(ground, baselines.frequent, seed), Spreading.of(table.dimensions)
    free = np.zeros_like(ground.counts)
    for batch in scored(ground, _decoding(codec, codes)):
        free += tally(ground, [batch])
        nearest.add(batch)
        spreading.add(batch, table)
    shuffled = _shuffled(codec, codes, ground, seed)
    draws = Draws.of(yardstick, free, None if shuffled is None else shuffled.sums, seed)
    background = Background() if background is None else background
    owned = int(ground.counts.sum())
    known = background.document_tokens
    return Report(
        subject=Subject(
            name=codec.name,
            code=codec.code,
            bypass=codec.bypass,
            vectors=table.source,
            made_up=table.made_up,
            dimensions=table.dimensions,
        ),
        seed=seed,
        trained_on=baselines.side,
        held=side_of(held, table),
        background=background,
        coverage=Absent("the tokens of the documents were not given") if known is None else owned / known,
        free=yardstick.score(free),
        interval=draws.skill,
        forced=_forced(codec, yardstick),
        constant=yardstick.constant,
        baselines=baseline_rows(yardstick),
        linear=linear_code(yardstick, free, draws),
        shuffle=Absent("there is one window only") if shuffled is None else _shuffle(yardstick, free, shuffled, draws),
        accuracy=nearest.result(table),
        spread=spread_of(yardstick, free),
        apart=apart(yardstick, free),
        code=code_facts(codes, spreading.ratio()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Shuffled:
    sums: Doubles
    equal: int
    nearest: int


def _codes(codec: Codec, held: Corpus) -> Singles:
    parts = [codec.encode(held.part(windows))[:, : codec.code] for windows in held.batches(AT_ONCE)]
    codes = np.concatenate(parts)
    if codes.shape != (len(held), codec.code):
        raise ValueError(f"{len(held)} codes of {codec.code} numbers are due, not {codes.shape}")
    return codes


def _decoding(codec: Codec, codes: Singles) -> Predict:
    """What comes out when each window is given its row of these codes."""

    def predict(windows: slice, part: Corpus) -> Array:
        given = codes[windows]
        if codec.bypass:
            # What goes round the code stays: only what the code itself adds is looked at.
            given = np.concatenate([given, codec.encode(part)[:, codec.code :]], axis=1)
        return codec.decode(given, part.lengths)

    return predict


def _shuffled(codec: Codec, codes: Singles, ground: Ground, seed: int) -> _Shuffled | None:
    lengths = ground.corpus.lengths
    if len(lengths) < 2:
        return None
    giving = donors(lengths, seed=seed)
    equal = int((lengths[giving] == lengths).sum())
    sums = tally(ground, scored(ground, _decoding(codec, codes[giving])))
    return _Shuffled(sums, equal, len(lengths) - equal)


def _shuffle(yardstick: Yardstick, free: Doubles, shuffled: _Shuffled, draws: Draws) -> Shuffle:
    score = yardstick.score(shuffled.sums)
    gain = yardstick.mean(free) - score.cosine
    return Shuffle(score=score, gain=gain, interval=draws.gain, equal=shuffled.equal, nearest=shuffled.nearest)


def _forced(codec: Codec, yardstick: Yardstick) -> Score | Absent:
    ground = yardstick.ground
    if codec.forced(ground.corpus.part(slice(0, 1))) is None:
        return Absent("this decoder reads no previous words")

    def predict(_: slice, part: Corpus) -> Array:
        outputs = codec.forced(part)
        if outputs is None:
            raise ValueError("a codec either has teacher-forced outputs or has none")
        return outputs

    return yardstick.score(tally(ground, scored(ground, predict)))
