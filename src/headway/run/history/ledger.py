"""A ledger of trainings, kept by programs with a loop of their own: what was forecast, and what came of it.

One SQLite file, the truth itself: every entry is committed before anything else is done with it. Files of kato-lm's
training history are read and carried on.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from itertools import count as numbers
from pathlib import Path
from typing import Any

from headway.errors import RunError

_TABLE = "training_runs"
_WAIT_SECONDS = 30.0
_JSON = ("config", "patterns_learned", "errors", "warnings", "nodes", "versions", "machine", "intervals")
_UNIQUE = "run_id TEXT PRIMARY KEY, timestamp REAL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One training; None is what was not forecast or not measured. Times in seconds, sizes as their names say."""

    run_id: str
    timestamp: float
    config: dict[str, Any]
    estimated_time_seconds: float | None = None
    estimated_storage_gb: float | None = None
    estimated_memory_mb: float | None = None
    actual_time_seconds: float | None = None
    actual_storage_gb: float | None = None
    actual_memory_mb: float | None = None
    samples_processed: int | None = None
    samples_per_second: float | None = None
    patterns_learned: dict[str, int] = field(default_factory=dict[str, int])
    peak_memory_mb: float | None = None
    avg_cpu_percent: float | None = None
    disk_write_speed_mbps: float | None = None
    errors: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    dataset_key: str = "unknown"
    hardware_tier: str = "unknown"
    notes: str = ""
    snapshot_path: str | None = None
    total_patterns: int | None = None
    total_observations: int | None = None
    total_storage_mb: float | None = None
    nodes: dict[str, Any] = field(default_factory=dict[str, Any])
    """By node: patterns, storage in MiB, mean frequency."""
    intervals: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of a forecast that came with one: least and most, by `time`, `storage`, `memory`."""
    machine: dict[str, Any] = field(default_factory=dict[str, Any])
    versions: dict[str, str] = field(default_factory=dict[str, str])

    def get_time_error_percent(self) -> float | None:
        """How far off the forecast of the time was; None without one."""
        return _off(self.estimated_time_seconds, self.actual_time_seconds)

    def get_storage_error_percent(self) -> float | None:
        """How far off the forecast of the storage was; None without one."""
        return _off(self.estimated_storage_gb, self.actual_storage_gb)

    def get_memory_error_percent(self) -> float | None:
        """How far off the forecast of the memory was; None without one."""
        return _off(self.estimated_memory_mb, self.actual_memory_mb)


class Ledger:
    """The ledger in a file; several processes may write it at once."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        with self._open() as ledger:
            ledger.execute("PRAGMA journal_mode = WAL")
            _make(ledger)

    def add(self, entry: Entry) -> str:
        """Write an entry down for good; its name, with a time and then a number added where that is taken."""
        with self._open() as ledger:
            ledger.execute("BEGIN IMMEDIATE")
            name = self._free(ledger, entry.run_id)
            values = asdict(entry) | {"run_id": name}
            columns = ", ".join(values)
            places = ", ".join("?" * len(values))
            ledger.execute(f"INSERT INTO {_TABLE} ({columns}) VALUES ({places})", _stored(values))
        return name

    def change(self, run_id: str, values: Mapping[str, Any]) -> None:
        """Add to an entry what was learned later; a RunError when there is none."""
        with self._open() as ledger:
            named = ", ".join(f"{name} = ?" for name in values)
            done = ledger.execute(f"UPDATE {_TABLE} SET {named} WHERE run_id = ?", (*_stored(values), run_id))
            if not done.rowcount:
                raise RunError(f"{self.path} has no run {run_id!r}; record it first")

    def get(self, run_id: str) -> Entry | None:
        """One entry."""
        return next(iter(self._read("WHERE run_id = ?", run_id)), None)

    def entries(self, most: int | None = None) -> list[Entry]:
        """The newest first, so many at the most."""
        return self._read("ORDER BY timestamp DESC, rowid DESC LIMIT ?", -1 if most is None else most)

    def named(self, run_ids: Sequence[str]) -> list[Entry]:
        """These entries; a RunError names those that are not there."""
        found = [self.get(run_id) for run_id in run_ids]
        missing = [run_id for run_id, entry in zip(run_ids, found, strict=True) if entry is None]
        if missing:
            raise RunError(
                f"{self.path} has no run {', '.join(map(repr, missing))}; ask get_all_runs() which there are"
            )
        return [entry for entry in found if entry is not None]

    def now(self) -> float:
        """The time by its own clock."""
        return self._clock()

    def count(self) -> int:
        """How many entries."""
        with self._open() as ledger:
            return ledger.execute(f"SELECT COUNT(*) FROM {_TABLE}").fetchone()[0]

    def clear(self) -> None:
        """Remove all entries."""
        with self._open() as ledger:
            ledger.execute(f"DELETE FROM {_TABLE}")

    def _free(self, ledger: sqlite3.Connection, name: str) -> str:
        stamped = f"{name}_{int(self._clock())}"
        candidates = chain([name, stamped], (f"{stamped}_{number}" for number in numbers(2)))
        return next(each for each in candidates if not _there(ledger, each))

    def _read(self, how: str, value: object) -> list[Entry]:
        names = [each.name for each in fields(Entry)]
        with self._open() as ledger:
            rows = ledger.execute(f"SELECT {', '.join(names)} FROM {_TABLE} {how}", (value,)).fetchall()
        return [_entry(dict(zip(names, row, strict=True))) for row in rows]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """The ledger, for one piece of work; committed when it ends in order."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as ledger, ledger:
                yield ledger
        except sqlite3.Error as cause:
            raise RunError(
                f"{self.path} cannot be used as a history ({cause}); give another file as db_path"
            ) from cause


def _make(ledger: sqlite3.Connection) -> None:
    """Have a column for everything, in a file of ours or of kato-lm."""
    ledger.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} ({_UNIQUE})")
    there = {row[1] for row in ledger.execute(f"PRAGMA table_info({_TABLE})")}
    for each in fields(Entry):
        if each.name not in there:
            ledger.execute(f"ALTER TABLE {_TABLE} ADD COLUMN {each.name}")


def _there(ledger: sqlite3.Connection, name: str) -> bool:
    return ledger.execute(f"SELECT 1 FROM {_TABLE} WHERE run_id = ?", (name,)).fetchone() is not None


def _stored(values: Mapping[str, Any]) -> list[Any]:
    return [json.dumps(value) if name in _JSON else value for name, value in values.items()]


def _entry(values: dict[str, Any]) -> Entry:
    read = {name: json.loads(value) if name in _JSON and value else value for name, value in values.items()}
    return Entry(**{name: value for name, value in read.items() if value is not None})


def _off(forecast: float | None, actual: float | None) -> float | None:
    return abs(forecast - actual) / actual * 100 if forecast is not None and actual else None


def run_name(config: Mapping[str, Any], samples: int | None) -> str:
    """A name that tells the configuration: run_c8x5_w6_s100, or run_c4-5-10-15_w6_s100."""
    sizes = [*_sizes(config)]
    alike = f"{sizes[0]}x{len(sizes)}" if sizes and len(set(sizes)) == 1 else "-".join(map(str, sizes)) or "0x0"
    return f"run_c{alike}_w{config.get('num_workers', 0)}_s{samples or 0}"


def _sizes(config: Mapping[str, Any]) -> Iterable[int]:
    return config.get("chunk_sizes") or []
