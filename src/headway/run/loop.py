"""The loop. It owns three duties, save, stop and record, and nothing else."""

from collections.abc import Iterator
from time import perf_counter
from typing import Literal, Protocol

from headway.feed.batch import Batch
from headway.learners.base import Learner
from headway.plan.values import Position
from headway.record.events import Note, Resumed
from headway.record.record import Record
from headway.run.run import Run

Ending = Literal["complete", "stopped"]


class Batches(Protocol):
    """What the loop asks of a Feed."""

    def batches(self, position: Position) -> Iterator[tuple[Batch, Position]]:
        """Every batch from a position on, each with the position after it."""
        ...

    def done(self, position: Position) -> tuple[int, int]:
        """Documents and tokens before a position."""
        ...


def drive(run: Run, feed: Batches, learner: Learner, record: Record) -> Ending:
    """Learn until the feed ends or the run should stop; what was learned is durable when this returns."""
    ending: Ending = "stopped"
    position = _begin(run, feed, learner, record)
    for batch, after in feed.batches(position):
        with record.span("step"):
            metrics = learner.step(batch)
        position = after
        record.step(position, batch, metrics)
        if run.save_due():
            _save(run, learner, record, position)
        if run.should_stop():
            record.write(Note("stopping: what was learned is being saved"))
            break
    else:
        # A stopped run is not complete: what finishing may cost (a compaction) is paid by the run that gets there.
        with record.span("finish"):
            learner.finish()
        ending = "complete"
    _save(run, learner, record, position)
    return ending


def _begin(run: Run, feed: Batches, learner: Learner, record: Record) -> Position:
    position = learner.restore(run.folder)
    run.begin(position or Position.START)
    if position is None:
        return Position.START
    record.write(Resumed(position, *feed.done(position)))
    return position


def _save(run: Run, learner: Learner, record: Record, position: Position) -> None:
    began = perf_counter()
    with record.span("save"):
        learner.save(run.folder, position)
    run.saved(position)
    record.saved(position, perf_counter() - began)
