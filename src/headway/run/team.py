"""The learner a run works with: one in this process, or a pool of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.errors import PlanError, RunError
from headway.feed.feed import Feed
from headway.learners import registry
from headway.learners.base import Learner, MergeLearner, Setup
from headway.machine.describe import free_memory, usable_cores
from headway.plan.plan import Plan
from headway.plan.values import Place
from headway.run.budget import alone, for_head, resident
from headway.run.launch.local import Pool
from headway.run.launch.messages import Job, Prepare
from headway.run.launch.process import Servant


@dataclass(frozen=True, slots=True)
class Means:
    """What a plan may use, with "decide for me" decided."""

    workers: int
    memory: int


def means(workers: int | None, memory: int | None) -> Means:
    """Workers and memory as given, or what this machine offers: its usable cores, a quarter of what is free."""
    return Means(
        workers=usable_cores() if workers is None else workers,
        memory=free_memory() // 4 if memory is None else memory,
    )


def means_of(plan: Plan) -> Means:
    """What the learner of a plan may use: one process, unless its kind can be learned by several."""
    learner: Any = plan.learner
    if learner.parallel == "merge":
        return means(plan.workers, plan.memory)
    if plan.workers not in (None, 1):
        problem = f"a learner of kind {learner.kind!r} is one process, not {plan.workers}; set workers = 1"
        raise PlanError("workers", [problem])
    return means(1, plan.memory)


def fitted(offered: Means, feed: Feed) -> Means:
    """Never more workers than batches: a worker without a batch is only a cost."""
    return replace(offered, workers=max(1, min(offered.workers, feed.total_batches)))


def early(plan: Plan) -> Servant | None:
    """A fork server that loads what workers need while the dataset is still being made; None for one worker."""
    offered = means_of(plan)
    return None if offered.workers == 1 else _servant(plan, offered.workers)


@dataclass(frozen=True, slots=True)
class Task:
    """What a learner is for: the plan, its batches, the run's folder, and who hears warnings, upkeep and times."""

    plan: Plan
    feed: Feed
    folder: Path
    warn: Callable[[str], None]
    note: Callable[[str], None]
    span: Callable[[str, float], None] | None = None
    """Hears what took how long in another process."""


def gather(task: Task, means: Means, *, servant: Servant | None) -> Learner:
    """The learner of a task, ready to restore and step; a fork server started early serves it, or is let go."""
    if means.workers > 1:
        return _pool(task, means, servant or _servant(task.plan, means.workers))
    if servant is not None:
        servant.close()
    return _alone(task, means.memory)


def _servant(plan: Plan, workers: int) -> Servant:
    return Servant(Prepare(registry.prepare, plan.learner), workers=workers)


def _alone(task: Task, memory: int) -> Learner:
    # Before measuring what is held: the code a learner needs is part of it.
    registry.prepare(task.plan.learner, task.feed.dataset.dtype)
    # Read ahead, there are two batches at once.
    held = resident() + 2 * task.feed.largest_bytes
    return registry.make(_setup(task, Place(), alone(memory, held)))


def _pool(task: Task, means: Means, servant: Servant) -> Pool:
    try:
        job = Job(registry.make, task.plan.learner, task.feed.spec(), task.folder.absolute(), means.workers)
        servant.begin(job)
        place = Place(rank=0, world=means.workers + 1)
        head = merging(registry.make(_setup(task, place, for_head(means.memory))))
        servant.ready()
        return Pool(head, servant, memory=means.memory, batches=means.workers * task.feed.largest_bytes, span=task.span)
    except BaseException:
        # However it ends, no process may stay behind; the cause goes on.
        servant.close()
        raise


def merging(learner: Learner) -> MergeLearner:
    """The learner, if its parts add up; a RunError otherwise."""
    if isinstance(learner, MergeLearner) and learner.parallel == "merge":
        return learner
    learner.close()
    raise RunError("this learner cannot be trained by several workers at once; set workers = 1")


def _setup(task: Task, place: Place, memory: int) -> Setup:
    plan, feed, note = task.plan, task.feed, task.note
    return Setup(plan.learner, feed.dataset, task.folder, place, memory, task.warn, note, plan.run, plan.folder)
