"""What always-on sampling costs a pattern training: on against off, in pairs that follow each other in random order."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.macro.harness import Conditions, Figures, Result, measure
from benchmarks.macro.material import Corpus, dataset, plan
from benchmarks.macro.speed import run

OFF, LIGHT, FULL, OFF_AGAIN = "off", "light", "full", "off again"
_LEAST_PAIRS = 20
# So much text, read again and again, that a training lasts for several looks.
_TEXT_MEGABYTES = 1000
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """The share of the throughput that was lost, and where it lies with 95 % (bootstrap over pairs)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:+.2f} % ({100 * self.low:+.2f} % to {100 * self.high:+.2f} %)"


def sampling(conditions: Conditions, material: Corpus) -> Result:
    """Each second, ten times a second, and not at all: twice, so that chance alone is seen as well."""
    cache = conditions.scratch / "datasets"
    dataset(material, cache)
    epochs = max(1, _TEXT_MEGABYTES // (conditions.megabytes or 160))

    def trained(profile: str) -> Figures:
        given = plan(material) | {"workers": 2, "run": {"epochs": epochs, "profile": profile}}
        return run(given, conditions.scratch, cache)

    variants = {
        OFF: lambda: trained("off"),
        LIGHT: lambda: trained("light"),
        FULL: lambda: trained("full"),
        OFF_AGAIN: lambda: trained("off"),
    }
    says = (
        f"headway.train on the built Dataset, {epochs} epochs, 2 workers, run.profile off, light (a look a second), "
        "full (ten, and often at shared pages) and off again; a pair is the two of one repeat, train_seconds first "
        "step to last save"
    )
    return measure("sampling", says, variants, conditions, repeats=max(_LEAST_PAIRS, conditions.repeats))


def cost(result: Result, variant: str) -> Cost:
    """What a variant loses against `off`, from the ratios within each repeat."""
    ratios = result.ratio((OFF, "train_seconds"), (variant, "train_seconds")).values
    logs = [math.log(ratio) for ratio in ratios]
    means = _resampled(logs)
    low, high = means[int(0.975 * len(means))], means[int(0.025 * len(means))]
    return Cost(*(1 - math.exp(value) for value in (fmean(logs), low, high)))


def _resampled(values: Sequence[float]) -> list[float]:
    """Means of as many values drawn with replacement, sorted."""
    chance = random.Random(0)
    return sorted(fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES))
