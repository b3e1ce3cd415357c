"""Adding one memory to another: its run files get second names here, then one manifest replacement makes them count."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headway.data.vocabulary import Vocabulary
from headway.durable import replace_json, sync_folder, write_errors
from headway.errors import RunError
from headway.learners.patterns.compactor import adopt, groups, run_merges
from headway.learners.patterns.learner import VOCABULARY
from headway.learners.patterns.maintain import only_writer, orphans, present_manifest
from headway.learners.patterns.manifest import MIXED, RUNS, Identity, Manifest, Origin, read_manifest
from headway.learners.patterns.notes import origins_of, renumbered
from headway.learners.patterns.runs import RunFile, RunReader, RunWriter, check_file

_KEPT = "nothing was added"
# As many runs of one size as a training run piles up before it merges them.
_AFTER = 64
_VOCABULARY = ", and a tokenizer like words makes another vocabulary of every data set: use a fixed one, like gpt2"


def found(folder: Path, identity: Identity, vocabulary: Vocabulary) -> None:
    """An empty memory to which others of this identity can be added; harmless where there is one."""
    with write_errors(folder, kept=_KEPT):
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
        with only_writer(folder):
            if read_manifest(folder) is None:
                replace_json(folder / VOCABULARY, vocabulary.to_json())
                Manifest(identity, left=(0,) * len(identity.widths)).write(folder)


def merge_into(folder: Path, other: Path, *, once: str | None = None, origin: Origin | None = None) -> Manifest:
    """Add all that `other` has learned to the memory in `folder`; under one `once`, only the first time.

    `origin` says how the documents noted in `other` are called, where its manifest does not. A memory of fewer levels
    adds to those it has. Killed at any moment, this has added everything or nothing.
    """
    if folder.resolve() == other.resolve():
        raise RunError(f"{folder} cannot be added to itself; add a copy of it")
    with only_writer(folder):
        mine, theirs = present_manifest(folder), present_manifest(other)
        if once is not None and once in mine.added:
            return mine
        _check(mine.identity, theirs.identity, folder, other)
        with write_errors(folder, kept=_KEPT):
            for leftover in orphans(folder, mine):
                leftover.unlink()
            manifest = _sum(folder / RUNS, other / RUNS, mine, theirs, origin or Origin(theirs.identity.source))
            return _commit(folder, manifest if once is None else replace(manifest, added=(*manifest.added, once)))


def _check(mine: Identity, theirs: Identity, folder: Path, other: Path) -> None:
    free = ("source", "widths", "split") if mine.split == MIXED else ("source", "widths")
    names = [name for name in Identity.__slots__ if name not in free]
    differing = [name for name in names if getattr(mine, name) != getattr(theirs, name)]
    if theirs.widths != mine.widths[: len(theirs.widths)]:
        differing.append("widths")
    if differing:
        raise RunError(
            f"{other} cannot be added to {folder}: "
            + "; ".join(f"{name} is {getattr(theirs, name)} there and {getattr(mine, name)} here" for name in differing)
            + "; only memories made with the same settings add up"
            + (_VOCABULARY if "vocabulary" in differing else "")
        )


def _sum(here: Path, there: Path, mine: Manifest, theirs: Manifest, origin: Origin) -> Manifest:
    """The manifest of both together, with every file it names in place and durable."""
    origins = list(origins_of(mine))
    places = [_place(origins, each) for each in (theirs.origins or (origin,))]
    taken, levels = mine.files(), len(mine.identity.widths)
    runs = [_linked(there, here, run, taken) for run in theirs.runs]
    notes = [_noted(there, here, run, taken, places) for run in theirs.notes]
    sync_folder(here)
    return replace(
        mine,
        documents=mine.documents + theirs.documents,
        tokens=mine.tokens + theirs.tokens,
        left=tuple(a + b for a, b in zip(_left(mine, levels), _left(theirs, levels), strict=True)),
        runs=(*mine.runs, *runs),
        notes=(*mine.notes, *notes),
        origins=tuple(origins),
    )


def _place(origins: list[Origin], origin: Origin) -> int:
    if origin not in origins:
        origins.append(origin)
    return origins.index(origin)


def _left(manifest: Manifest, levels: int) -> list[int]:
    """What each level was given and did not take; a level that was not there took nothing of the one below."""
    known = list(manifest.left or [0] * len(manifest.identity.widths))
    if len(known) < levels:
        known.append(manifest.observed(len(known) - 1))
    return known + [0] * (levels - len(known))


def _linked(there: Path, here: Path, run: RunFile, taken: set[str]) -> RunFile:
    """A run file of another memory under a name not yet taken here."""
    name = next(name for name in _names(run) if name not in taken)
    taken.add(name)
    source, target = there / run.file, here / name
    check_file(source, run)
    try:
        os.link(source, target)
    except OSError:
        # Another file system, or one without links.
        shutil.copyfile(source, target)
        with target.open("rb+") as file:
            os.fsync(file.fileno())
        check_file(target, run)
    return replace(run, file=name)


def _names(run: RunFile) -> Iterator[str]:
    suffix = run.file[run.file.index(".") :]
    yield f"{run.checksum}{suffix}"
    number = 1
    while number := number + 1:
        yield f"{run.checksum}-{number}{suffix}"


def _noted(there: Path, here: Path, run: RunFile, taken: set[str], places: Sequence[int]) -> RunFile:
    """Notes of another memory with its origins counted as here."""
    if list(places) == list(range(len(places))):
        return _linked(there, here, run, taken)
    suffix = run.file[run.file.index(".") :]
    with RunReader(there, run) as reader:
        writer = RunWriter(here / f"added{suffix}.draft", level=run.level, dtype=np.uint64, largest=run.largest)
        for stored in reader.batches:
            writer.write(renumbered(stored.cut(0, len(stored)), places))
    written = writer.close_by_content(suffix=suffix, taken=taken)
    taken.add(written.file)
    return written


def _commit(folder: Path, manifest: Manifest) -> Manifest:
    """Replace the manifest, with runs merged where many have piled up, and remove what it no longer names."""
    runs = folder / RUNS
    work = groups(manifest, after=_AFTER)
    adopted = adopt(manifest, run_merges(runs, work, taken=frozenset(manifest.files())))
    adopted.manifest.write(folder)
    for name in adopted.obsolete:
        (runs / name).unlink()
    return adopted.manifest
