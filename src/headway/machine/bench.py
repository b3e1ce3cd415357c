"""The bench: every probe once a round, in an order drawn anew, until there are enough undisturbed repetitions.

Rounds interleave what is measured, so that a slow minute is slow for all of it. The first round warms up and counts for
nothing. What others disturbed is repeated while there is time; where that does not help, the figure says so.
"""

import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.durable import make_folder, write_errors
from headway.errors import HeadwayError
from headway.machine.describe import free_memory, usable_cores
from headway.machine.disturbance import Others, disturbed, taken
from headway.machine.figure import Figure
from headway.machine.probe import Group, Lack, Probe, Site

ROUNDS = 10
LEAST_ROUNDS = 5
SECONDS = 75.0
_FAILURES = (OSError, HeadwayError, subprocess.SubprocessError)


@dataclass(frozen=True, slots=True)
class Means:
    """Time, chance and the load of others: passed in, so that tests own them."""

    clock: Callable[[], float] = time.perf_counter
    others: Others = taken
    chance: random.Random = field(default_factory=random.Random)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a bench may be."""

    rounds: int = ROUNDS
    """Undisturbed repetitions of everything, after one that warms up."""
    seconds: float = SECONDS
    """From the start, making of material included; no repetition is begun later, but of 5 rounds that must be."""


@dataclass(slots=True)
class _Course:
    """The repetitions of one probe so far."""

    probe: Probe
    quiet: list[float] = field(default_factory=list[float])
    every: list[float] = field(default_factory=list[float])
    why: str | None = None


Progress = Callable[[int, int], None]
"""Is told how many rounds are done, of how many: none before the first."""


def bench(
    folder: Path, groups: Sequence[Group], *, limits: Limits, means: Means, progress: Progress | None = None
) -> list[Figure]:
    """Measure all that some groups of probes offer, with a folder below `folder` to work in."""
    began = means.clock()
    with ExitStack() as stack:
        site = _site(folder, means, stack)
        offers = [offer for group in groups for offer in _offers(group, site)]
        courses = [_Course(offer) for offer in offers if isinstance(offer, Probe)]
        _rounds(courses, limits, means, until=began + limits.seconds, progress=progress)
    figures = {course.probe.name: _figure(course, limits) for course in courses}
    lacking = {lack.name: Figure(name=lack.name, unit=lack.unit, why=lack.why) for lack in _lacks(offers)}
    return [(figures | lacking)[offer.name] for offer in offers]


def _site(folder: Path, means: Means, stack: ExitStack) -> Site:
    make_folder(folder)
    with write_errors(folder, kept="nothing was measured"):
        own = Path(tempfile.mkdtemp(prefix=".headway-bench-", dir=folder))
    stack.callback(shutil.rmtree, own, ignore_errors=True)
    return Site(own, usable_cores(), free_memory(), means.clock, stack)


def _offers(group: Group, site: Site) -> Iterator[Probe | Lack]:
    """What a group offers; one that cannot prepare its probes takes no other group with it."""
    try:
        yield from group(site)
    except _FAILURES as cause:
        yield Lack(group.__name__, "", f"it could not be prepared: {cause}")


def _lacks(offers: Iterable[Probe | Lack]) -> Iterable[Lack]:
    return (offer for offer in offers if isinstance(offer, Lack))


def _rounds(
    courses: Sequence[_Course], limits: Limits, means: Means, *, until: float, progress: Progress | None
) -> None:
    for course in courses:
        _repeat(course, means, counts=False)
    done = 0
    if progress is not None:
        progress(done, limits.rounds)
    while True:
        wanting = [course for course in courses if course.why is None and len(course.quiet) < limits.rounds]
        late = done >= LEAST_ROUNDS and means.clock() >= until
        # Twice as many tries as asked for: a machine that is never quiet is told of, not waited for.
        if not wanting or late or done >= 2 * limits.rounds:
            return
        means.chance.shuffle(wanting)
        for course in wanting:
            if done >= LEAST_ROUNDS and means.clock() >= until:
                break
            _repeat(course, means, counts=True)
        done += 1
        if progress is not None:
            progress(min(done, limits.rounds), limits.rounds)


def _repeat(course: _Course, means: Means, *, counts: bool) -> None:
    began, before = means.clock(), means.others()
    try:
        value = course.probe.measure()
    except _FAILURES as cause:
        course.why = f"it could not be measured: {cause}"
        return
    after = means.others()
    if course.probe.takes_turns:
        after = replace(after, waited=before.waited)
    quiet = not disturbed(before, after, means.clock() - began)
    if counts:
        course.every.append(value)
        course.quiet += [value] if quiet else []


def _figure(course: _Course, limits: Limits) -> Figure:
    probe, enough = course.probe, min(LEAST_ROUNDS, limits.rounds)
    quiet = len(course.quiet) >= enough
    values = () if course.why is not None else tuple(course.quiet if quiet else course.every)
    return Figure(
        name=probe.name,
        unit=probe.unit,
        better=probe.better,
        margin=probe.margin,
        how=probe.how,
        values=values,
        disturbed=len(course.every) - len(course.quiet),
        quiet=quiet or not values,
        why=course.why,
    )
