import threading

import pytest
from made_threads import PATIENCE_SECONDS

from headway.feed.batch import Batch, held
from headway.feed.prefetch import prefetch
from headway.plan.values import Position


def items(count):
    for number in range(count):
        yield held([[number]]).batch(Position(0, number)), Position(0, number + 1)


def prefetchers():
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


@pytest.mark.parametrize("depth", [0, 1, 3, 100])
def test_batches_come_in_order_with_their_positions(depth):
    given = [(batch.position, after) for batch, after in prefetch(items(20), depth=depth)]

    assert given == [(Position(0, number), Position(0, number + 1)) for number in range(20)]
    assert not prefetchers()


class Announcing:
    """Documents that say when they are read."""

    def __init__(self):
        self.was_read = threading.Event()

    def read(self, rows):
        self.was_read.set()
        return held([[1]]).read(rows)


def test_a_batch_is_read_before_it_is_asked_for():
    readers = [Announcing(), Announcing()]
    batches = ((Batch(Position(0, 0), slice(0, 1), 1, 1, reader), Position(0, 1)) for reader in readers)
    stream = prefetch(batches, depth=1)
    next(stream)

    assert readers[1].was_read.wait(PATIENCE_SECONDS)
    stream.close()


def test_an_error_while_reading_ahead_is_raised_in_its_place():
    def failing():
        yield from items(2)
        raise RuntimeError("the disk is gone")

    stream = prefetch(failing(), depth=1)
    assert [next(stream)[1], next(stream)[1]] == [Position(0, 1), Position(0, 2)]

    with pytest.raises(RuntimeError, match="the disk is gone"):
        next(stream)
    assert not prefetchers()


def test_stopping_early_ends_the_thread():
    stream = prefetch(items(1000), depth=2)
    next(stream)
    stream.close()

    assert not prefetchers()
