"""Merging run files: slices of one key range from every run, sorted and added up, range after range.

Keys are hashes, so ranges of equal width hold about equally many rows and memory stays bounded whatever the size.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence, Set
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

from headway.learners.patterns.runs import WIDE, RunFile, RunReader, RunWriter
from headway.learners.patterns.space import Space
from headway.learners.patterns.tally import Tally, merge

DRAFT = ".draft"
# What a merge holds in memory where nobody sets another bound.
MERGE_BYTES = 80 << 20
_MOST_ROWS, _LEAST_ROWS = 1 << 19, 1 << 6
# In buckets, added up, and once more while the part before is being written: places and counts, then what is stored.
_PLACES, _COPIES = 80, 3


def rows_within(memory: int, runs: Sequence[RunFile]) -> int:
    """How many rows of these runs may be merged at once to stay within some bytes."""
    rows = sum(run.rows for run in runs)
    stored = sum(run.bytes for run in runs) // max(1, rows)
    return max(_LEAST_ROWS, min(_MOST_ROWS, memory // (_PLACES + _COPIES * stored)))


def merged(readers: Sequence[RunReader], *, rows: int | None = None) -> Iterator[Tally]:
    """The sum of runs in order of key, in pieces made from about `rows` rows each."""
    rows = rows or rows_within(MERGE_BYTES, [reader.run for reader in readers])
    total = sum(reader.run.rows for reader in readers)
    ranges = total // rows + 1
    bounds = [(i << 64) // ranges for i in range(ranges + 1)]
    ranks = [reader.at(bounds) for reader in readers]
    space = Space()
    for i in range(ranges):
        parts = [reader.rows(at[i], at[i + 1]) for reader, at in zip(readers, ranks, strict=True) if at[i] < at[i + 1]]
        if parts:
            yield merge(parts, space=space)
        for reader in readers:
            reader.forget()


def compact(
    folder: Path, runs: Sequence[RunFile], *, taken: Set[str], rows: int | None = None, stop: Callable[[], bool]
) -> RunFile:
    """Merge runs of one level into one durable file that no manifest names yet; equal sums give equal bytes."""
    level = runs[0].level
    suffix = runs[0].file[runs[0].file.index(".") :]
    with ExitStack() as stack:
        readers = [stack.enter_context(RunReader(folder, run)) for run in runs]
        draft = folder / f"compact{suffix}{DRAFT}"
        largest = _largest(readers, rows=rows)
        writer = RunWriter(draft, level=level, dtype=readers[0].dtype, largest=largest)
        try:
            with closing(_ahead(merged(readers, rows=rows))) as parts:
                for part in parts:
                    if stop():
                        raise CancelledError
                    writer.write(part)
            return writer.close_by_content(suffix=suffix, taken=taken)
        except BaseException:
            # However it ends, a draft that nobody will finish must not stay; the cause goes on.
            writer.discard()
            raise


def _ahead(parts: Iterator[Tally]) -> Generator[Tally]:
    """Each part while a thread makes the next one; merging and writing take about equally long."""
    with ThreadPoolExecutor(1, thread_name_prefix="headway-merge") as thread:
        coming = thread.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = thread.submit(next, parts, None)
            yield part


def _largest(readers: Sequence[RunReader], *, rows: int | None) -> int:
    """The largest sum, or a bound of it where that decides nothing: it chooses how wide counts are stored."""
    bound = sum(reader.run.largest for reader in readers)
    if bound < WIDE:
        return bound
    return max(int(part.counts.max()) for part in merged(readers, rows=rows))
