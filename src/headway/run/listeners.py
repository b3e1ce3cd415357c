"""Who hears the events of a run while it lasts."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from headway.record.record import Listener
from headway.run.watch import Watch

_SECONDS_BETWEEN_LINES = 3.0
_ALWAYS = {"note": "text", "warned": "text"}


def tell(listeners: Sequence[Listener], kind: str, fields: Mapping[str, Any]) -> None:
    """Tell an event that is not part of the run's record."""
    event = {"time": time.time(), "event": kind, **fields}
    for listener in listeners:
        listener(event)


class Lines:
    """Plain lines of progress: at once when something begins or ends, else every few seconds."""

    def __init__(
        self,
        stream: TextIO,
        *,
        seconds: float = _SECONDS_BETWEEN_LINES,
        extra: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._seconds = seconds
        self._extra = extra
        self._watch = Watch()
        self._due: float | None = None
        self._gone = False

    def __call__(self, event: dict[str, Any]) -> None:
        """Take in one event and perhaps print a line."""
        self._watch(event)
        kind = event["event"]
        if kind in _ALWAYS:
            warning = "warning: " if kind == "warned" else ""
            self._print(warning + event[_ALWAYS[kind]])
        elif kind == "run_started":
            self._due = event["time"] + self._seconds
            self._print(f"training {event['run']} with {event['workers']} worker{'s' if event['workers'] > 1 else ''}")
        elif (kind == "finished" and event["why"] is None) or (kind != "finished" and self._is_due(event["time"])):
            extra = self._extra()
            self._print(self._watch.line() + (f" | {extra}" if extra else ""))

    def _is_due(self, now: float) -> bool:
        is_due = self._due is not None and now >= self._due
        if self._due is None or is_due:
            self._due = now + self._seconds
        return is_due

    def _print(self, text: str) -> None:
        if self._gone:
            return
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # Whoever read along has left, or the disk is full; that is no reason to stop learning.
            self._gone = True


def usual_listeners() -> tuple[Listener, ...]:
    """Lines of progress where somebody watches: in a notebook or at a terminal; nobody elsewhere."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        return (Lines(sys.stdout),)
    return (Lines(sys.stderr),) if sys.stderr.isatty() else ()
