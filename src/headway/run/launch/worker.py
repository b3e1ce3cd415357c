"""One worker: learns the batches it is told, flushes when it is told, and ends with whoever started it."""

import ctypes
import os
import signal
import sys
import traceback
from contextlib import suppress
from time import perf_counter
from typing import Any

from headway.durable import write_errors
from headway.errors import HeadwayError
from headway.feed.feed import Feed
from headway.learners.base import MergeLearner, Setup
from headway.plan.values import Place
from headway.run.launch.messages import Begin, Broken, Flush, Flushed, Job, Learn, Learned, Refused, Wire

_LOOK_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


def work(wire: Wire, job: Job, feed: Feed, *, rank: int, server: int) -> int:
    """Obey the pool until it is gone; the exit code."""
    _die_with(server)
    try:
        with write_errors(job.folder, kept="what was saved is safe"):
            _obey(wire, job, feed, rank, server)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return 0
    except HeadwayError as error:
        with suppress(OSError):
            wire.send(Refused.of(error))
    except Exception:  # noqa: BLE001 - the outermost frame: the pool's owner shows it
        with suppress(OSError):
            wire.send(Broken(traceback.format_exc()))
    return 1


def _obey(wire: Wire, job: Job, feed: Feed, rank: int, server: int) -> None:
    begin: Begin = _next(wire, server)
    # Rank 0 is the learner that adopts the parts; no two may name their files alike.
    place = Place(rank=rank + 1, world=job.workers + 1)
    setup = Setup(section=job.section, dataset=feed.dataset, folder=job.folder, place=place, memory=begin.memory)
    learner = job.make(setup)
    assert isinstance(learner, MergeLearner), "the pool's owner checked that parts of this learner add up"
    try:
        while True:
            began = perf_counter()
            message = _next(wire, server)
            wire.send(_answer(learner, feed, message, waited=perf_counter() - began))
    finally:
        learner.close()


def _answer(learner: MergeLearner, feed: Feed, message: Learn | Flush, *, waited: float) -> Learned | Flushed:
    began = perf_counter()
    if isinstance(message, Flush):
        part = learner.flush()
        return Flushed(part, {"worker wait": waited, "worker flush": perf_counter() - began})
    batch = feed.at(message.position)
    read = perf_counter()
    metrics = learner.step(batch)
    stages = {"worker wait": waited, "worker read": read - began, "worker step": perf_counter() - read}
    return Learned(metrics, stages)


def _next(wire: Wire, server: int) -> Any:
    while not wire.poll(_LOOK_SECONDS):
        if os.getppid() != server:
            raise EOFError
    return wire.recv()


def _die_with(server: int) -> None:
    """Have the kernel end this process with its server, even in the middle of a step."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # It may have died before the kernel was asked.
    if os.getppid() != server:
        raise SystemExit(0)
