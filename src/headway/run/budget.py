"""How the memory a plan allows is shared among the processes that learn."""

import os
from collections.abc import Sequence

from headway.errors import RunError
from headway.plan.section import format_bytes

# A forked worker copies shared pages as it touches them: measured 8 to 14 MiB with numba and pyarrow loaded.
COPIED_PER_WORKER = 14 << 20
LEAST = 16 << 20
_HEAD_SHARE = 8


def alone(total: int, held: int) -> int:
    """What one learner may hold when its process already holds `held`."""
    return _enough(total - held, total=total, held=held, workers=1)


def for_head(total: int) -> int:
    """What the learner that only adopts parts may hold beside the workers."""
    return max(LEAST, total // _HEAD_SHARE)


def for_worker(total: int, held: int, workers: int) -> int:
    """What each of several workers may hold when all processes together already hold `held`."""
    left = (total - held - for_head(total)) // workers - COPIED_PER_WORKER
    return _enough(left, total=total, held=held, workers=workers)


def resident(pids: Sequence[int] | None = None) -> int:
    """What some processes (or this one) hold together, 0 where the system does not tell."""
    from headway.machine.describe import resident_bytes

    return resident_bytes([os.getpid()] if pids is None else list(pids)) or 0


def _enough(left: int, *, total: int, held: int, workers: int) -> int:
    if left >= LEAST:
        return left
    need = total + (LEAST - left) * workers
    raise RunError(
        f"memory = {format_bytes(total)} is too little for {workers} worker{'s' if workers > 1 else ''}: "
        f"{format_bytes(held)} are in use before the first step. "
        f"Set memory to {format_bytes(need + (1 << 20))} or more, or use fewer workers"
    )
