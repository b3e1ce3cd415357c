"""How the memory a plan allows is shared among the processes that learn."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from headway.errors import RunError
from headway.plan.section import format_bytes

# A forked worker copies shared pages as it touches them; with numba and pyarrow loaded that is about this much.
COPIED_PER_WORKER = 14 << 20
LEAST = 16 << 20
_HEAD_SHARE = 8


@dataclass(frozen=True, slots=True)
class Share:
    """What a plan allows, and for how many."""

    total: int
    workers: int


def alone(total: int, held: int) -> int:
    """What one learner may hold when its process already holds `held`."""
    return _enough(total - held, held=held, need=held + LEAST, share=Share(total, 1))


def for_head(total: int) -> int:
    """What the learner that only adopts parts may hold beside the workers."""
    return max(LEAST, total // _HEAD_SHARE)


def for_worker(total: int, held: int, workers: int) -> int:
    """What each of several workers may hold when all processes together already hold `held`."""
    left = (total - held - for_head(total)) // workers - COPIED_PER_WORKER
    least = held + workers * (LEAST + COPIED_PER_WORKER)
    need = max(least + LEAST, least * _HEAD_SHARE // (_HEAD_SHARE - 1))
    return _enough(left, held=held, need=need, share=Share(total, workers))


def resident(pids: Sequence[int] | None = None) -> int:
    """What some processes (or this one) hold together, 0 where the system does not tell."""
    from headway.machine.describe import resident_bytes

    return resident_bytes([os.getpid()] if pids is None else list(pids)) or 0


def _enough(left: int, *, held: int, need: int, share: Share) -> int:
    if left >= LEAST:
        return left
    raise RunError(
        f"memory = {format_bytes(share.total)} is too little for {share.workers} "
        f"worker{'s' if share.workers > 1 else ''}: {format_bytes(held)} are needed before the first step. "
        f"Set memory to {(need >> 20) + 1}MiB or more{', or use fewer workers' if share.workers > 1 else ''}"
    )
