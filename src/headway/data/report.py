"""What a build says: while it works, and about what it did."""

from dataclasses import dataclass, field
from typing import Literal

from headway.errors import RunError

Stage = Literal["checking", "waiting", "tokenizing", "joining", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """How far a build is; `bytes` are bytes of the sources."""

    stage: Stage
    shards: int = 0
    shards_done: int = 0
    bytes: int = 0
    bytes_done: int = 0
    documents: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """How a Dataset came about: what was found, what was built, and which engine did it."""

    reused: bool
    changed: tuple[str, ...] = ()
    engine: str | None = None
    notes: tuple[str, ...] = field(default=())
    shards: int = 0
    shards_kept: int = 0
    bytes: int = 0


class BuildStopped(RunError):
    """Somebody asked the build to stop; what is complete is kept."""
