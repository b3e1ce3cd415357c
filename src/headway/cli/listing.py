"""The list of runs as text: ten thousand of them in the time that a table of rich takes for a screen."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from headway.run.history.rows import Brief
from headway.run.text import count, duration, rate, when

_GAP = "  "
_HEADER, _PLAIN = "\x1b[36m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class _Column:
    """A header and a cell for every run."""

    header: str
    justify: Literal["left", "right"]
    cell: Callable[[Brief], str]


@dataclass(frozen=True, slots=True)
class _Filled:
    """A column with its cells, all as wide as the widest."""

    width: int
    cells: list[str]


def show(runs: Sequence[Brief], stream: TextIO) -> None:
    """Print a line for each run: in a terminal as many columns as fit, elsewhere all."""
    screen = stream.isatty()
    width = shutil.get_terminal_size().columns if screen else None
    coloured = screen and "NO_COLOR" not in os.environ and os.environ.get("TERM") not in (None, "dumb", "unknown")
    lines = list(table(runs, width))
    if coloured:
        lines[0] = f"{_HEADER}{lines[0]}{_PLAIN}"
    stream.write("\n".join(lines) + "\n")


def table(runs: Sequence[Brief], width: int | None) -> Iterator[str]:
    """Header and lines; the widest of the layouts that fits, or else the narrowest, its names on several lines."""
    made: dict[str, _Filled] = {}
    for layout in _LAYOUTS:
        for name in layout:
            if name not in made:
                made[name] = _filled(_COLUMNS[name], runs)
        taken = [made[name] for name in layout]
        room = sum(column.width for column in taken) + len(_GAP) * (len(taken) - 1)
        if width is None or room <= width:
            return (_GAP.join(cells).rstrip() for cells in zip(*(column.cells for column in taken), strict=True))
    return _folded(runs, width or 0)


def _filled(column: _Column, runs: Sequence[Brief]) -> _Filled:
    cells = [column.header, *map(column.cell, runs)]
    plain = all(map(str.isascii, cells))
    widths = list(map(len if plain else _cell_width, cells))
    widest = max(widths)
    if column.justify == "left":
        return _Filled(widest, [cell + " " * (widest - own) for cell, own in zip(cells, widths, strict=True)])
    return _Filled(widest, [" " * (widest - own) + cell for cell, own in zip(cells, widths, strict=True)])


def _folded(runs: Sequence[Brief], width: int) -> Iterator[str]:
    """Names cut into lines of what is left beside the status; nothing is left out."""
    name, status = (_filled(_COLUMNS[name], runs) for name in _LAYOUTS[-1])
    room = max(1, width - status.width - len(_GAP))
    for text, said in zip(name.cells, status.cells, strict=True):
        first, *more = [text.rstrip()[at : at + room] for at in range(0, len(text.rstrip()), room)]
        yield f"{first:<{room}}{_GAP}{said}".rstrip()
        yield from more


def _cell_width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _name(run: Brief) -> str:
    return run.name if run.name.isprintable() else ascii(run.name)[1:-1]


def _amount(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


# The rate is that of training alone, the time that of whole sessions; the headers say so.
_COLUMNS = {
    "run": _Column("run", "left", _name),
    "status": _Column("status", "left", lambda run: run.status),
    "started": _Column("started", "left", lambda run: when(run.started)),
    "day": _Column("started", "left", lambda run: when(run.started, "%Y-%m-%d")),
    "documents": _Column("documents", "right", lambda run: _amount(run.documents)),
    "tokens": _Column("tokens", "right", lambda run: _amount(run.tokens)),
    "about": _Column("tokens", "right", lambda run: "-" if run.tokens is None else count(run.tokens)),
    "rate": _Column("training rate", "right", lambda run: rate(run.tokens_per_second, "tokens")),
    "time": _Column("whole time", "right", lambda run: duration(run.seconds)),
}
# The widest that fits the terminal is shown.
_LAYOUTS = (
    ("run", "status", "started", "documents", "tokens", "rate", "time"),
    ("run", "status", "day", "documents", "about", "rate", "time"),
    ("run", "status", "day", "about", "rate", "time"),
    ("run", "status", "about", "rate", "time"),
    ("run", "status", "about"),
    ("run", "status"),
)
