"""Memory that a process keeps between steps: blocks given back to the system cost a page fault for each page next time.

A step makes and drops the same large blocks again and again. The C library gives each of them back and asks for it
anew, and on a virtual machine the faults that follow took a third of a step.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Literal

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = (1 << 31) - 1
# Where the C library's own adaption ends: what it may have come to by itself.
_USUAL_MMAP, _USUAL_TRIM = 32 << 20, 64 << 20
_GIVEN = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep() -> Literal["set", "given", "absent"]:
    """Have this process keep the memory it frees, until `give_back`.

    `given` says that the environment decides already, `absent` that the C library is one without such settings.
    """
    if any(name in os.environ for name in _GIVEN):
        return "given"
    library = _library()
    if library is None:
        return "absent"
    set_both = library.mallopt(_MMAP_THRESHOLD, _NEVER) and library.mallopt(_TRIM_THRESHOLD, _NEVER)
    return "set" if set_both else "absent"


def give_back() -> None:
    """Return to what is usual, and what is free to the system."""
    if any(name in os.environ for name in _GIVEN) or (library := _library()) is None:
        return
    library.mallopt(_MMAP_THRESHOLD, _USUAL_MMAP)
    library.mallopt(_TRIM_THRESHOLD, _USUAL_TRIM)
    library.malloc_trim(0)


def _library() -> Any:
    """The C library of this process, if it is GNU's."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if all(hasattr(library, name) for name in ("mallopt", "malloc_trim")) else None
