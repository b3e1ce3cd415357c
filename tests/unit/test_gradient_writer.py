"""The thread beside the training: nothing is lost, nothing is silent, and waiting means durable."""

from collections.abc import Callable
from threading import Event, Thread

import pytest
from made_threads import PATIENCE_SECONDS, until_waiting

from headway.errors import RunError
from headway.learners.gradient.statistics import Seconds, Spread
from headway.learners.gradient.writer import Job, Writer


class Desk:
    """A writer whose jobs can be held back, and what it wrote."""

    def __init__(self, rooms: int = 2, clock: Callable[[], float] | None = None) -> None:
        self.writer = Writer(rooms) if clock is None else Writer(rooms, clock=clock)
        self.gate = Event()
        self.begun = Event()
        self.written: list[str] = []

    def save(self, name: str, lane: str, priority: int = 0) -> None:
        room = self.writer.enter(lane)
        self.writer.submit(room, Job(name, lane, lambda: self._write(name), priority), since=0)

    def hold(self) -> None:
        """Have the writer stand in the middle of a job."""
        self.save("held", "held")
        assert self.begun.wait(PATIENCE_SECONDS)

    def release(self) -> None:
        self.gate.set()

    def _write(self, name: str) -> int:
        self.begun.set()
        assert self.gate.wait(PATIENCE_SECONDS)
        self.written.append(name)
        return 10


def test_everything_is_written_in_order_and_waiting_means_so() -> None:
    desk = Desk(rooms=3)
    desk.hold()
    desk.save("first", "periodic")
    desk.save("second", "best")

    desk.release()
    desk.writer.wait()

    assert desk.written == ["held", "first", "second"]
    desk.writer.close()


def test_a_newer_one_of_its_kind_replaces_one_that_nobody_began_and_is_counted() -> None:
    desk = Desk(rooms=3)
    desk.hold()
    desk.save("old", "periodic")
    desk.save("best", "best")
    desk.save("new", "periodic")

    desk.release()
    desk.writer.close()

    assert desk.written == ["held", "best", "new"]
    found = desk.writer.statistics()
    assert (found.accepted, found.written, found.coalesced, found.failed, found.pending) == (4, 3, 1, 0, 0)
    assert found.bytes == 30


def test_one_of_another_kind_waits_for_a_place_instead_of_taking_one() -> None:
    desk = Desk(rooms=2)
    desk.hold()
    desk.save("best", "best")
    asking = Thread(target=desk.save, args=("periodic", "periodic"))

    asking.start()
    held_up = until_waiting(asking)
    desk.release()
    asking.join(PATIENCE_SECONDS)
    desk.writer.close()

    assert held_up
    assert desk.written == ["held", "best", "periodic"]
    assert desk.writer.statistics().waiting.count == 1
    assert desk.writer.statistics().coalesced == 0


def test_what_is_being_written_is_never_replaced() -> None:
    desk = Desk(rooms=2)
    desk.save("begun", "best")
    assert desk.begun.wait(PATIENCE_SECONDS)
    desk.save("newer", "best")

    desk.release()
    desk.writer.close()

    assert desk.written == ["begun", "newer"]


def test_the_highest_priority_goes_first_and_equals_go_by_age() -> None:
    desk = Desk(rooms=5)
    desk.hold()
    for name, priority in (("a", 0), ("b", 1), ("c", 0), ("d", 1)):
        desk.save(name, name, priority)

    desk.release()
    desk.writer.close()

    assert desk.written == ["held", "b", "d", "a", "c"]


def test_a_failure_is_raised_once_at_the_next_word_with_its_cause() -> None:
    writer = Writer(2)
    cause = OSError("no such disk")

    def fail() -> int:
        raise RunError("not written") from cause

    writer.submit(writer.enter("a"), Job("a", "a", fail), since=0)

    with pytest.raises(RunError, match="not written") as found:
        writer.wait()
    assert found.value.__cause__ is cause
    writer.wait()
    assert writer.statistics().failed == 1
    writer.close()


@pytest.mark.parametrize("word", ["enter", "close"])
def test_saving_and_closing_raise_what_went_wrong_too(word: str) -> None:
    writer = Writer(1)
    failed = Event()

    def fail() -> int:
        failed.set()
        raise RunError("not written")

    writer.submit(writer.enter("a"), Job("a", "a", fail), since=0)
    assert failed.wait(PATIENCE_SECONDS)

    # With one room, entering waits for the end of the job that fails.
    with pytest.raises(RunError, match="not written"):
        writer.enter("b") if word == "enter" else writer.close()
    writer.close()


def test_after_a_failure_the_thread_goes_on() -> None:
    desk = Desk(rooms=2)
    desk.release()

    def fail() -> int:
        raise RunError("not written")

    desk.writer.submit(desk.writer.enter("a"), Job("a", "a", fail), since=0)
    with pytest.raises(RunError):
        desk.writer.wait()
    desk.save("next", "b")
    desk.writer.close()

    assert desk.written == ["next"]


def test_a_wait_that_ends_too_early_names_what_is_not_durable() -> None:
    desk = Desk(rooms=3)
    desk.hold()
    desk.save("the best checkpoint", "best")

    with pytest.raises(RunError, match=r"not durable after 0.01 seconds: held, the best checkpoint"):
        desk.writer.wait(0.01)

    desk.release()
    desk.writer.wait(PATIENCE_SECONDS)
    desk.writer.close()


def test_a_closed_writer_takes_nothing_more_and_closes_twice() -> None:
    writer = Writer(1)
    writer.close()
    writer.close()

    with pytest.raises(RunError, match="closed"):
        writer.enter("a")


def test_a_room_that_was_left_can_be_entered_again() -> None:
    writer = Writer(1)
    writer.leave(writer.enter("a"))

    assert writer.enter("b") == 0


def test_times_are_those_of_the_clock_that_was_given() -> None:
    now = [0.0]
    writer = Writer(1, clock=lambda: now[0])
    assert writer.statistics().age is None

    def write() -> int:
        now[0] += 3
        return 1

    writer.submit(writer.enter("a"), Job("a", "a", write), since=-0.25)
    writer.wait()
    writer.submit(writer.enter("a"), Job("a", "a", write), since=2.0, wait=True)
    now[0] += 4
    found = writer.statistics()
    writer.close()

    assert found.writing == Spread(2, 3.0, 3.0, 3.0, 3.0, 3.0)
    assert found.blocking == Spread(2, 4.0, 2.125, 0.25, 4.0, 4.0)
    assert found.age == 4
    assert found.to_json()["writing"]["max"] == 3.0


def test_ranks_are_of_what_happened_and_nothing_is_made_up() -> None:
    seconds = Seconds()
    assert seconds.spread() == Spread(0)

    for each in range(1, 101):
        seconds.add(float(each))

    assert seconds.spread() == Spread(100, last=100.0, mean=50.5, median=50.0, p95=95.0, max=100.0)
