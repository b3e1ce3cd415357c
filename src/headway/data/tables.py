"""Reading columns: parquet by row groups, csv and tsv by rows."""

import csv
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from headway.data.records import no_field
from headway.data.sources import Document, Part, Skipped, Source
from headway.data.streams import decoded, open_source
from headway.errors import DataError

_ROWS = 1024
# The csv module refuses longer fields; this is the largest limit every platform takes.
_LONGEST_FIELD = 2**31 - 1


def row_group_parts(source: Source, part_bytes: int) -> Iterator[tuple[int, int, int]]:
    """First and last-plus-one row group, and bytes on disk, of consecutive groups that together reach part_bytes."""
    with _parquet(source) as file:
        metadata: Any = file.metadata
        start = weight = 0
        for group in range(metadata.num_row_groups):
            columns = (metadata.row_group(group).column(number) for number in range(metadata.num_columns))
            weight += sum(column.total_compressed_size for column in columns)
            if weight >= part_bytes or group == metadata.num_row_groups - 1:
                yield start, group + 1, weight
                start, weight = group + 1, 0


def read_parquet(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The rows of a part's row groups; of all of them when the file is compressed as a whole."""
    source = part.source
    with _parquet(source) as file:
        _check_column(file.schema_arrow, field, source)
        metadata = file.metadata
        first, last = (part.start, part.stop) if source.compression is None else (0, metadata.num_row_groups)
        row = sum(metadata.row_group(group).num_rows for group in range(first))
        index = 0
        for batch in file.iter_batches(_ROWS, row_groups=list(range(first, last)), columns=[field]):
            for text in _texts(batch.column(0), source, row + index):
                place = f"{source.name}:row {row + index}"
                yield Document(text, index, place) if text else Skipped(_absent(text, field), index, place)
                index += 1


def _absent(text: str | None, field: str) -> str:
    return "empty text" if text == "" else f"field {field!r} is null, not text"


def _texts(column: Any, source: Source, row: int) -> list[str | None]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError as cause:
        raise DataError(
            f"{source.name}, row {row + _bad_row(column)}: invalid UTF-8; write the file anew with valid text"
        ) from cause


def _bad_row(column: Any) -> int:
    row = 0
    with suppress(UnicodeDecodeError):
        for row, value in enumerate(column):  # noqa: B007 # the row that fails is the answer
            value.as_py()
    return row


def _check_column(schema: Any, field: str, source: Source) -> None:
    import pyarrow.types as kinds

    if schema.names.count(field) != 1:
        raise _wrong_columns(source, field, schema.names)
    type = schema.field(field).type
    inner = type.value_type if kinds.is_dictionary(type) else type
    if not (kinds.is_string(inner) or kinds.is_large_string(inner) or kinds.is_string_view(inner)):
        raise DataError(f"{source.name}: column {field!r} holds {type}, not text; choose another data.field")


@contextmanager
def _parquet(source: Source) -> Generator[Any]:
    """The open parquet file; compressed ones are unpacked to a temporary file, since reading starts at the end."""
    import pyarrow
    import pyarrow.parquet as parquet

    with open_source(source) as plain, tempfile.TemporaryFile() as unpacked:
        try:
            yield parquet.ParquetFile(_seekable(source, plain, unpacked))
        except (pyarrow.ArrowException, OSError) as cause:
            raise DataError(f"{source.name} cannot be read as parquet ({cause}); write it anew") from cause


def _seekable(source: Source, plain: BinaryIO, unpacked: Any) -> Any:
    if source.compression is None:
        return plain
    shutil.copyfileobj(plain, unpacked)
    unpacked.seek(0)
    return unpacked


def read_csv(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The rows of a csv or tsv file whose first row names the columns; fields may be quoted and hold line breaks."""
    source = part.source
    csv.field_size_limit(_LONGEST_FIELD)
    with open_source(source) as file:
        rows = csv.reader(_lines(file, source), delimiter="\t" if source.format == "tsv" else ",", strict=True)
        try:
            header = next(rows, None)
            if header is not None:
                yield from _rows(rows, header, field, source)
        except csv.Error as cause:
            raise DataError(
                f"{source.name}, line {rows.line_num}: {cause}; quote the field and double the quotes inside it"
            ) from cause


def _rows(rows: Any, header: list[str], field: str, source: Source) -> Iterator[Document | Skipped]:
    if header.count(field) != 1:
        raise _wrong_columns(source, field, header)
    column = header.index(field)
    for index, row in enumerate(rows):
        if len(row) > len(header):
            raise DataError(
                f"{source.name}, line {rows.line_num}: {len(row)} fields, but {len(header)} columns; "
                "quote fields that hold the separator"
            )
        place = f"{source.name}:row {index}"
        if len(row) > column and row[column]:
            yield Document(row[column], index, place)
        else:
            yield Skipped(_lacking(row, column, field), index, place)


def _lacking(row: list[str], column: int, field: str) -> str:
    if not row:
        return "blank line"
    return "empty text" if len(row) > column else f"no field {field!r}"


def _lines(file: BinaryIO, source: Source) -> Iterator[str]:
    offset = 0
    for line in file:
        text = decoded(line, source=source, offset=offset)
        yield text.removeprefix("\ufeff") if offset == 0 else text
        offset += len(line)


def _wrong_columns(source: Source, field: str, names: list[str]) -> DataError:
    if field in names:
        return DataError(f"{source.name}: {names.count(field)} columns are named {field!r}; rename all but one")
    return no_field(source.name, field, names, holder="table")
