"""Held-out windows and what every baseline reaches on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.learners.autoencoder.baselines import CONSTANT, Baselines, Flat
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.figures import Score
from headway.learners.autoencoder.scores import Doubles, Ground, scored, skill_of, tally
from headway.learners.autoencoder.words import Kind, Table


@dataclass(frozen=True, slots=True, eq=False)
class Yardstick:
    """Held-out windows with what every baseline reaches on them; made once, used for every evaluation."""

    ground: Ground
    baselines: Baselines
    sums: Mapping[str, Doubles]
    """By name of a baseline: its cosines added up by document and kind."""
    linear: Mapping[int, Doubles]
    """The same by size of a linear code."""

    @classmethod
    def of(cls, held: Corpus, table: Table, baselines: Baselines) -> Yardstick:
        """A DataError where nothing can be scored."""
        ground = Ground.of(held, table)
        sums = {name: tally(ground, scored(ground, each)) for name, each in baselines.predictions(table).items()}
        flat = Flat(held, table, baselines.size)
        made = baselines.linear_predictions(flat)
        linear = {size: tally(ground, scored(ground, each, flat.spans())) for size, each in made.items()}
        return cls(ground, baselines, sums, linear)

    @property
    def constant(self) -> float:
        """The cosine that every skill is counted from."""
        return self.mean(self.sums[CONSTANT])

    @property
    def beaten(self) -> Doubles:
        """The sums of the linear code of the model's size."""
        return self.linear[self.baselines.codes[0]]

    def mean(self, sums: Doubles, kind: Kind = Kind.SCORED) -> float:
        """Mean cosine of the tokens of a kind."""
        return float(sums[:, kind].sum() / self.ground.counts[:, kind].sum())

    def score(self, sums: Doubles) -> Score:
        """Mean cosine of the scored tokens and its skill."""
        cosine = self.mean(sums)
        return Score(cosine, skill_of(cosine, self.constant))
