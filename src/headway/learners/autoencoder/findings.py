"""What the sums of an evaluation say: beside baselines, by document, apart, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.learners.autoencoder.baselines import CONSTANT, FREQUENT
from headway.learners.autoencoder.figures import LINEAR, Absent, Apart, Baseline, Figure, Interval, Linear, Spread
from headway.learners.autoencoder.scores import Doubles, interval_of, resampled, skill_of
from headway.learners.autoencoder.words import Kind
from headway.learners.autoencoder.yardstick import Yardstick

_PERCENTS = (5, 25, 50, 75, 95)
_ONE_DOCUMENT = Absent("one document has no spread")


@dataclass(frozen=True, slots=True)
class Draws:
    """What drawing the documents again and again does to the figures."""

    skill: Interval | Absent
    gain: Interval | Absent
    difference: Interval | Absent

    @classmethod
    def of(cls, yardstick: Yardstick, free: Doubles, shuffled: Doubles | None, seed: int) -> Draws:
        """Without intervals where there is one document only."""
        weights = yardstick.ground.weights
        columns = (free, yardstick.sums[CONSTANT], yardstick.beaten, free if shuffled is None else shuffled)
        sums = np.column_stack([weights, *(each[:, Kind.SCORED] for each in columns)])[weights > 0]
        if len(sums) < 2:
            return cls(_ONE_DOCUMENT, _ONE_DOCUMENT, _ONE_DOCUMENT)
        tokens, model, constant, linear, other = resampled(sums, seed=seed).T
        left = tokens - constant
        skill = interval_of((model - constant) / left) if left.min() > 1e-9 else Absent("a constant is perfect here")
        return cls(skill, interval_of((model - other) / tokens), interval_of((model - linear) / tokens))


def baseline_rows(yardstick: Yardstick) -> tuple[Baseline, ...]:
    """What each baseline reaches."""
    word = yardstick.ground.table.word(yardstick.baselines.frequent)
    notes = {FREQUENT: word}
    simple = [Baseline(name, yardstick.score(sums), notes.get(name, "")) for name, sums in yardstick.sums.items()]
    return (
        *simple,
        *(Baseline(f"{LINEAR}{size}", yardstick.score(sums)) for size, sums in sorted(yardstick.linear.items())),
    )


def linear_code(yardstick: Yardstick, free: Doubles, draws: Draws) -> Linear:
    """The model beside a linear code of as many numbers."""
    baselines = yardstick.baselines
    score = yardstick.score(yardstick.beaten)
    return Linear(
        code=baselines.codes[0],
        score=score,
        windows=baselines.windows,
        windows_of=baselines.side.windows,
        difference=yardstick.mean(free) - score.cosine,
        interval=draws.difference,
    )


def spread_of(yardstick: Yardstick, free: Doubles) -> Spread:
    """How the documents differ."""
    weights = yardstick.ground.weights
    some = weights > 0
    cosine = free[some, Kind.SCORED] / weights[some]
    constant = yardstick.sums[CONSTANT][some, Kind.SCORED] / weights[some]
    left = 1 - constant
    skill = Absent("a constant is perfect on a document")
    if left.min() > 1e-9:
        skill = tuple(np.percentile((cosine - constant) / left, _PERCENTS).tolist())
    return Spread(
        documents=len(cosine),
        percents=_PERCENTS,
        cosine=tuple(np.percentile(cosine, _PERCENTS).tolist()),
        skill=skill,
        below_constant=int((cosine <= constant).sum()),
    )


def apart(yardstick: Yardstick, free: Doubles) -> tuple[Apart, ...]:
    """The tokens that the headline leaves out."""
    names = {Kind.ABSENT: "words without a vector", Kind.SPECIAL: "special tokens"}
    tokens = yardstick.ground.counts.sum(axis=0)
    return tuple(_one_apart(yardstick, free, kind, name) for kind, name in names.items() if tokens[kind])


def _one_apart(yardstick: Yardstick, free: Doubles, kind: Kind, name: str) -> Apart:
    cosine = yardstick.mean(free, kind)
    constant: Figure = Absent("the training side has none")
    skill: Figure = constant
    if yardstick.baselines.constants[kind].any():
        constant = yardstick.mean(yardstick.sums[CONSTANT], kind)
        skill = skill_of(cosine, constant)
    return Apart(
        name=name,
        tokens=int(yardstick.ground.counts[:, kind].sum()),
        cosine=cosine,
        constant=constant,
        skill=skill,
        linear=yardstick.mean(yardstick.beaten, kind),
    )
