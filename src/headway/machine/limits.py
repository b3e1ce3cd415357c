"""What will bound a training of patterns on a measured machine: the work of each resource against its ceiling.

Everything is proportional to the patterns that are learned, so which resource bounds the training hangs on the shape of
the hierarchy and the machine alone; the expected rate in samples hangs on their length as well, which has to be told or
is assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.errors import PlanError
from headway.machine.figure import Figure
from headway.machine.result import BenchResult

TOKENS_PER_SAMPLE = 500
_TOKEN_BYTES = 2
_MIB = 1 << 20
# Two resources whose times differ by less than the measurements' own uncertainty bound a training together.
_CLOSE = 1.25
UNKNOWN = "unknown"
_NEEDS = {
    "cpu": ("patterns.learn",),
    "disk_write": ("store.bytes", "disk.write"),
    "disk_read": ("disk.read",),
}
_UNTOUCHED = {
    "memory": "learning holds a bounded amount of memory, whatever the number of samples",
    "network": "an embedded memory calls no service",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A training of patterns."""

    samples: int
    chunk_size: int
    levels: int
    tokens_per_sample: float

    @property
    def tokens(self) -> float:
        """In all samples."""
        return self.samples * self.tokens_per_sample

    @property
    def patterns(self) -> float:
        """Learned on all levels, repeats included: one for each `chunk_size` of the level below."""
        return sum(self.tokens / self.chunk_size**level for level in range(1, self.levels + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckPrediction:
    """What will bound a training; prints as the resource's name."""

    resource: str
    """`cpu`, `disk_write` or `disk_read`, several joined by "or", or `unknown`."""
    seconds: Mapping[str, float]
    """How long each resource is at work, if nothing else were in the way."""
    scores: Mapping[str, float]
    """The same as shares of the longest: 1 is what bounds."""
    samples_per_second: float | None
    """Expected at most, of samples of `tokens_per_sample`."""
    margin: float | None
    """How many times faster it could be before the next resource bounds."""
    next_resource: str | None
    storage_bytes: float | None
    """At most, before patterns that repeat across saves are added up."""
    fits: bool | None
    """Whether the disk has room for that."""
    tokens_per_sample: float
    assumed: tuple[str, ...]
    """Inputs that were neither told nor measured."""
    absent: Mapping[str, str]
    """Resources that no score was given, and why."""

    def __str__(self) -> str:
        return self.resource


def predict(
    result: BenchResult, work: Workload, *, cores: int, free_bytes: int, assumed: tuple[str, ...] = ()
) -> BottleneckPrediction:
    """The bottleneck of a workload on the machine of a result, with so many cores and so much room on its disk."""
    _check(work)
    figures = {name: result.figure(name) for names in _NEEDS.values() for name in names}
    lacking = {
        resource: f"{name}: {figures[name].why or 'not measured'}"
        for resource, names in _NEEDS.items()
        for name in names
        if figures[name].median is None
    }
    seconds = {name: each for name, each in _seconds(work, figures, cores).items() if each is not None}
    ranked = sorted(seconds, key=seconds.__getitem__, reverse=True)
    longest = seconds[ranked[0]] if ranked else None
    size = figures["store.bytes"].median
    storage = None if size is None else size * work.patterns
    return BottleneckPrediction(
        resource=_named(ranked, seconds, lacking),
        seconds=seconds,
        scores={} if longest is None else {name: seconds[name] / longest for name in ranked},
        samples_per_second=None if longest is None or lacking else work.samples / longest,
        margin=seconds[ranked[0]] / seconds[ranked[1]] if len(ranked) > 1 else None,
        next_resource=ranked[1] if len(ranked) > 1 else None,
        storage_bytes=storage,
        fits=None if storage is None else storage <= free_bytes,
        tokens_per_sample=work.tokens_per_sample,
        assumed=assumed,
        absent=lacking | _UNTOUCHED,
    )


def _seconds(work: Workload, figures: Mapping[str, Figure], cores: int) -> dict[str, float | None]:
    learn, size, write, read = (
        figures[name].median for name in ("patterns.learn", "store.bytes", "disk.write", "disk.read")
    )
    return {
        "cpu": None if learn is None else work.patterns / (learn * cores),
        "disk_write": None if size is None or write is None else work.patterns * size / (write * _MIB),
        "disk_read": None if read is None else work.tokens * _TOKEN_BYTES / (read * _MIB),
    }


def _named(ranked: list[str], seconds: Mapping[str, float], lacking: Mapping[str, Any]) -> str:
    # What was not measured may be what bounds.
    if not ranked or lacking:
        return UNKNOWN
    together = [name for name in ranked if seconds[ranked[0]] < _CLOSE * seconds[name]]
    return " or ".join(together)


def _check(work: Workload) -> None:
    numbers = {
        "dataset_size": (work.samples, 1),
        "chunk_size": (work.chunk_size, 2),
        "num_nodes": (work.levels, 1),
        "tokens_per_sample": (work.tokens_per_sample, 1),
    }
    problems = [
        f"{name}: should be {least} or more, not {value!r}" for name, (value, least) in numbers.items() if value < least
    ]
    if problems:
        raise PlanError("predict_bottleneck", problems)
