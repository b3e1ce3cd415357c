"""What each pattern remembers of documents: KATO's trainer notes them at the first pattern a document learns per level."""

from __future__ import annotations

from pathlib import Path

from headway.learners.patterns.manifest import Manifest
from headway.learners.patterns.namer import PREFIX
from headway.learners.patterns.runs import RunReader


def metadata(folder: Path, manifest: Manifest, level: int, name: str) -> dict[str, list[str]]:
    """Title, author and book index as KATO keeps them: each the sorted set of its values as strings."""
    key = int(name.removeprefix(PREFIX)[:16], 16)
    documents: set[int] = set()
    for run in manifest.notes:
        if run.level == level:
            with RunReader(folder, run) as reader:
                documents.update(int(row.symbols[0]) for row in reader.find(key))
    if not documents:
        return {}
    source = manifest.identity.source
    return {
        "author": ["Unknown"],
        "book_idx": ["1"],
        "title": sorted(f"{source}_sample_{document}" for document in documents),
    }
