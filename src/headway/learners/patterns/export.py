"""A memory as a table that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet

from headway.errors import RunError
from headway.learners.patterns import arrow
from headway.outside import written

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory

# pyarrow comes without types.
RecordBatch = Any
Write = Callable[[RecordBatch], None]
_SCHEMA = pa.schema([pa.field("level", pa.int32(), nullable=False), *arrow.SCHEMA])
_FLAT = _SCHEMA.set(_SCHEMA.get_field_index("symbols"), pa.field("symbols", pa.string(), nullable=False))
_KEPT = "the memory is untouched"


def export(memory: Memory, path: Path, *, format: Literal["parquet", "jsonl", "csv"], level: int | None) -> int:
    """Write the patterns of one level, or of all, in order of level and name; how many."""
    if format not in _FORMATS:
        raise RunError(f"there is no format {format!r}; there are {', '.join(_FORMATS)}")
    levels = memory.levels if level is None else [memory.level(level)]
    number = 0
    with written(path, kept=_KEPT, ours=[memory.folder]) as draft, _FORMATS[format](draft) as write:
        for each in levels:
            for batch in arrow.batches(each.store, memory.vocabulary):
                column = pa.array(np.full(len(batch), each.number, np.int32))
                write(pa.record_batch([column, *batch.columns], schema=_SCHEMA))
                number += len(batch)
    return number


@contextmanager
def _parquet(path: Path) -> Generator[Write]:
    with parquet.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        yield writer.write_batch


@contextmanager
def _jsonl(path: Path) -> Generator[Write]:
    with path.open("wb") as file:

        def write(batch: RecordBatch) -> None:
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in batch.to_pylist())

        yield write


@contextmanager
def _csv(path: Path) -> Generator[Write]:
    """Symbols as a JSON list in one column: CSV has no lists."""
    with pyarrow.csv.CSVWriter(path, _FLAT) as writer:

        def write(batch: RecordBatch) -> None:
            symbols = [orjson.dumps(row).decode() for row in batch.column("symbols").to_pylist()]
            writer.write_batch(pa.record_batch([*batch.columns[:-1], pa.array(symbols)], schema=_FLAT))

        yield write


_FORMATS: dict[str, Any] = {"parquet": _parquet, "jsonl": _jsonl, "csv": _csv}
