"""How much time others take from a measurement.

Two signs, since neither sees everything: our threads wait for a core (exact on Linux, and blind to whoever uses the
caches and the memory beside us), and other programs, or other machines on the same host, compute (coarse, everywhere).
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

_TASKS = Path("/proc/self/task")
# Of a repetition; what a machine at rest shows is below both.
_WAITED_SHARE = 0.03
_USED_SHARE = 0.1
# The coarse count moves in ticks of the kernel's clock, on every core by itself.
_TICK = 0.02


@dataclass(frozen=True, slots=True)
class Taken:
    """Counts in seconds that only grow: what our threads have waited for cores, and what others have computed."""

    waited: float
    used: float


Others = Callable[[], Taken]
"""Reads both counts."""


def taken(tasks: Path = _TASKS) -> Taken:
    """Both counts of this process and this machine, now."""
    all_, own = psutil.cpu_times(), psutil.Process().cpu_times()
    steal = getattr(all_, "steal", 0.0)
    # The kernel's time is left out: much of it is work on behalf of whoever writes or sends, which is us.
    theirs = all_.user + getattr(all_, "nice", 0.0) + steal - own.user - own.children_user
    return Taken(_waited(tasks), theirs)


def disturbed(before: Taken, after: Taken, elapsed: float, *, cores: int | None = None) -> bool:
    """Whether others took enough time from a repetition to change its result, on a machine of so many cores."""
    cores = cores or os.cpu_count() or 1
    used = after.used - before.used
    return after.waited - before.waited > _WAITED_SHARE * elapsed or (
        used > _TICK * math.sqrt(cores) + _USED_SHARE * elapsed * cores
    )


def _waited(tasks: Path) -> float:
    """Seconds that this process's threads were ready and had no core; 0 where the kernel does not count them."""
    nanoseconds = 0
    for schedule in tasks.glob("*/schedstat"):
        try:
            nanoseconds += int(schedule.read_text().split()[1])
        except (OSError, LookupError):
            # The thread has ended, or the kernel was built without this count.
            continue
    return nanoseconds / 1e9
