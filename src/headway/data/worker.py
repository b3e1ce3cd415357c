"""A process that makes shards for a builder, and ends when the builder ends."""

import os
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NoReturn

from headway.data.engine_check import Choice
from headway.data.proof import likely, prove
from headway.data.shards import Job, Marker, Recipe
from headway.data.sources import Part
from headway.errors import HeadwayError


@dataclass(frozen=True, slots=True)
class Check:
    """The first message to a process that only chooses the engine; the answer is a Choice."""

    recipe: Recipe
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a worker; with a check, it first answers that, and goes on if its engine was chosen."""

    recipe: Recipe
    folder: Path
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker asks for a job; the answer is a Job, or None when there is no more."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended a worker: an error a user can mend, or (kind None) a defect of ours with its traceback."""

    kind: type[HeadwayError] | None
    message: str


Order = Start | Check | Job | None
Message = Ready | Marker | Failure | Choice


class Line:
    """A worker's end of its connection: one thread listens, any thread may speak."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._speaking = Lock()
        self._heard: SimpleQueue[Order] = SimpleQueue()
        Thread(target=self._listen, daemon=True, name="builder").start()

    def say(self, message: Message) -> None:
        """Send a message to the builder."""
        with self._speaking:
            self._connection.send(message)

    def hear(self) -> Order:
        """The builder's next message."""
        return self._heard.get()

    def _listen(self) -> NoReturn:
        while True:
            try:
                self._heard.put(self._connection.recv())
            except (EOFError, OSError):
                # The builder is gone: what this shard has so far is worth nothing without it.
                os._exit(1)


def main(descriptor: int) -> None:
    """Serve the builder at the other end of this socket."""
    line = Line(Connection(descriptor))
    # When the builder is gone, there is nobody to tell anything.
    with suppress(BrokenPipeError, ConnectionResetError):
        try:
            _serve(line)
        except HeadwayError as error:
            line.say(Failure(type(error), str(error)))
        except Exception:  # noqa: BLE001 - the outermost frame of a worker: the builder raises it
            line.say(Failure(None, traceback.format_exc()))


def _serve(line: Line) -> None:
    start = line.hear()
    if isinstance(start, Check):
        line.say(prove(start.recipe, start.parts))
    elif isinstance(start, Start):
        _make_shards(line, start)


def _make_shards(line: Line, start: Start) -> None:
    from headway.data.maker import Maker

    tokenizer = likely(start.recipe)
    if start.check is not None:
        chosen = prove(start.check.recipe, start.check.parts, loaded=tokenizer)
        line.say(chosen)
        if chosen.engine != tokenizer.engine:
            return
    with Maker(start.recipe, start.folder, tokenizer=tokenizer, done=line.say) as maker:
        while True:
            line.say(Ready())
            job = line.hear()
            if not isinstance(job, Job):
                break
            maker.make(job)
        maker.wait()


def command(descriptor: int) -> list[str]:
    """The command line that starts a worker; it needs no guard in the user's own script, unlike multiprocessing."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from headway.data.worker import main; main({descriptor})"
    return [sys.executable, "-c", code]
