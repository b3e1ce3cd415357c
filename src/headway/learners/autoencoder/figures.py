"""The figures of a report as values; what was measured and what was not have different types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Absent:
    """A figure that was not measured, and why."""

    why: str


# What the name of a linear code begins with; its size follows.
LINEAR = "PCA-"

Figure = float | Absent
"""A measured number, or none."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Where 95 % of the bootstrap's draws of documents lie."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one side of a split holds; tokens are counted once, in the window that owns them."""

    documents: int
    windows: int
    longest: int
    """Tokens of the longest window."""
    tokens: int
    context: int
    """Tokens that are read a second time, before what a window owns; never scored."""
    scored: int
    absent: int
    special: int
    nothing: int
    words: int
    """Tokens that are no marks of the tokenizer."""
    words_found: int
    types: int
    types_found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What a report says though no evaluation measures it."""

    side: str = "held out"
    """Which side is evaluated: validation, test, or a file."""
    split: Mapping[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    """How the sides were made: the seed, the shares, what was grouped."""
    checks: Mapping[str, int | float] = field(default_factory=dict[str, int | float])
    """What the search for held-out text among the learned text counted; empty: it was not made."""
    document_tokens: int | None = None
    """Tokens of the evaluated documents, as their Dataset counts them."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was evaluated."""

    name: str
    code: int
    """Numbers that a window is compressed to."""
    bypass: bool
    """Whether the decoder sees more of a window than its code."""
    vectors: str
    made_up: bool
    dimensions: int


@dataclass(frozen=True, slots=True)
class Score:
    """A cosine and how much of it is more than a constant's."""

    cosine: float
    skill: Figure


@dataclass(frozen=True, slots=True)
class Baseline:
    """What something simple reaches on the same tokens."""

    name: str
    score: Score
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """The comparison with a linear code of as many numbers."""

    code: int
    """Numbers it has; fewer than the model's where the training side has too few windows for more."""
    score: Score
    windows: int
    """Windows of the training side it was fitted on."""
    windows_of: int
    difference: float
    """Cosine of the model minus its cosine."""
    interval: Interval | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle:
    """What the decoder makes of another window's code."""

    score: Score
    gain: float
    """Cosine with the window's own code minus cosine with another's."""
    interval: Interval | Absent
    equal: int
    """Windows given the code of one of the same length."""
    nearest: int
    """Windows alone in their length, given the code of one of the nearest length."""

    @property
    def used(self) -> bool | Absent:
        """Whether the code matters: all of the interval lies above 0."""
        return self.interval if isinstance(self.interval, Absent) else self.interval.low > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How often the nearest vector is the word's; words that share a vector count as one."""

    share: float
    floor: float
    """The share of the word that is most frequent on the training side."""
    floor_word: str
    tokens: int
    tokens_of: int
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How documents differ."""

    documents: int
    percents: tuple[int, ...]
    cosine: tuple[float, ...]
    skill: tuple[float, ...] | Absent
    below_constant: int
    """Documents on which the model is no better than the constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Tokens that the headline leaves out, with the constant that is best for them."""

    name: str
    tokens: int
    cosine: float
    constant: Figure
    skill: Figure
    linear: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """What the codes of the evaluated windows look like."""

    mean: float
    std: float
    length: float
    """Mean of their L2 norms."""
    sparsity: float
    """Share of values below a hundredth of the root mean square."""
    dead: int
    """Dimensions whose standard deviation is below a hundredth of the largest."""
    effective: Figure
    """(sum v)^2 / sum v^2 of the eigenvalues v of their covariance."""
    utilisation: Figure
    """Effective dimensions per dimension."""
    variance_ratio: Figure
    """Variance of the outputs' directions over that of the targets'; 0 says that every output is the same."""
