"""The whole bench: the machine's own probes and what learners measure, remembered per machine and disk."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from headway.durable import make_folder
from headway.learners.ceilings import Workshop, ceilings
from headway.machine.bench import Limits, Means, Progress, bench
from headway.machine.figure import Figure
from headway.machine.hardware import hardware
from headway.machine.probe import Group, Lack, Probe, Site
from headway.machine.probes.compute import compute
from headway.machine.probes.disk import disk
from headway.machine.probes.fio import fio
from headway.machine.probes.memory import memory
from headway.machine.probes.network import loopback, service
from headway.machine.probes.process import process
from headway.machine.remember import cache_folder, recall, remember, remembered_path
from headway.machine.result import BenchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """What is measured, and where results are remembered."""

    folder: Path = Path()
    """On the disk that will be used."""
    cache: Path | None = None
    """None for the user's."""
    again: bool = False
    """Measure though there is a remembered result."""
    service_url: str | None = None
    """Where a service tells that it is well."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Benched:
    """A result, and the one remembered before it."""

    result: BenchResult
    remembered: bool
    """Whether it was measured at an earlier time."""
    before: BenchResult | None
    """What an earlier bench of the same machine and disk measured, where this one measured again."""
    path: Path


def bench_machine(
    settings: BenchSettings,
    *,
    means: Means | None = None,
    groups: tuple[Group, ...] | None = None,
    progress: Progress | None = None,
    now: Callable[[], float] = time.time,
) -> Benched:
    """What this machine was measured to do: as remembered, or measured now and remembered."""
    cache, means = settings.cache or cache_folder(), means or Means()
    here = hardware((settings.folder,))
    path, known = remembered_path(cache, here), recall(cache, here)
    # The way to a service belongs to that service, not to this machine: it is not remembered.
    answers = bench(settings.folder, (service(settings.service_url),), limits=settings.limits, means=means)
    if known is not None and not settings.again:
        return Benched(_with(known, answers), True, None, path)
    # Before a minute is spent on what could not be kept.
    make_folder(path.parent)
    began, moment = means.clock(), datetime.fromtimestamp(now(), UTC)
    figures = bench(
        settings.folder, probes() if groups is None else groups, limits=settings.limits, means=means, progress=progress
    )
    result = BenchResult(
        fingerprint=here.fingerprint,
        folder=str(settings.folder.absolute()),
        began=moment.isoformat(timespec="seconds"),
        seconds=means.clock() - began,
        hardware=here.to_json(),
        figures=tuple(figures),
    )
    remember(path, result)
    return Benched(_with(result, answers), False, known, path)


def _with(result: BenchResult, more: Sequence[Figure]) -> BenchResult:
    return replace(result, figures=(*result.figures, *more))


def probes() -> tuple[Group, ...]:
    """All that can be measured of a machine, in the order it is shown."""
    return (disk, fio, memory, compute, process, loopback, of_learners)


def of_learners(site: Site) -> Iterator[Probe | Lack]:
    """What learners measure, as probes."""
    for each in ceilings(Workshop(site.folder, site.paced, site.stack)):
        if each.measure is None:
            yield Lack(each.name, each.unit, each.how)
        else:
            yield Probe(each.name, each.unit, each.better, each.margin, each.measure, each.how)
