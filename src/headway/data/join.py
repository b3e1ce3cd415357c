"""One vocabulary for shards that each grew their own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.data.manifest import Shard, shard_path
from headway.data.npy import NpyWriter, map_numbers, sync_file
from headway.data.shards import LOCAL, Marker, symbols_path
from headway.data.tokenizers import remap, unite
from headway.data.vocabulary import Vocabulary
from headway.durable import read_json

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Joined:
    """The shards in the ids of one vocabulary."""

    shards: list[Shard]
    vocabulary: Vocabulary
    dtype: str


def join(folder: Path, markers: Sequence[Marker], *, base: Vocabulary | None, threads: int) -> Joined:
    """Write every shard's tokens anew with ids of the united vocabulary, which begins with the base."""
    vocabulary = unite((read_json(symbols_path(folder, marker.shard.name)) for marker in markers), base)
    dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.uint32)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        tasks = [pool.submit(_rewrite, folder, marker, vocabulary, dtype) for marker in markers]
        return Joined([task.result() for task in tasks], vocabulary, dtype.name)


def _rewrite(folder: Path, marker: Marker, vocabulary: Vocabulary, dtype: np.dtype[Any]) -> Shard:
    shard = marker.shard
    table = remap(read_json(symbols_path(folder, shard.name)), vocabulary).astype(dtype)
    local = map_numbers(shard_path(folder, shard.name, LOCAL), marker.dtype, shard.tokens)
    path = shard_path(folder, shard.name, "tokens")
    with NpyWriter(path, dtype) as writer:
        for start in range(0, shard.tokens, _BLOCK):
            writer.append(table[local[start : start + _BLOCK]])
    sync_file(path)
    return replace(shard, checksums=shard.checksums | {"tokens": writer.checksum})
