"""The last steps of a build: one vocabulary, the manifest, the final name."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.data.join import join
from headway.data.key import Key
from headway.data.manifest import MANIFEST, SHARDS, VOCABULARY, Manifest, Shard, read_manifest, shard_files
from headway.data.proof import Identity
from headway.data.shards import Marker
from headway.data.vocabulary import Vocabulary
from headway.durable import checksum, replace_bytes, replace_json, sync_folder


def finish(
    folder: Path,
    markers: Sequence[Marker],
    key: Key,
    identity: Identity,
    *,
    vocabulary: Vocabulary | None,
    workers: int,
) -> None:
    """Write vocabulary and manifest; from then on the folder needs nothing but its name."""
    shards, dtype = [marker.shard for marker in markers], markers[0].dtype
    if vocabulary is None:
        joined = join(folder, markers, base=identity.base, threads=workers)
        shards, dtype, vocabulary = joined.shards, joined.dtype, joined.vocabulary
    described = _write_vocabulary(folder / VOCABULARY, vocabulary)
    manifest = Manifest(
        key=key.digest,
        documents=sum(shard.documents for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        dtype=dtype,
        split=key.components["split"],
        tokenizer={"name": identity.name, "digest": identity.digest},
        vocabulary=described,
        skipped=_skipped(markers),
        components=key.components,
        sources=key.sources,
        shards=shards,
    )
    replace_json(folder / MANIFEST, manifest.to_json())


def put_in_place(folder: Path, home: Path) -> None:
    """Remove what the manifest does not name, then give the folder its name."""
    manifest = read_manifest(folder)
    named = {path for shard in manifest.shards for path in _paths(folder, shard, manifest.dtype)}
    for path in (folder / SHARDS).iterdir():
        if path not in named:
            path.unlink()
    sync_folder(folder / SHARDS)
    folder.rename(home)
    sync_folder(home.parent)


def _paths(folder: Path, shard: Shard, dtype: str) -> list[Path]:
    return [path for path, _, _ in shard_files(folder, shard, dtype).values()]


def _write_vocabulary(path: Path, vocabulary: Vocabulary) -> dict[str, Any]:
    # Not `replace_json`: laid out for people, a million words take seconds to write.
    replace_bytes(path, json.dumps(vocabulary.to_json(), ensure_ascii=False, sort_keys=True).encode())
    return {"symbols": len(vocabulary), "digest": vocabulary.digest, "checksum": checksum(path)}


def _skipped(markers: Sequence[Marker]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for marker in markers:
        total.update(marker.skipped)
    return dict(sorted(total.items()))
