"""Datasets made of lists, through the writer that builds use."""

from pathlib import Path

import numpy as np

from headway.data.dataset import Dataset, open_dataset
from headway.data.manifest import MANIFEST, VOCABULARY, Manifest
from headway.data.shards import ShardWriter
from headway.durable import checksum, replace_json

Document = list[list[int]]


def made(folder: Path, shards: list[list[Document]], *, split: str = "simple") -> Dataset:
    """A Dataset whose documents are lists of segments of token ids, in the given shards."""
    folder.mkdir(parents=True)
    entries = []
    for number, documents in enumerate(shards):
        with ShardWriter(folder, f"{number:05d}", dtype=np.uint16, segmented=split != "whole") as writer:
            for document in documents:
                ids = np.array([token for segment in document for token in segment], dtype=np.uint16)
                writer.append(ids, np.array([len(ids)]), np.array([len(segment) for segment in document], dtype=int))
        entries.append(writer.shard())
    vocabulary = {"format": 1, "spelling": "words", "symbols": ["a", "b", "c"]}
    replace_json(folder / VOCABULARY, vocabulary)
    manifest = Manifest(
        key="k",
        documents=sum(entry.documents for entry in entries),
        tokens=sum(entry.tokens for entry in entries),
        dtype="uint16",
        split=split,
        tokenizer={"name": "words", "digest": "d"},
        vocabulary={"checksum": checksum(folder / VOCABULARY)},
        skipped={},
        components={"max_tokens": None},
        sources=[],
        shards=entries,
    )
    replace_json(folder / MANIFEST, manifest.to_json())
    return open_dataset(folder)


def of_lengths(folder: Path, lengths: list[int], *, per_shard: int = 3) -> Dataset:
    """A Dataset of unsplit documents with these lengths; token i of the whole corpus has the id i."""
    ends = np.cumsum([0, *lengths])
    documents: list[Document] = [[list(range(ends[i], ends[i + 1]))] for i in range(len(lengths))]
    shards = [documents[start : start + per_shard] for start in range(0, len(documents), per_shard)]
    return made(folder, shards, split="whole")
