"""Building a Dataset: find the sources, name the result by them, tokenise once, put it in place whole.

find_sources -> key -> (there already? open it) -> jobs -> shards, each with a marker -> manifest -> rename
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from headway.data.config import DataSection
from headway.data.dataset import Dataset, open_dataset
from headway.data.finish import finish, put_in_place
from headway.data.key import Key, changed, key_of
from headway.data.lock import BuildLock
from headway.data.manifest import MANIFEST
from headway.data.proof import identify
from headway.data.report import BuildProgress, BuildReport, BuildStopped
from headway.data.shards import Job, Marker, Recipe, plan_jobs, read_marker
from headway.data.site import KEPT, Site
from headway.data.sources import Search, Source, read_sources, search, split_sources
from headway.durable import make_folder, write_errors
from headway.errors import DataError, TokenizerError

__all__ = ["BuildProgress", "BuildReport", "BuildStopped", "absences", "build"]

SHARD_BYTES = 8 << 20
# An estimate for the GPT-2 tokenizer: interpreter, numpy, engine and its cache, one block of text.
WORKER_BYTES = 150 << 20
_WAIT_SECONDS = 0.1


def build(  # noqa: PLR0913 - two of the seven are the caller's ears
    section: DataSection,
    *,
    folder: Path,
    cache: Path,
    workers: int = 1,
    memory: int | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Dataset:
    """The Dataset a section describes, from the cache or newly built; continues a build that was interrupted."""
    tell, is_stopped = progress or _tell_nobody, stop or _never
    tell(BuildProgress(stage="checking"))
    found = search(section.sources, folder=folder)
    sources = _sources(found, cache)
    recipe = _recipe(section, folder)
    key = _key(section, sources, recipe)
    home = cache / key.digest
    if home.exists():
        return _reuse(home, found.notes)
    if memory is not None:
        workers = min(workers, memory // WORKER_BYTES)
    with write_errors(cache, kept=KEPT), BuildLock(cache / f"{key.digest}.lock") as lock:
        _wait_for(lock, tell, is_stopped)
        if home.exists():
            return _reuse(home, found.notes)
        site = Site(cache / f"{key.digest}.partial", recipe, lock.descriptor, max(1, workers), tell, is_stopped)
        return _noted(_build(section, sources, key, home, site), found.notes)


def key_for(section: DataSection, *, folder: Path, cache: Path) -> Key:
    """What names the Dataset that `build` would make or find."""
    sources = _sources(search(section.sources, folder=folder), cache)
    return _key(section, sources, _recipe(section, folder))


def absences(section: DataSection, *, folder: Path) -> list[str]:
    """One "field: what is wrong" for the tokenizer and each source that a build would stumble over."""
    problems = search(section.sources, folder=folder).problems
    listed = [f"sources[{number}]: {problem}" for number, problem in problems.items()]
    try:
        identify(_recipe(section, folder))
    except TokenizerError as cause:
        return [*listed, f"tokenizer: {cause}"]
    return listed


def _sources(found: Search, cache: Path) -> list[Source]:
    with write_errors(cache, kept=KEPT):
        make_folder(cache)
        return read_sources(found, remembered=cache / "digests.json")


def _recipe(section: DataSection, folder: Path) -> Recipe:
    return Recipe(
        field=section.field,
        split=section.split,
        max_tokens=section.max_tokens,
        tokenizer=section.tokenizer,
        engine=section.engine,
        folder=folder,
        texts=section.texts,
    )


def _key(section: DataSection, sources: Sequence[Source], recipe: Recipe) -> Key:
    identity = identify(recipe)
    return key_of(section, sources, tokenizer={"name": identity.name, "digest": identity.digest})


def _reuse(home: Path, notes: tuple[str, ...]) -> Dataset:
    return replace(open_dataset(home), report=BuildReport(reused=True, notes=notes))


def _noted(dataset: Dataset, notes: tuple[str, ...]) -> Dataset:
    report = dataset.report
    assert report is not None
    return replace(dataset, report=replace(report, notes=(*notes, *report.notes)))


def _wait_for(lock: BuildLock, tell: Callable[[BuildProgress], None], is_stopped: Callable[[], bool]) -> None:
    while not lock.take():
        tell(BuildProgress(stage="waiting"))
        if is_stopped():
            raise BuildStopped("stopped while another process builds the same dataset")
        time.sleep(_WAIT_SECONDS)


def _build(section: DataSection, sources: Sequence[Source], key: Key, home: Path, site: Site) -> Dataset:
    differences = changed(home.parent, key)
    if (site.folder / MANIFEST).exists():
        # Killed between its last two steps: everything is there but its name.
        put_in_place(site.folder, home)
        return replace(open_dataset(home), report=BuildReport(reused=False, changed=differences))
    jobs = [replace(job, limit=section.documents) for job in _jobs(sources)]
    kept = {job.number: marker for job in jobs if (marker := read_marker(site.folder, job.name))}
    work = site.work(jobs, kept)
    markers = _limited(jobs, work.markers, section.documents, site)
    _refuse_empty(markers, site.folder)
    finish(site.folder, markers, key, identify(site.recipe), vocabulary=work.vocabulary, workers=site.workers)
    put_in_place(site.folder, home)
    site.tell(replace(work.progress, stage="done"))
    report = BuildReport(
        reused=False,
        changed=differences,
        engine=work.engine,
        notes=tuple(f"{engine} was not used: {reason}" for engine, reason in work.rejected.items()),
        shards=len(markers),
        shards_kept=work.kept,
        bytes=work.progress.bytes,
    )
    return replace(open_dataset(home, verify=False), report=report)


def _jobs(sources: Sequence[Source]) -> list[Job]:
    return plan_jobs(split_sources(sources, part_bytes=SHARD_BYTES), shard_bytes=SHARD_BYTES)


def _limited(jobs: list[Job], markers: dict[int, Marker], limit: int | None, site: Site) -> list[Marker]:
    """The shards in order, up to the limit; the one it falls into is made again to end exactly there."""
    if limit is None:
        return [markers[job.number] for job in jobs]
    found: list[Marker] = []
    for job in jobs:
        marker = markers[job.number]
        if marker.shard.documents >= limit and marker.limit != limit:
            marker = site.work([replace(job, limit=limit)], {}).markers[job.number]
        found.append(marker)
        limit -= marker.shard.documents
        if limit == 0:
            break
    return found


def _refuse_empty(markers: Sequence[Marker], partial: Path) -> None:
    if any(marker.shard.documents for marker in markers):
        return
    skipped: Counter[str] = Counter()
    for marker in markers:
        skipped.update(marker.skipped)
    shutil.rmtree(partial, ignore_errors=True)
    if not skipped:
        raise DataError("the sources hold no document at all; check data.sources")
    reasons = ", ".join(f"{count:,} with {reason}" for reason, count in sorted(skipped.items()))
    raise DataError(
        f"none of {skipped.total():,} documents can be used ({reasons}); check data.sources, data.field and data.split"
    )


def _tell_nobody(progress: BuildProgress) -> None:
    del progress


def _never() -> bool:
    return False
