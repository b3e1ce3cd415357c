"""The learner a run works with: one in this process, or a pool of them."""

from dataclasses import dataclass, replace
from pathlib import Path

from headway.errors import RunError
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


def fitted(offered: Means, feed: Feed) -> Means:
    """Never more workers than batches: a worker without a batch is only a cost."""
    return replace(offered, workers=max(1, min(offered.workers, feed.total_batches)))


def early(plan: Plan) -> Servant | None:
    """A fork server that loads what workers need while the dataset is still being made; None for one worker."""
    offered = means(plan.workers, plan.memory)
    return None if offered.workers == 1 else _servant(plan, offered.workers)


def gather(plan: Plan, feed: Feed, folder: Path, means: Means, *, servant: Servant | None) -> Learner:
    """The learner of a plan, ready to restore and step; a fork server started early serves it, or is let go."""
    if means.workers > 1:
        return _pool(plan, feed, folder, means, servant or _servant(plan, means.workers))
    if servant is not None:
        servant.close()
    return _alone(plan, feed, folder, means.memory)


def _servant(plan: Plan, workers: int) -> Servant:
    return Servant(Prepare(registry.prepare, plan.learner), workers=workers)


def _alone(plan: Plan, feed: Feed, folder: Path, memory: int) -> Learner:
    # Before measuring what is held: the code a learner needs is part of it.
    registry.prepare(plan.learner, feed.dataset.dtype)
    return registry.make(_setup(plan, feed, folder, Place(), alone(memory, resident())))


def _pool(plan: Plan, feed: Feed, folder: Path, means: Means, servant: Servant) -> Pool:
    try:
        servant.begin(Job(registry.make, plan.learner, feed.spec(), folder.absolute(), means.workers))
        place = Place(rank=0, world=means.workers + 1)
        head = merging(registry.make(_setup(plan, feed, folder, place, for_head(means.memory))))
        servant.ready()
        return Pool(head, servant, memory=means.memory)
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


def _setup(plan: Plan, feed: Feed, folder: Path, place: Place, memory: int) -> Setup:
    return Setup(section=plan.learner, dataset=feed.dataset, folder=folder, place=place, memory=memory)
