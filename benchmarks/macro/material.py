"""What the experiments work on: the corpus or a first part of it, its Dataset, and larger Datasets derived from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.data.build import build
from headway.data.config import DataSection
from headway.data.dataset import Dataset, open_dataset
from headway.data.manifest import MANIFEST, SHARDS, VOCABULARY, Shard, shard_path
from headway.data.npy import NpyWriter, read_range
from headway.durable import replace_json

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
# GPT-2's <|endoftext|>, which stays what it is.
_LAST_ORDINARY = 50256


@dataclass(frozen=True, slots=True)
class Corpus:
    """Files of one JSON object a line."""

    files: tuple[str, ...]
    manifest: dict[str, Any]

    def texts(self) -> Iterator[str]:
        """Every text, in order."""
        for name in self.files:
            with Path(name).open(encoding="utf-8") as lines:
                for line in lines:
                    yield json.loads(line)["text"]


def corpus(scratch: Path, megabytes: int | None) -> Corpus:
    """The whole corpus, or a copy of its first megabytes."""
    manifest = json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))
    whole = [CORPUS / entry["name"] for entry in manifest["files"]]
    if megabytes is None:
        return Corpus(tuple(map(str, whole)), manifest)
    part, room, documents = scratch / f"corpus-{megabytes}.jsonl", megabytes * 1_000_000, 0
    with part.open("wb") as to:
        for path in whole:
            for line in path.open("rb"):
                room -= len(line)
                if room < 0:
                    break
                to.write(line)
                documents += 1
    return Corpus((str(part),), {"first_megabytes": megabytes, "documents": documents, "of": manifest})


def verse(scratch: Path, megabytes: int | None) -> Corpus:
    """The verse that `benchmarks/verse.py` made; its vectors lie beside it."""
    del scratch, megabytes
    manifest = json.loads((CORPUS / "verse-manifest.json").read_text(encoding="utf-8"))
    return Corpus(tuple(str(CORPUS / file["name"]) for file in manifest["files"]), manifest)


def nothing(scratch: Path, megabytes: int | None) -> Corpus:
    """For experiments that make what they work on."""
    del scratch, megabytes
    return Corpus((), {})


def plan(material: Corpus, **learner: Any) -> dict[str, Any]:
    """A plan for the corpus as a mapping: GPT-2 tokens, whole documents, widths 5, 7, 9, everything else by default."""
    return {"name": "macro", "data": {"sources": list(material.files)}, "learner": {"kind": "patterns", **learner}}


def dataset(material: Corpus, cache: Path) -> Dataset:
    """The corpus as a Dataset in a cache that trainings can share."""
    return build(DataSection(sources=material.files), folder=Path(), cache=cache, workers=2)


def copies(source: Dataset, folder: Path, *, number: int) -> Dataset:
    """A Dataset with the documents of another `number` times, each time under another bijection of its token ids.

    Lengths, repetitions and frequencies stay those of real text; almost no pattern of one copy occurs in another.
    """
    (folder / SHARDS).mkdir(parents=True)
    shutil.copyfile(source.folder / VOCABULARY, folder / VOCABULARY)
    shards: list[Shard] = []
    for copy in range(number):
        exchange = np.arange(1 << 16, dtype=source.dtype)
        if copy:
            exchange[:_LAST_ORDINARY] = np.random.Generator(np.random.Philox(copy)).permutation(_LAST_ORDINARY)
        shards += [
            _copied(source, shard, folder, f"{len(shards) + i:05d}", exchange)
            for i, shard in enumerate(source.manifest.shards)
        ]
    manifest = replace(
        source.manifest,
        key=f"{source.key[:24]}x{number}",
        documents=source.documents * number,
        tokens=source.tokens * number,
        shards=shards,
    )
    replace_json(folder / MANIFEST, manifest.to_json())
    return open_dataset(folder)


def _copied(source: Dataset, shard: Shard, folder: Path, name: str, exchange: Any) -> Shard:
    shutil.copyfile(shard_path(source.folder, shard.name, "documents"), shard_path(folder, name, "documents"))
    tokens = NpyWriter(shard_path(folder, name, "tokens"), source.dtype)
    tokens.append(exchange[read_range(shard_path(source.folder, shard.name, "tokens"), source.dtype, 0, shard.tokens)])
    tokens.close()
    return replace(shard, name=name, checksums={**shard.checksums, "tokens": tokens.checksum})
