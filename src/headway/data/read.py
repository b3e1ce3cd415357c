"""Reading a part of a source, whatever its format."""

from collections.abc import Callable, Iterator

from headway.data.sources import Document, Format, Part, Skipped
from headway.data.streams import decoded, open_source

Reader = Callable[[Part, str], Iterator[Document | Skipped]]


def read_part(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The records of a part in order, each a document or the reason why it is none; a DataError for a bad file."""
    return _reader(part.source.format)(part, field)


def _reader(format: Format) -> Reader:
    # Imported here, so that reading jsonl loads no arrow and no `datasets`.
    if format == "jsonl":
        from headway.data.lines import read_lines

        return read_lines
    if format == "json":
        from headway.data.arrays import read_array

        return read_array
    if format == "text":
        return read_text
    if format == "hub":
        from headway.data.hub import read_hub

        return read_hub
    from headway.data.tables import read_csv, read_parquet

    return read_parquet if format == "parquet" else read_csv


def read_text(part: Part, field: str) -> Iterator[Document | Skipped]:  # noqa: ARG001 # a text file has no fields
    """The whole file as one document."""
    source = part.source
    with open_source(source) as file:
        text = decoded(file.read(), source=source, offset=0).removeprefix("\ufeff")
    yield Document(text, 0, source.name) if text else Skipped("empty text", 0, source.name)
