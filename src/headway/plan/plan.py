"""The plan of a run: what to learn from, with what, and how the run lives."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen

from headway.plan.section import CAREFUL, FREE, ByteSize, Duration, Setting, settings

Profile = Literal["off", "light", "full"]
"""How closely a run is measured while it trains."""

Parallel = Literal["merge", "lockstep", "single"]
"""How several learners of a kind work on one run: their parts add up, they step together, or there is one."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The section classes a plan may use; the caller passes them in, since a plan knows no learner."""

    data: type
    learners: Mapping[str, type]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSection:
    """How a run lives: when it saves and when it ends."""

    save_every: Annotated[Duration, FREE] = 5.0
    """Save after this long; at most so much work is repeated after a crash."""
    epochs: Annotated[int, Ge(1), CAREFUL] = 1
    """How often the whole dataset is read."""
    documents: Annotated[Annotated[int, Ge(1)] | None, CAREFUL] = None
    """Stop after so many documents, over all epochs; absent: read them all."""
    shuffle: bool = False
    """Whether each epoch reads the documents in a random order of its own."""
    seed: Annotated[int, Ge(0)] = 0
    """What every random choice is derived from."""
    batch_tokens: Annotated[int, Ge(64), Le(1 << 40)] = 1_048_576
    """Documents are handed to the learner in batches of about so many tokens."""
    profile: Annotated[Profile, FREE] = "light"
    """How closely processor, memory, disk, network and GPU are measured; full looks often and costs more."""
    sample_every: Annotated[Annotated[Duration, Ge(0.01)] | None, FREE] = None
    """Time between two looks; absent: a second in a light profile, a tenth of one in a full one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A validated description of a run; never changed, holds no live objects."""

    name: Annotated[str, MinLen(1), FREE]
    """What the run is called; absent: the name of the plan file."""
    data: object
    """What to learn from."""
    learner: object
    """What learns, chosen by `kind`."""
    run: RunSection = field(default_factory=RunSection)
    """How the run lives."""
    workers: Annotated[Annotated[int, Ge(1), Le(1024)] | None, FREE] = None
    """Processes that learn at once; absent: one for every usable core."""
    memory: Annotated[ByteSize | None, FREE] = None
    """Memory all processes together may hold; absent: a quarter of what is free."""
    folder: Path
    """Where relative paths of the plan start; not a key of the file."""


def plan_settings(kinds: Kinds, learner_kind: object) -> dict[str, Setting]:
    """The keys a plan file may have; `learner` is without a section when its kind is unknown."""
    learner = kinds.learners.get(learner_kind) if isinstance(learner_kind, str) else None
    sections = {"data": kinds.data, "learner": learner}
    keys = {name: setting for name, setting in settings(Plan).items() if name != "folder"}
    return keys | {name: replace(keys[name], hint=section, section=section) for name, section in sections.items()}
