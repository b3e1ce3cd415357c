"""What patterns remember of documents: KATO's trainer notes each at the first pattern it taught a level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.learners.patterns.manifest import Manifest, Origin
from headway.learners.patterns.runs import RunReader, open_runs
from headway.learners.patterns.tally import Tally

# A noted document is one symbol: its number, and above it the place of its origin in the manifest.
_BITS = 40
_NUMBER = (1 << _BITS) - 1


class Notes:
    """The noted documents of a memory, by the key of the pattern that each began with."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._runs = manifest.notes
        self._origins = origins_of(manifest) or (Origin(manifest.identity.source),)

    @cached_property
    def _readers(self) -> list[RunReader]:
        return open_runs(self._folder, self._runs)

    def metadata(self, level: int, key: int) -> dict[str, list[str]]:
        """Title, author and book index as KATO keeps them: each the sorted set of its values as strings."""
        readers = (reader for reader in self._readers if reader.run.level == level)
        symbols = {int(row.symbols[0]) for reader in readers for row in reader.find(key)}
        if not symbols:
            return {}
        values = [_described(self._origins[symbol >> _BITS], symbol & _NUMBER) for symbol in symbols]
        return {name: sorted({value[name] for value in values}) for name in ("author", "book_idx", "title")}

    def close(self) -> None:
        """Let go of the files."""
        for reader in self.__dict__.pop("_readers", []):
            reader.close()


def _described(origin: Origin, number: int) -> dict[str, str]:
    title = f"{origin.title}_sample_{number}" if origin.numbered else origin.title
    return {"author": origin.author, "book_idx": "1" if origin.numbered else str(number + 1), "title": title}


def origin_of(symbols: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Which origin each noted document has."""
    return symbols >> np.uint64(_BITS)


def origins_of(manifest: Manifest) -> tuple[Origin, ...]:
    """The origins that the notes of a memory count from; none where nothing is noted."""
    if manifest.origins or not manifest.notes:
        return manifest.origins
    return (Origin(manifest.identity.source),)


def renumbered(notes: Tally, places: Sequence[int]) -> Tally:
    """Notes whose origin i is now origin `places[i]`."""
    moved = np.array(places, np.uint64)[notes.symbols >> np.uint64(_BITS)] << np.uint64(_BITS)
    return Tally(notes.keys, notes.counts, notes.offsets, moved | (notes.symbols & np.uint64(_NUMBER)))


def own_origins(documents: int) -> NDArray[np.int64]:
    """Numbers under which documents are noted when document i has the origin i."""
    numbers = np.arange(documents, dtype=np.int64)
    return (numbers << _BITS) | numbers
