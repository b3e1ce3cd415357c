"""A run as a row of the index: columns that lists are made from, and all its facts as JSON."""

import os
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

FORMAT = 1
"""Raised with every change of what a row holds or means: an index of another format is made anew."""
STATUS = 5
"""Where in a row the status stands."""
_COLUMNS = """
    name BLOB PRIMARY KEY, stamp TEXT, series BLOB, number INTEGER, kind TEXT, status TEXT, started REAL,
    documents INTEGER, tokens INTEGER, tokens_per_second REAL, seconds REAL, plan TEXT, dataset TEXT, machine TEXT,
    code TEXT, conditions TEXT, facts BLOB
"""
_PLACES = ", ".join("?" * len(_COLUMNS.split(",")))
_BRIEF = "name, kind, status, started, documents, tokens, tokens_per_second, seconds"

Row = tuple[Any, ...]
Stamps = dict[bytes, str | None]


class Brief(NamedTuple):
    """What a list shows of a run."""

    name: str
    kind: str | None
    status: str
    started: float | None
    documents: int | None
    tokens: int | None
    tokens_per_second: float | None
    seconds: float | None


def new() -> sqlite3.Connection:
    """An index of no run."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE runs ({_COLUMNS})")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.commit()
    return connection


def put(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Add rows, in the place of what was there of the same runs."""
    connection.executemany(f"INSERT OR REPLACE INTO runs VALUES ({_PLACES})", rows)


def drop(connection: sqlite3.Connection, names: Iterable[bytes]) -> None:
    """Remove runs."""
    connection.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in names])


def stamps(connection: sqlite3.Connection) -> Stamps:
    """Of every run in the index, how its files looked when it was read."""
    return dict(connection.execute("SELECT name, stamp FROM runs"))


def stored(connection: sqlite3.Connection, name: bytes) -> Row | None:
    """The row of a run."""
    return connection.execute("SELECT * FROM runs WHERE name = ?", (name,)).fetchone()


def briefs(connection: sqlite3.Connection) -> list[Brief]:
    """All runs, by plan name and age."""
    found = connection.execute(f"SELECT {_BRIEF} FROM runs ORDER BY series, number")
    return [Brief(os.fsdecode(row[0]), *row[1:]) for row in found]


def packed(connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """The names and the facts of all runs, by plan name and age."""
    found = connection.execute("SELECT name, facts FROM runs ORDER BY series, number")
    return [(os.fsdecode(name), facts) for name, facts in found]


def alike(connection: sqlite3.Connection, conditions: str) -> list[str]:
    """The finished runs made under some conditions, by plan name and age."""
    wanted = "conditions = ? AND status = 'finished'"
    found = connection.execute(f"SELECT name FROM runs WHERE {wanted} ORDER BY series, number", (conditions,))
    return [os.fsdecode(name) for (name,) in found]
