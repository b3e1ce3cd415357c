"""Ticks of a run on disk: whole for the last hours, merged by powers of two before that, however long the run.

profile/ticks-0.jsonl holds ticks as they were made, ticks-1.jsonl pairs of older ones, ticks-2.jsonl pairs of pairs.
When a file is full, its older half moves on, merged. A crash between the two steps of that leaves ticks in both files;
their numbers tell, and whoever reads takes them from the coarser one.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headway.errors import RunError
from headway.record.lines import LineFile, read_lines
from headway.record.tick import Tick, from_json, merged, to_json

FOLDER = "profile"
FULL_BYTES = 2 << 20
_TAIL = 1 << 18
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class TickLog:
    """Appends ticks below a run's folder; its size grows with the logarithm of their number."""

    def __init__(self, run: Path, *, full_bytes: int = FULL_BYTES) -> None:
        self._folder = run / FOLDER
        self._full = full_bytes
        self._levels: list[_Level] = []
        self._next = 0

    def append(self, tick: Tick) -> None:
        """Keep a tick, under the next numbers of its run; an OSError or a RunError where the disk does not take it."""
        if not self._levels:
            self._open()
        first, self._next = self._next, self._next + tick.last - tick.first + 1
        self._levels[0].append([replace(tick, first=first, last=self._next - 1)])
        for level in range(len(self._levels)):
            if self._levels[level].size > self._full:
                self._move_on(level)

    def close(self) -> None:
        """Let go of the files."""
        for level in self._levels:
            level.close()

    def _open(self) -> None:
        """Have the folder, and know what earlier sessions left in it."""
        self._folder.mkdir(exist_ok=True)
        found = len(_files(self._folder))
        levels = [_Level(_path(self._folder, level)) for level in range(max(1, found))]
        self._next = 1 + max(level.last for level in levels)
        self._levels = levels

    def _move_on(self, number: int) -> None:
        if number + 1 == len(self._levels):
            self._levels.append(_Level(_path(self._folder, number + 1)))
        level, coarser = self._levels[number], self._levels[number + 1]
        ticks = [tick for tick in level.ticks() if tick.last > coarser.last]
        # Even, so that every tick finds its partner.
        half = len(ticks) // 4 * 2
        older = ticks[:half]
        coarser.append([merged(one, two) for one, two in pairwise_apart(older)])
        level.replace(ticks[half:])


class _Level:
    """One file of ticks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = LineFile(path)
        self.size = path.stat().st_size if path.is_file() else 0
        self.last = _last(path) if self.size else -1

    def append(self, ticks: list[Tick]) -> None:
        if not ticks:
            return
        content = b"\n".join(_line(tick) for tick in ticks)
        self._file.append(content)
        self.size += len(content) + 1
        self.last = ticks[-1].last

    def ticks(self) -> list[Tick]:
        return [*_read(self._path)]

    def replace(self, ticks: list[Tick]) -> None:
        """Hold these and no others; not synced, since what a crash of the machine takes was only measured."""
        content = b"".join(_line(tick) + b"\n" for tick in ticks)
        draft = self._path.with_name(self._path.name + ".tmp")
        draft.write_bytes(content)
        self._file.close()
        draft.replace(self._path)
        self.size = len(content)

    def close(self) -> None:
        self._file.close()


def read_ticks(run: Path) -> list[Tick]:
    """The ticks of a run in order, from the coarsest to the latest; none where it has none, RunError where damaged."""
    found: list[Tick] = []
    for path in reversed(_files(run / FOLDER)):
        last = found[-1].last if found else -1
        found += [tick for tick in _read(path) if tick.first > last]
    return found


def pairwise_apart(ticks: list[Tick]) -> Iterator[tuple[Tick, Tick]]:
    """The first with the second, the third with the fourth."""
    return zip(ticks[::2], ticks[1::2], strict=True)


def _read(path: Path) -> Iterator[Tick]:
    for number, values in enumerate(read_lines(path), start=1):
        try:
            yield from_json(values)
        except (KeyError, TypeError, ValueError) as cause:
            raise RunError(f"{path} line {number} is no tick; delete that line to read the rest") from cause


def _last(path: Path) -> int:
    """The number of the last look in a file, found from its end; a RunError where it is damaged."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().split(b"\n")
    # What follows the last newline was cut by a crash; what comes before the first may be a part of a line.
    if len(lines) < 2 or not lines[-2]:
        return -1
    try:
        return int(json.loads(lines[-2])["ticks"][1])
    except (KeyError, TypeError, ValueError, IndexError) as cause:
        raise RunError(f"{path}: its last line is no tick; delete the file, nothing learned is in it") from cause


def _line(tick: Tick) -> bytes:
    return _encode(to_json(tick)).encode(errors="backslashreplace")


def _path(folder: Path, level: int) -> Path:
    return folder / f"ticks-{level}.jsonl"


def _files(folder: Path) -> list[Path]:
    """Those that are there, the finest first."""
    found: list[Path] = []
    while (path := _path(folder, len(found))).is_file():
        found.append(path)
    return found
