"""The loop. It owns four duties, record, evaluate, save and stop, and nothing else."""

from collections.abc import Iterator
from time import perf_counter
from typing import Literal, Protocol

from headway.feed.batch import Batch
from headway.learners.base import Evaluator, Learner
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
    """Learn until the feed ends, more would be in vain, or the run should stop; what was learned is then durable."""
    position = _begin(run, feed, learner, record)
    for batch, after in record.timed("wait", feed.batches(position)):
        if isinstance(learner, Evaluator) and learner.enough:
            record.write(Note("ending before the last epoch: learning more would be in vain"))
            break
        with record.span("step"):
            metrics = learner.step(batch)
        record.step(after, batch, metrics)
        if after.epoch > position.epoch:
            _evaluate(learner, record, after)
        position = after
        if run.save_due():
            _save(run, feed, learner, record, position)
        if run.should_stop():
            record.write(Note("stopping: what was learned is being saved"))
            _settle(run, feed, learner, record, position)
            return "stopped"
    # A stopped run is not complete: what finishing may cost is paid by the run that gets there.
    with record.span("finish"):
        learner.finish()
    _settle(run, feed, learner, record, position)
    return "complete"


def _begin(run: Run, feed: Batches, learner: Learner, record: Record) -> Position:
    position = learner.restore(run.folder)
    run.begin(position or Position.START)
    if position is None:
        return Position.START
    record.write(Resumed(position, *feed.done(position)))
    return position


def _evaluate(learner: Learner, record: Record, position: Position) -> None:
    if isinstance(learner, Evaluator):
        with record.span("evaluate"):
            metrics = learner.evaluate(position)
        if metrics is not None:
            record.evaluated(position, metrics)


def _save(run: Run, feed: Batches, learner: Learner, record: Record, position: Position) -> None:
    """Hand the state over; what is durable may still be an earlier one."""
    began = perf_counter()
    with record.span("save"):
        durable = learner.save(run.folder, position)
    run.saved(durable)
    if durable is not None:
        record.saved(durable, perf_counter() - began, done=feed.done(durable))


def _settle(run: Run, feed: Batches, learner: Learner, record: Record, position: Position) -> None:
    """Save, and wait until that is durable: an earlier save at the same position says nothing about this one."""
    _save(run, feed, learner, record, position)
    began = perf_counter()
    with record.span("settle"):
        learner.settle()
    if run.position != position:
        run.saved(position)
        record.saved(position, perf_counter() - began, done=feed.done(position))
