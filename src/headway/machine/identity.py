"""Which machine it was, told from what a record keeps about it."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# What makes a machine fast or slow and stays as it is between two runs.
_LASTING = ("cpu", "logical_cores", "usable_cores", "architecture")
_SIZES = ("memory_bytes", "memory_limit_bytes")
_STEP = 1 << 28


def machine_fingerprint(described: Mapping[str, Any]) -> str | None:
    """The fingerprint that was recorded, else a digest of the lasting facts; None when nothing was described.

    The memory a kernel finds moves by some MiB from one version to the next: it is compared in steps of 256 MiB.
    """
    if not described:
        return None
    if isinstance(recorded := described.get("fingerprint"), str):
        return recorded
    lasting: dict[str, Any] = {name: described.get(name) for name in _LASTING}
    sizes = {name: _step(described.get(name)) for name in _SIZES}
    content = json.dumps(lasting | sizes, sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _step(size: object) -> int | None:
    return round(size / _STEP) if isinstance(size, int | float) else None
