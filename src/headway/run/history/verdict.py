"""Whether one plan is faster than another: said only of several runs of each, made in turns, if chance is unlikely."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist, median
from typing import Literal

Said = Literal["one run", "too few", "not shown", "not in turns", "faster", "slower"]
_CHANCE = 0.05
# Up to here the distribution is counted out; beyond, it is the normal one to three digits.
_COUNTED = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run was measured to do, and when it began."""

    value: float
    began: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the second of two compares with the first."""

    said: Said
    runs: tuple[int, int]
    ratio: float | None = None
    """How many times the first's rate the second has: the median over all pairs; None where it is no comparison."""
    least: float | None = None
    most: float | None = None
    """The interval that holds it in 95 of 100 such comparisons."""
    chance: float | None = None
    """How often two equal plans would come out at least so far apart."""


def verdict(first: Sequence[Measured], second: Sequence[Measured]) -> Verdict:
    """Compare rates by their ranks, so that no run counts more for being far off."""
    runs = (len(first), len(second))
    if min(runs) < 2:
        return Verdict(said="one run", runs=runs)
    if 2 / math.comb(sum(runs), runs[0]) > _CHANCE:
        return Verdict(said="too few", runs=runs)
    chance = _chance([run.value for run in first], [run.value for run in second])
    ratios = sorted(b.value / a.value for a, b in product(first, second))
    outside = _outside(*runs)
    ratio = median(ratios)
    return Verdict(
        said=_said(chance, ratio, in_turns=_in_turns(first, second)),
        runs=runs,
        ratio=ratio,
        least=ratios[outside],
        most=ratios[-1 - outside],
        chance=chance,
    )


def least_runs() -> int:
    """From how many runs of each of two plans on anything can be told."""
    return next(n for n in range(2, 10) if 2 / math.comb(2 * n, n) <= _CHANCE)


def _said(chance: float, ratio: float, *, in_turns: bool) -> Said:
    if chance > _CHANCE:
        return "not shown"
    if not in_turns:
        # A machine that was slower for an hour looks the same.
        return "not in turns"
    return "faster" if ratio > 1 else "slower"


def _in_turns(first: Sequence[Measured], second: Sequence[Measured]) -> bool:
    """Whether neither was done with before the other began."""
    ours, theirs = [run.began for run in first], [run.began for run in second]
    return max(ours) > min(theirs) and max(theirs) > min(ours)


def _chance(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided probability of ranks so far apart, among all divisions of these values in two."""
    ranks = _doubled_ranks([*first, *second])
    total, size = sum(ranks), len(first)
    apart = abs(len(ranks) * sum(ranks[:size]) - size * total)
    if len(ranks) > _COUNTED:
        return _normal(ranks, size, apart)
    sums = _sums(ranks, size)
    far = sum(ways for own, ways in sums.items() if abs(len(ranks) * own - size * total) >= apart)
    return far / math.comb(len(ranks), size)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, equal ones sharing theirs."""
    return [
        2 * sum(other < value for other in values) + sum(other == value for other in values) + 1 for value in values
    ]


def _sums(ranks: Sequence[int], size: int) -> dict[int, int]:
    """In how many ways so many of these ranks add up to each sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for rank in ranks:
        for taken in range(size, 0, -1):
            for own, number in ways[taken - 1].items():
                ways[taken][own + rank] = ways[taken].get(own + rank, 0) + number
    return ways[size]


def _normal(ranks: Sequence[int], size: int, apart: int) -> float:
    number = len(ranks)
    mean = sum(ranks) / number
    spread = sum((rank - mean) ** 2 for rank in ranks) / (number - 1)
    deviation = math.sqrt(spread * size * (number - size) / number)
    return 2 * NormalDist().cdf(-apart / number / deviation) if deviation else 1.0


def _outside(first: int, second: int) -> int:
    """How many of the sorted ratios lie outside of the interval on each side."""
    number = first + second
    if number > _COUNTED:
        middle, deviation = first * second / 2, math.sqrt(first * second * (number + 1) / 12)
        return max(0, math.floor(middle + NormalDist().inv_cdf(_CHANCE / 2) * deviation))
    sums = _sums(range(1, number + 1), first)
    smallest, ways, outside = min(sums), math.comb(number, first), 0
    below = sums[smallest]
    while below / ways <= _CHANCE / 2:
        outside += 1
        below += sums.get(smallest + outside, 0)
    return max(0, outside - 1)
