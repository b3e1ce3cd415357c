"""Reading a part of a source, whatever its format."""

from collections.abc import Callable, Iterator
from functools import partial

from headway.data.config import DocumentEnd
from headway.data.sources import Document, Format, Part, Skipped, Source
from headway.data.streams import decoded, open_source

Reader = Callable[[Part, str], Iterator[Document | Skipped]]


def read_part(part: Part, field: str, *, texts: DocumentEnd = "file") -> Iterator[Document | Skipped]:
    """The records of a part in order, each a document or the reason why it is none; a DataError for a bad file."""
    return _reader(part.source.format, texts)(part, field)


def _reader(format: Format, texts: DocumentEnd) -> Reader:
    # Imported here, so that reading jsonl loads no arrow and no `datasets`.
    if format == "jsonl":
        from headway.data.lines import read_lines

        return read_lines
    if format == "json":
        from headway.data.arrays import read_array

        return read_array
    if format == "text":
        return read_text if texts == "file" else partial(_read_texts, texts=texts)
    if format == "hub":
        from headway.data.hub import read_hub

        return read_hub
    from headway.data.tables import read_csv, read_parquet

    return read_parquet if format == "parquet" else read_csv


def read_text(part: Part, field: str) -> Iterator[Document | Skipped]:  # noqa: ARG001 # a text file has no fields
    """The whole file as one document."""
    name, text = part.source.name, _content(part.source)
    yield Document(text, 0, name) if text else Skipped("empty text", 0, name)


def _read_texts(part: Part, field: str, *, texts: DocumentEnd) -> Iterator[Document | Skipped]:  # noqa: ARG001
    """The texts of a file that holds many."""
    from headway.data.texts import cut

    name, content = part.source.name, _content(part.source)
    if not content.strip():
        yield Skipped("empty text", 0, name)
    for index, (line, text) in enumerate(cut(content, texts)):
        yield Document(text, index, f"{name}:line {line}")


def _content(source: Source) -> str:
    with open_source(source) as file:
        return decoded(file.read(), source=source, offset=0).removeprefix("\ufeff")
