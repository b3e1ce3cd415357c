"""Memory that is used again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Space:
    """Arrays by name that keep their memory: the first touch of fresh memory costs more than the work done on it."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, size: int, dtype: Any) -> NDArray[Any]:
        """An array with anything in it; the one of this name that was handed out before is gone."""
        kind = np.dtype(dtype)
        needed = size * kind.itemsize
        held = self._held.get(name)
        if held is None or held.nbytes < needed:
            # Let go first: both at once would be more than anybody counted on.
            self._held.pop(name, None)
            held = self._held[name] = np.empty(needed, np.uint8)
        return held[:needed].view(kind)
