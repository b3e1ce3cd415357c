"""Tables that fit the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

_ROOMY = 10_000


def fitting(console: Console, tables: Sequence[Table]) -> Table:
    """The first of these tables that fits the console whole, else the last."""
    # Measured where there is room: within the terminal's width every table seems to fit.
    roomy = console.options.update(width=_ROOMY)
    fit = (table for table in tables if console.measure(table, options=roomy).maximum <= console.width)
    return next(fit, tables[-1])
