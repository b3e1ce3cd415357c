"""A bounded memory of ticks: when it is full, neighbours are merged, so that it spans the whole time."""

from collections.abc import Sequence

from headway.record.tick import Tick, merged

_MOST = 1024


class Series:
    """At most so many ticks, each of the same number of looks but for the last; peaks stay what they were."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._ticks: list[Tick] = []
        self._each = 1
        self._open: Tick | None = None
        self._in_open = 0

    def add(self, tick: Tick) -> None:
        """Take in the next one."""
        self._open = tick if self._open is None else merged(self._open, tick)
        self._in_open += 1
        if self._in_open < self._each:
            return
        self._ticks.append(self._open)
        self._open, self._in_open = None, 0
        if len(self._ticks) >= self._most:
            pairs = zip(self._ticks[::2], self._ticks[1::2], strict=True)
            self._ticks = [merged(one, two) for one, two in pairs]
            self._each *= 2

    @property
    def ticks(self) -> Sequence[Tick]:
        """All of them in order."""
        return [*self._ticks] if self._open is None else [*self._ticks, self._open]
