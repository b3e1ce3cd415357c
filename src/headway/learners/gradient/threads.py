"""How many threads torch computes with: measured, since more are slower as soon as something else wants the cores.

No torch at import: `quiet_waiting` has to be called before torch is loaded anywhere in the process.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_POLICY = "OMP_WAIT_POLICY"
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """The fastest number of threads, and what every candidate took."""

    threads: int
    seconds: Mapping[int, float]


def quiet_waiting() -> Literal["set", "given", "late"]:
    """Have the threads of OpenMP sleep while they wait, instead of burning the cores that others compute on.

    The library reads this once, when torch loads it: so whoever imports torch first in a process calls this before.
    Where others share the cores, two spinning threads ran ten times slower than two sleeping ones. `given` says that
    the environment decides already, `late` that torch is loaded and nothing was changed.
    """
    if _POLICY in os.environ:
        return "given"
    if "torch" in sys.modules:
        return "late"
    os.environ[_POLICY] = "PASSIVE"
    return "set"


def choose(
    trial: Callable[[], object],
    candidates: Sequence[int] | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Choice:
    """Run a trial with every number of threads in turn, several rounds, and set the fastest; ties go to fewer threads.

    Without candidates: one thread, half the cores, and all that this process may use. The first round is not counted,
    and of the others the shortest time is: what disturbs a measurement only ever makes it longer.
    """
    import torch

    before = torch.get_num_threads()
    numbers = sorted(set(candidates if candidates is not None else _usual(_cores())))
    seconds = dict.fromkeys(numbers, float("inf"))
    try:
        for turn in range(_ROUNDS + 1):
            for number in numbers:
                torch.set_num_threads(number)
                began = clock()
                trial()
                took = clock() - began
                if turn:
                    seconds[number] = min(seconds[number], took)
        before = min(numbers, key=lambda number: (seconds[number], number))
    finally:
        torch.set_num_threads(before)
    return Choice(before, seconds)


def _usual(cores: int) -> list[int]:
    return [1, max(1, cores // 2), cores]


def _cores() -> int:
    # What this process may use, which in a container or a batch system is less than what the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
