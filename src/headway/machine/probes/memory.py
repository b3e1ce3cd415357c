"""Memory: bytes copied a second, by one core and by all."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from headway.machine.probe import Lack, Probe, Site
from headway.machine.probes.parallel import rates

# Much larger than the last cache of a core's share, and no more than an eighth of what is free in all.
_COPIED = 64 << 20
_SHARE = 8
_NAMES = ("memory.copy", "memory.copy_all")
_UNIT = "GiB/s"
_Bytes = NDArray[np.uint8]


def memory(site: Site) -> Iterator[Probe | Lack]:
    """Probes of the memory."""
    if site.memory < _SHARE * 2 * _COPIED:
        yield from (Lack(name, _UNIT, "less than 1 GiB of memory is free") for name in _NAMES)
        return
    # More cores than this share of memory has room for are left out; a few fill every channel.
    cores = min(site.cores, site.memory // (_SHARE * 2 * _COPIED))
    pairs = [(np.ones(_COPIED, np.uint8), np.zeros(_COPIED, np.uint8)) for _ in range(cores)]
    works = [_copying(source, target) for source, target in pairs]
    one, all_ = rates(site, works, 2 * _COPIED / 2**30)
    how = "read and written, each counted"
    yield Probe("memory.copy", _UNIT, "more", 0.15, one, f"one core, {how}")
    yield Probe("memory.copy_all", _UNIT, "more", 0.15, all_, f"{cores} at once, {how}")


def _copying(source: _Bytes, target: _Bytes) -> Callable[[], object]:
    return lambda: np.copyto(target, source)
