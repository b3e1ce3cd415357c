"""Makes shards, one after the other, in whichever process it lives."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from headway.data.shards import (
    Job,
    Marker,
    Recipe,
    ShardWriter,
    forget,
    make_durable,
    symbols_path,
    write_documents,
)
from headway.data.tokenizers import Tokenizer
from headway.durable import checksum, write_errors

KEPT = "the shards that are complete are kept"


class Maker:
    """Tokenises jobs into shards; the disk takes one shard while the next is tokenised."""

    def __init__(self, recipe: Recipe, folder: Path, *, tokenizer: Tokenizer, done: Callable[[Marker], None]) -> None:
        self._recipe = recipe
        self._folder = folder
        self._tokenizer = tokenizer
        self._done = done
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="shard-disk")
        self._pending: Future[None] | None = None

    def make(self, job: Job, *, tick: Callable[[], None] = lambda: None) -> None:
        """Write the shard of a job; `done` hears of it, from another thread, when it is durable."""
        with write_errors(self._folder, kept=KEPT):
            marker, paths = self._write(job, tick)
        self.wait()
        self._pending = self._disk.submit(self._keep, marker, paths)

    def wait(self) -> None:
        """Return when the last shard is durable, or raise what kept it from being so."""
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def close(self) -> None:
        """Let go of the thread."""
        self._disk.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _write(self, job: Job, tick: Callable[[], None]) -> tuple[Marker, list[Path]]:
        forget(self._folder, job.name)
        encoder = self._encoder()
        growing = encoder.growing
        dtype = np.dtype(np.uint32 if growing else encoder.dtype)
        segmented = self._recipe.split != "whole"
        with ShardWriter(self._folder, job.name, dtype=dtype, segmented=segmented, growing=growing) as writer:
            skipped = write_documents(job, self._recipe, writer, encoder=encoder, tick=tick)
        paths = writer.paths
        if growing:
            paths.append(_write_symbols(self._folder, job.name, encoder))
        symbols = checksum(paths[-1]) if growing else None
        marker = Marker(
            shard=writer.shard(),
            skipped=dict(skipped),
            limit=job.limit,
            dtype=dtype.name,
            growing=growing,
            engine=encoder.engine,
            symbols=symbols,
        )
        return marker, paths

    def _encoder(self) -> Tokenizer:
        # A growing vocabulary starts anew in every shard, so that a shard depends on nothing but its text.
        self._tokenizer.start_over()
        return self._tokenizer

    def _keep(self, marker: Marker, paths: list[Path]) -> None:
        with write_errors(self._folder, kept=KEPT):
            make_durable(self._folder, marker, paths)
        self._done(marker)


def _write_symbols(folder: Path, name: str, encoder: Tokenizer) -> Path:
    path = symbols_path(folder, name)
    path.write_text(json.dumps(encoder.symbols), encoding="utf-8")
    return path
