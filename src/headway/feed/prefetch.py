"""Batches read ahead by a thread; the position rides along with each."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Event, Thread

from headway.feed.batch import Batch
from headway.feed.feed import Done, Feed
from headway.plan.values import Position

Item = tuple[Batch, Position]
_PATIENCE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ahead:
    """A feed whose batches are read before they are asked for."""

    feed: Feed
    depth: int = 1

    def batches(self, position: Position) -> Generator[Item]:
        """Every batch from a position on, each with the position after it."""
        return prefetch(self.feed.batches(position), depth=self.depth)

    def done(self, position: Position) -> Done:
        """Documents and tokens before a position."""
        return self.feed.done(position)


class _End:
    """What the thread says last: the error it ended with, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(batches: Iterable[Item], *, depth: int) -> Generator[Item]:
    """The same batches in the same order, up to `depth` of them read before they are asked for."""
    if depth < 1:
        yield from batches
        return
    queue: Queue[Item | _End] = Queue(maxsize=depth)
    closed = Event()
    thread = Thread(target=_read_ahead, args=(batches, queue, closed), name="prefetch", daemon=True)
    thread.start()
    try:
        yield from _items(queue)
    finally:
        closed.set()
        _drain(queue)
        thread.join()


def _items(queue: "Queue[Item | _End]") -> Generator[Item]:
    while not isinstance(item := queue.get(), _End):
        yield item
    if item.error is not None:
        raise item.error


def _read_ahead(batches: Iterable[Item], queue: "Queue[Item | _End]", closed: Event) -> None:
    error: BaseException | None = None
    try:
        for batch, after in batches:
            len(batch.ids)
            if not _put(queue, (batch, after), closed):
                return
    except BaseException as cause:  # noqa: BLE001 - whatever ended the reading is raised where the batches are used
        error = cause
    _put(queue, _End(error), closed)


def _put(queue: "Queue[Item | _End]", item: Item | _End, closed: Event) -> bool:
    while not closed.is_set():
        try:
            queue.put(item, timeout=_PATIENCE_SECONDS)
        except Full:
            continue
        return True
    return False


def _drain(queue: "Queue[Item | _End]") -> None:
    while True:
        try:
            queue.get_nowait()
        except Empty:
            return
