"""The ledger as tables and text."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import localtime, strftime
from typing import Any

from headway.errors import RunError
from headway.outside import put
from headway.run.history.accuracy import Accuracy, Quantity
from headway.run.history.ledger import Entry

_RECENT = 5


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with named columns; prints as text, and becomes a data frame where pandas is installed."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return not self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        return [row[column] for row in self.rows]

    def to_dict(self) -> list[dict[str, Any]]:
        """A dict for each row."""
        return [dict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """The same as a DataFrame."""
        try:
            import pandas  # pyright: ignore[reportMissingImports, reportMissingModuleSource] # brought by the user
        except ModuleNotFoundError as cause:
            raise RunError("a data frame needs pandas; install it with: pip install pandas") from cause
        return pandas.DataFrame(self.to_dict(), columns=list(self.columns))

    def __str__(self) -> str:
        cells = [list(self.columns), *([_cell(row[name]) for name in self.columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
        return "\n".join(lines)


def comparison(entries: Sequence[Entry]) -> Table:
    """Configuration and results of trainings, the newest first; what was not measured is None."""
    ordered = sorted(entries, key=lambda entry: -entry.timestamp)
    rows = tuple(_row(entry) for entry in ordered)
    return Table(tuple(rows[0]) if rows else (), rows)


def summary(entries: Sequence[Entry], found: Accuracy) -> Iterator[str]:
    """The ledger in some lines; entries come the newest first."""
    yield f"training history: {len(entries)} run{'' if len(entries) == 1 else 's'}"
    if not entries:
        return
    yield f"from {_when(entries[-1].timestamp)} to {_when(entries[0].timestamp)}"
    for name, quantity in (("time", found.time), ("storage", found.storage), ("memory", found.memory)):
        yield f"forecasts of {name}: {_forecasts(quantity)}"
    for entry in entries[:_RECENT]:
        time = _against(entry.actual_time_seconds, entry.estimated_time_seconds, "s")
        storage = _against(entry.actual_storage_gb, entry.estimated_storage_gb, "GB")
        yield f"{entry.run_id} ({_when(entry.timestamp)}): time {time}; storage {storage}"


def write_csv(entries: Sequence[Entry], path: Path) -> None:
    """A line for each training."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(_CSV), restval="")
    writer.writeheader()
    writer.writerows([{name: read(entry) for name, read in _CSV.items()} for entry in entries])
    put(path, text.getvalue().encode(errors="backslashreplace"), kept="the history is untouched", option="filepath")


def _row(entry: Entry) -> dict[str, Any]:
    config = entry.config
    sizes: list[int] = config.get("chunk_sizes") or []
    uniform = len(set(sizes)) == 1
    seconds, samples = entry.actual_time_seconds, entry.samples_processed
    return {
        "Run ID": entry.run_id,
        "Timestamp": _when(entry.timestamp),
        "Dataset": entry.dataset_key,
        "Samples": samples,
        "Chunk Size": str(sizes[0]) if uniform else ",".join(map(str, sizes)) or None,
        "Chunk Pattern": _pattern(sizes),
        "Chunk Min": min(sizes, default=None),
        "Chunk Max": max(sizes, default=None),
        "Chunk Mean": round(sum(sizes) / len(sizes), 1) if sizes else None,
        "Chunk Uniform": uniform if sizes else None,
        "Levels": config.get("num_levels"),
        "Batch Size": config.get("batch_size"),
        "Workers": config.get("num_workers"),
        "Time (s)": _round(seconds, 2),
        "Rate (samples/s)": round(samples / seconds, 2) if samples and seconds else None,
        "Storage (MB)": _round(_storage(entry), 2),
        "Total Patterns": _patterns(entry),
        "Hardware": entry.hardware_tier,
        "Peak Mem (MB)": _round(entry.peak_memory_mb, 1),
        "Avg CPU (%)": _round(entry.avg_cpu_percent, 1),
    }


def _pattern(sizes: Sequence[int]) -> str | None:
    if not sizes:
        return None
    if len(set(sizes)) == 1:
        return "uniform"
    if list(sizes) == sorted(sizes):
        return "increasing"
    return "decreasing" if list(sizes) == sorted(sizes, reverse=True) else "mixed"


def _storage(entry: Entry) -> float | None:
    if entry.total_storage_mb is not None:
        return entry.total_storage_mb
    return None if entry.actual_storage_gb is None else entry.actual_storage_gb * 1024


def _patterns(entry: Entry) -> int | None:
    if entry.total_patterns is not None:
        return entry.total_patterns
    learned = entry.patterns_learned
    return learned.get("total", sum(learned.values())) if learned else None


def _forecasts(quantity: Quantity) -> str:
    if quantity.error_percent is None or quantity.signed_percent is None:
        return "none"
    held = "" if quantity.coverage is None else f", {100 * quantity.coverage:.0f} % inside of their interval"
    trend = quantity.trend.replace("_", " ")
    return (
        f"{quantity.forecasts}, off by {quantity.error_percent:.1f} % ({quantity.signed_percent:+.1f} %){held}; {trend}"
    )


def _against(actual: float | None, forecast: float | None, unit: str) -> str:
    shown = "not measured" if actual is None else f"{actual:.2f} {unit}"
    return f"{shown} (no forecast)" if forecast is None else f"{shown} (forecast {forecast:.2f} {unit})"


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _when(timestamp: float, shape: str = "%Y-%m-%d %H:%M") -> str:
    return strftime(shape, localtime(timestamp))


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


_CSV: dict[str, Callable[[Entry], object]] = {
    "run_id": lambda entry: entry.run_id,
    "timestamp": lambda entry: _when(entry.timestamp, "%Y-%m-%d %H:%M:%S"),
    "num_levels": lambda entry: entry.config.get("num_levels"),
    "chunk_size": lambda entry: (entry.config.get("chunk_sizes") or [None])[0],
    "estimated_time_s": lambda entry: entry.estimated_time_seconds,
    "actual_time_s": lambda entry: entry.actual_time_seconds,
    "time_error_pct": lambda entry: entry.get_time_error_percent(),
    "estimated_storage_gb": lambda entry: entry.estimated_storage_gb,
    "actual_storage_gb": lambda entry: entry.actual_storage_gb,
    "storage_error_pct": lambda entry: entry.get_storage_error_percent(),
    "samples_processed": lambda entry: entry.samples_processed,
    "samples_per_sec": lambda entry: entry.samples_per_second,
    "peak_memory_mb": lambda entry: entry.peak_memory_mb,
    "avg_cpu_pct": lambda entry: entry.avg_cpu_percent,
}
