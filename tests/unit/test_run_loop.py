from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.feed.batch import Batch, held
from headway.learners.base import Evaluator, Learner
from headway.plan.values import Mean, Position
from headway.record.record import Record, read_record
from headway.run.loop import drive

EPOCH = 3


@dataclass
class Batches:
    """Two epochs of three batches; one document of two tokens each."""

    epochs: int = 2

    def batches(self, position: Position) -> Iterator[tuple[Batch, Position]]:
        while position < Position(self.epochs, 0):
            batch = held([[1, 2]]).batch(position)
            last = position.batch == EPOCH - 1
            position = Position(position.epoch + 1, 0) if last else Position(position.epoch, position.batch + 1)
            yield batch, position

    def done(self, position: Position) -> tuple[int, int]:
        batches = position.epoch * EPOCH + position.batch
        return batches, 2 * batches


@dataclass
class Slow:
    """A learner whose saves become durable one later, unless somebody waits."""

    calls: list[Any] = field(default_factory=list)
    parallel: Any = "single"
    accepted: Position | None = None
    durable: Position | None = None
    begin: Position | None = None

    def step(self, batch: Batch) -> dict[str, float | Mean]:
        self.calls.append(("step", batch.position))
        return {"loss": Mean(3.0, 2.0), "seen": 1}

    def save(self, folder: Path, position: Position) -> Position | None:
        self.calls.append(("save", position))
        self.durable, self.accepted = self.accepted, position
        return self.durable

    def settle(self) -> None:
        self.calls.append(("settle",))
        self.durable = self.accepted

    def restore(self, folder: Path) -> Position | None:
        return self.begin

    def finish(self) -> None:
        self.calls.append(("finish",))

    def close(self) -> None: ...

    def totals(self) -> dict[str, Any]:
        return {}


@dataclass
class Judged(Slow):
    """One that has enough after so many evaluations."""

    most: int = 99
    enough: bool = False

    def evaluate(self, position: Position) -> dict[str, float | Mean] | None:
        self.calls.append(("evaluate", position))
        self.enough = sum(call[0] == "evaluate" for call in self.calls) >= self.most
        return {"skill": 0.25}


@dataclass
class Life:
    """What the loop asks of a Run; saves after every step if at all, stops after `most` of them."""

    folder: Path
    most: int = 99
    due: bool = True
    position: Position | None = None
    began: Position | None = None
    steps: int = 0

    def begin(self, position: Position) -> None:
        self.began = self.position = position

    def save_due(self) -> bool:
        return self.due

    def should_stop(self) -> bool:
        self.steps += 1
        return self.steps >= self.most

    def saved(self, position: Position | None) -> None:
        self.position = position or self.position


def driven(tmp_path: Path, learner: Slow, **life: Any) -> tuple[str, Any, list[dict[str, Any]]]:
    run: Any = Life(tmp_path, **life)
    with Record(tmp_path / "record.jsonl") as record:
        ending = drive(run, Batches(), learner, record)
    return ending, run, list(read_record(tmp_path / "record.jsonl"))


def test_what_these_tests_drive_is_what_the_frame_calls_a_learner() -> None:
    assert isinstance(Slow(), Learner)
    assert not isinstance(Slow(), Evaluator)
    assert isinstance(Judged(), Evaluator)


def test_a_run_never_claims_more_than_is_durable(tmp_path: Path) -> None:
    learner = Slow()

    _, run, events = driven(tmp_path, learner, most=4)

    saved = [(event["position"], event["documents"], event["tokens"]) for event in events if event["event"] == "saved"]
    # The fourth save is made twice: when it is due, and at the end, when the first of the two has become durable.
    assert saved == [([0, 1], 1, 2), ([0, 2], 2, 4), ([1, 0], 3, 6), ([1, 1], 4, 8)]
    assert run.position == learner.durable == Position(1, 1)


def test_the_last_save_is_waited_for(tmp_path: Path) -> None:
    learner = Slow()

    _, run, events = driven(tmp_path, learner, due=False)

    assert learner.calls[-3:] == [("finish",), ("save", Position(2, 0)), ("settle",)]
    assert run.position == learner.durable == Position(2, 0)
    assert [event["position"] for event in events if event["event"] == "saved"] == [[2, 0]]


def test_an_earlier_save_at_the_last_position_is_not_taken_for_the_last_one(tmp_path: Path) -> None:
    learner = Slow()

    driven(tmp_path, learner, most=4)

    # The first of two saves at the same position is durable when the second is made.
    assert learner.calls[-3:] == [("save", Position(1, 1)), ("save", Position(1, 1)), ("settle",)]


def test_a_learner_is_asked_how_good_it_is_at_the_end_of_each_epoch(tmp_path: Path) -> None:
    learner = Judged()

    _, _, events = driven(tmp_path, learner)

    assert [call[1] for call in learner.calls if call[0] == "evaluate"] == [Position(1, 0), Position(2, 0)]
    assert [event["metrics"] for event in events if event["event"] == "evaluated"] == [{"skill": 0.25}] * 2


def test_the_save_after_an_evaluation_holds_what_it_found(tmp_path: Path) -> None:
    learner = Judged()

    driven(tmp_path, learner)

    place = learner.calls.index(("evaluate", Position(1, 0)))
    assert learner.calls[place - 1 : place + 2] == [
        ("step", Position(0, 2)),
        ("evaluate", Position(1, 0)),
        ("save", Position(1, 0)),
    ]


def test_a_learner_with_enough_completes_its_run(tmp_path: Path) -> None:
    learner = Judged(most=1)

    ending, run, events = driven(tmp_path, learner)

    assert ending == "complete"
    assert ("finish",) in learner.calls
    assert run.position == Position(1, 0)
    notes = [event["text"] for event in events if event["event"] == "note"]
    assert notes == ["ending before the last epoch: learning more would be in vain"]


def test_a_run_that_was_killed_after_its_learner_had_enough_learns_nothing_more(tmp_path: Path) -> None:
    learner = Judged(enough=True, begin=Position(1, 0))

    ending, run, _ = driven(tmp_path, learner)

    assert ending == "complete"
    assert not [call for call in learner.calls if call[0] == "step"]
    assert run.position == Position(1, 0)


def test_a_stopped_run_is_saved_and_not_finished(tmp_path: Path) -> None:
    learner = Slow()

    ending, run, _ = driven(tmp_path, learner, most=2)

    assert ending == "stopped"
    assert ("finish",) not in learner.calls
    assert run.position == Position(0, 2)


def test_means_and_counts_of_steps_written_together_add_up(tmp_path: Path) -> None:
    _, _, events = driven(tmp_path, Slow())

    steps = [event for event in events if event["event"] == "step"]
    assert sum(event["metrics"]["seen"] for event in steps) == 6
    assert sum(event["metrics"]["loss"][0] for event in steps) == 18.0
    assert sum(event["metrics"]["loss"][1] for event in steps) == 12.0


def test_waiting_for_batches_is_on_the_record(tmp_path: Path) -> None:
    _, _, events = driven(tmp_path, Slow())

    spans = [event["spans"] for event in events if event["event"] == "spans"]
    assert sum(span.get("wait", {"count": 0})["count"] for span in spans) == 7
