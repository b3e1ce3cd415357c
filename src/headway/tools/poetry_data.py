"""Finding what a training needs: the texts in a file or folder, and the vectors for their words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from headway.data.config import DocumentEnd
from headway.data.read import read_part
from headway.data.sources import Document, Skipped, Source, find_sources, split_sources
from headway.errors import DataError
from headway.tools.poetry_config import RANDOM, DataConfig
from headway.tools.vectors import find_glove_embeddings

VARIABLE = "HEADWAY_VECTORS"
# The files of the seeds, the best one first.
_KNOWN_FILES = (
    "multi_poem_dbbc_collection.json",
    "improved_dbbc_collection.json",
    "expanded_contemporary_poetry.json",
    "poetry_dataset.json",
    "poems.json",
)
_FIELDS = ("text", "lines")
_MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFormat:
    """What a file or folder holds, as far as it was read."""

    path: Path
    """What is read: the file given, or one chosen from the folder given, or all of the folder."""
    format: str
    """json, jsonl, text, csv, tsv or parquet; "mixed" for a folder with several."""
    text_field: str | None
    """The field that holds the text; None in plain text."""
    texts: DocumentEnd
    """Where texts of plain files end."""
    documents: int | None
    """Counted; None where there are more than 10,000 records."""
    skipped: dict[str, int]
    """Records without a text, by reason, of those that were read."""
    said: str | None = None
    """How the file was chosen."""


def detect_data_format(path: Path | str, *, text_field: str | None = None, texts: Any = None) -> DataFormat:
    """What is at a path and how it is read; a DataError that says what is wrong where it cannot be."""
    place, said = _chosen(Path(path))
    sources = find_sources(str(place), folder=Path.cwd())
    kinds = {source.format for source in sources}
    ends: DocumentEnd = texts or _ends(sources)
    field = None if kinds == {"text"} else text_field or _field(sources)
    documents, skipped, whole = _count(sources, field or _FIELDS[0], ends)
    return DataFormat(
        path=place,
        format=kinds.pop() if len(kinds) == 1 else "mixed",
        text_field=field,
        texts=ends,
        documents=documents if whole else None,
        skipped=skipped,
        said=said,
    )


def read_texts(path: Path | str, *, text_field: str | None = None, texts: Any = None) -> list[str]:
    """Every text at a path, in order."""
    found = detect_data_format(path, text_field=text_field, texts=texts)
    sources = find_sources(str(found.path), folder=Path.cwd())
    records = _records(sources, found.text_field or _FIELDS[0], found.texts)
    return [each.text for each in records if isinstance(each, Document)]


def find_vectors(data: DataConfig, *, beside: Path) -> str:
    """The vector file of a training: the one that is named, else the first of those that lie where they usually do.

    First the variable HEADWAY_VECTORS, a file or a folder; then the folder of the texts and the present one, each with
    its folders embeddings, data, data/embeddings and vectors. A DataError where there is none: vectors are made up for
    nobody who does not ask.
    """
    if RANDOM in (data.embeddings, data.embedding_type):
        return RANDOM
    if data.embeddings is not None:
        return str(Path(data.embeddings).expanduser().absolute())
    if data.embedding_type != "glove":
        raise DataError(
            f"files of {data.embedding_type} vectors are not looked for; name one: data={{'embeddings': path}}"
        )
    if told := os.environ.get(VARIABLE):
        return str(_told(Path(told).expanduser()))
    folders = dict.fromkeys((beside.absolute(), Path.cwd()))
    for folder in folders:
        try:
            return str(find_glove_embeddings(folder).absolute())
        except DataError:
            continue
    raise DataError(
        f"there is no file of word vectors (glove*.txt and the like) in {', '.join(map(str, folders))} nor in their "
        f"folders embeddings, data and vectors; put one there, name it in the variable {VARIABLE} or as "
        f"data={{'embeddings': path}}, or ask for made-up vectors with data={{'embeddings': '{RANDOM}'}}: "
        "every figure is then about these, not about the words"
    )


def folder_of(path: Path | str) -> Path:
    """The folder that a file is in, or the folder itself."""
    place = Path(path).expanduser()
    return place if place.is_dir() else place.parent


def _told(path: Path) -> Path:
    if path.is_dir():
        return find_glove_embeddings(path).absolute()
    if not path.is_file():
        raise DataError(
            f"{VARIABLE} names {path}, where there is nothing; name a file of vectors, or a folder with one"
        )
    return path.absolute()


def _chosen(path: Path) -> tuple[Path, str | None]:
    """A file of the seeds where a folder has one, else what is given."""
    place = path.expanduser().absolute()
    if not place.is_dir():
        return place, None
    there = [name for name in _KNOWN_FILES if (place / name).is_file()]
    if not there:
        return place, f"every file in {place}: it has none of {', '.join(_KNOWN_FILES)}"
    others = f"; not used: {', '.join(there[1:])}" if there[1:] else ""
    return place / there[0], f"{there[0]} in {place}{others}"


def _ends(sources: Sequence[Source]) -> DocumentEnd:
    """A plain file alone may hold many texts; of several, each is one."""
    if len(sources) != 1 or sources[0].format != "text":
        return "file"
    documents, _, _ = _count(sources, _FIELDS[0], "blank lines")
    return "blank lines" if documents > 1 else "file"


def _field(sources: Sequence[Source]) -> str:
    """The field with a text in most records; what is wrong with the first one where none has any."""
    counts = {field: _there(sources, field) for field in _FIELDS}
    best = max(_FIELDS, key=counts.__getitem__)
    if not counts[best]:
        _count(sources, _FIELDS[0], "file")
    return best


def _there(sources: Sequence[Source], field: str) -> int:
    try:
        return _count(sources, field, "file")[0]
    except DataError:
        return 0


def _count(sources: Sequence[Source], field: str, ends: DocumentEnd) -> tuple[int, dict[str, int], bool]:
    """Texts and records without one, by reason; and whether that is all there is."""
    skipped: Counter[str] = Counter()
    documents = records = 0
    for record in islice(_records(sources, field, ends), _MOST + 1):
        records += 1
        if isinstance(record, Skipped):
            skipped[record.reason] += 1
        else:
            documents += bool(record.text.strip())
    return documents, dict(skipped), records <= _MOST


def _records(sources: Sequence[Source], field: str, ends: DocumentEnd) -> Iterator[Document | Skipped]:
    return chain.from_iterable(read_part(part, field, texts=ends) for part in split_sources(sources))
