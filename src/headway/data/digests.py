"""Digests of files, remembered so that an unchanged corpus is not read twice."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from headway.data.lock import alone_with
from headway.durable import checksum, read_json, replace_json, write_errors
from headway.errors import DataError

# A file touched this recently may change again without its time stamp moving.
SETTLED_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held when it was looked at."""

    bytes: int
    digest: str


def digests(
    paths: Sequence[Path], *, remembered: Path | None = None, clock: Callable[[], float] = time.time
) -> list[Content]:
    """Size and xxh3-128 of each file, in order; what `remembered` knows and is unchanged is not read again."""
    known = _recall(remembered)
    # Hashing releases the interpreter lock, so threads use every core.
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        jobs = [pool.submit(_look, path, known, clock) for path in paths]
        seen = [job.result() for job in jobs]
    fresh = {str(path): look for path, (_, look) in zip(paths, seen, strict=True) if look is not None}
    if remembered is not None and any(known.get(path) != look for path, look in fresh.items()):
        with write_errors(remembered, kept="no source was changed"):
            remembered.parent.mkdir(parents=True, exist_ok=True)
            # Others build in the same folder at the same time: what they found out must not be lost either.
            with alone_with(remembered.with_suffix(".lock")):
                replace_json(remembered, _recall(remembered) | fresh)
    return [content for content, _ in seen]


def _recall(remembered: Path | None) -> dict[str, list[Any]]:
    """What an earlier call kept; nothing when it kept nothing readable, for hashing again is always right."""
    if remembered is None or not remembered.exists():
        return {}
    try:
        value = read_json(remembered)
    except DataError:
        return {}
    return cast("dict[str, list[Any]]", value) if isinstance(value, dict) else {}


def _look(path: Path, known: dict[str, list[Any]], clock: Callable[[], float]) -> tuple[Content, list[Any] | None]:
    """The content of a file, and what to remember of it (None: too young to trust its time stamp)."""
    try:
        before = path.stat()
        mark = [before.st_size, before.st_mtime_ns, before.st_ino]
        old = known.get(str(path))
        if isinstance(old, list) and old[:3] == mark and len(old) == 4:
            return Content(before.st_size, str(old[3])), old
        looked = clock()
        digest = checksum(path)
        after = path.stat()
    except OSError as cause:
        raise DataError(
            f"cannot read {path} ({cause.strerror}); check that it exists and that you may read it"
        ) from cause
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise DataError(f"{path} changed while it was read; wait until it is complete, then try again")
    settled = looked - before.st_mtime_ns / 1e9 > SETTLED_SECONDS
    return Content(before.st_size, digest), [*mark, digest] if settled else None
