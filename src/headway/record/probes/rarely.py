"""Expensive looks, so rare that they take only a small share of the time."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Rarely:
    """Says when an expensive act is due: `least` to `most` seconds apart, so that it takes `share` of the time."""

    def __init__(
        self, *, least: float, share: float, timer: Callable[[], float], most: float = math.inf, at_once: bool = True
    ) -> None:
        self._least = least
        self._most = most
        self._share = share
        self._timer = timer
        self._due = -math.inf if at_once else timer() + least

    def due(self) -> bool:
        """Whether it is time."""
        return self._timer() >= self._due

    @contextmanager
    def spending(self, *, usual: bool = True) -> Generator[None]:
        """Around the act: what it takes decides when the next one is due, if it takes what it usually does."""
        began = self._timer()
        try:
            yield
        finally:
            now = self._timer()
            wait = (now - began) / self._share if usual else 0.0
            self._due = now + min(self._most, max(self._least, wait))
