"""Any nesting of tensors and values in one safetensors file: the nesting and a checksum stand in its metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import xxhash
import zstandard
from safetensors.torch import load

from headway.errors import RunError
from headway.learners.gradient.files import Bytes
from headway.learners.gradient.snapshot import Image
from headway.learners.gradient.state import State, unpack

SUFFIX = ".safetensors"
COMPRESSED = ".zst"
_FACTS = "headway"
_TIED = "tied"
_CHECKSUM = "checksum"
_METADATA = "__metadata__"
_LENGTH = 8


def bundle(image: Image, facts: str) -> Iterator[Bytes]:
    """The bytes of a file that holds a snapshot and the facts that `pack` gave with it."""
    tied = json.dumps(dict(image.layout.tied))
    digest = _digest(facts, tied, image.body())
    yield image.layout.header({"format": "pt", _FACTS: facts, _TIED: tied, _CHECKSUM: digest})
    yield from image.body()


def compressed(parts: Iterable[Bytes]) -> Iterator[Bytes]:
    """The same bytes as a zstd stream."""
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    for each in parts:
        yield packer.compress(each)
    yield packer.flush()


def read_bundle(path: Path) -> Any:
    """What was saved, every byte checked; a RunError where a file is missing, damaged or not of this kind."""
    content = _content(path)
    begin = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        metadata = json.loads(content[_LENGTH:begin])[_METADATA]
        facts, tied, digest = metadata[_FACTS], metadata[_TIED], metadata[_CHECKSUM]
    except (ValueError, KeyError, TypeError) as cause:
        raise RunError(f"{path} is torn, or was not saved by Headway; restore it from a copy") from cause
    if _digest(facts, tied, [memoryview(content)[begin:]]) != digest:
        raise RunError(f"{path} does not have the checksum it was written with: it is damaged; restore it from a copy")
    stored = load(content)
    tensors = stored | {name: stored[known] for name, known in json.loads(tied).items()}
    return unpack(State(tensors, json.loads(facts)))


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise RunError(f"{path} is missing; look for the names that are in its folder")
    content = path.read_bytes()
    if path.suffix != COMPRESSED:
        return content
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    except zstandard.ZstdError as cause:
        raise RunError(f"{path} is damaged ({cause}); restore it from a copy") from cause


def _digest(facts: str, tied: str, body: Iterable[Bytes]) -> str:
    digest = xxhash.xxh3_128(f"{facts}\n{tied}\n".encode())
    for each in body:
        digest.update(each)
    return digest.hexdigest()
