"""Checkpoints of any gradient learner: exact as of the call, written beside the training, never dropped silently."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from torch import Tensor

from headway.durable import write_errors
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.layout import lay_out
from headway.learners.gradient.restore import Restored, restore
from headway.learners.gradient.shelf import Content, Kind, Shelf
from headway.learners.gradient.snapshot import Image, Ticket, Transport, transport_for
from headway.learners.gradient.state import State
from headway.learners.gradient.statistics import Statistics
from headway.learners.gradient.writer import Job, Writer
from headway.plan.values import Position

# One is written while the next is taken.
_BUFFERS = 2


@dataclass(frozen=True, slots=True)
class _Taken:
    """A snapshot on its way to the disk."""

    kind: Kind
    position: Position
    image: Image
    ticket: Ticket
    facts: bytes


class Checkpoints:
    """The checkpoints of one run, opened for writing by the one process that holds the run's lock.

    Opening removes what a crash left unfinished. `save` blocks for a copy in memory, and longer only when both
    buffers wait for the disk; what it could not write is raised at the next `save`, `wait` or `close`.
    """

    def __init__(
        self,
        folder: Path,
        section: CheckpointSection,
        *,
        clock: Callable[[], float] = time.perf_counter,
        transport: Transport | None = None,
    ) -> None:
        self.folder = folder
        self._section = section
        self._clock = clock
        self._transport = transport
        with write_errors(folder, kept="what is there is unchanged"):
            self._shelf = Shelf(folder, keep=section.keep)
        self._images = [Image() for _ in range(_BUFFERS if section.mode == "async" else 1)]
        self._writer = Writer(len(self._images), clock=clock)
        self._ticket: Ticket | None = None
        self._durable = self._shelf.latest.position if self._shelf.latest else None

    @property
    def durable(self) -> Position | None:
        """The position of the checkpoint that `restore` would give now; None where there is none."""
        return self._durable

    def prepare(self, state: State) -> None:
        """Allocate the buffers for states like this one, so that the first snapshot takes no longer than others."""
        layout, transport = lay_out(state.tensors), self._transport_of(state.tensors)
        self._writer.wait()
        for image in self._images:
            image.fit(layout, transport)

    def save(self, state: State, *, kind: Kind, position: Position) -> Position | None:
        """Take the state as it is now; it becomes durable in the background, in mode `sync` before this returns.

        Returns the newest position that `restore` would give by now. Where tensors are on a GPU, `ready` has to be
        called before they change.
        """
        began = self._clock()
        facts = json.dumps(dict(state.facts), sort_keys=True, allow_nan=False).encode()
        layout, transport = lay_out(state.tensors), self._transport_of(state.tensors)
        self.ready()
        room = self._writer.enter(kind)
        image = self._images[room]
        try:
            image.fit(layout, transport)
            self._ticket = image.take(state.tensors, transport)
        except BaseException:
            # However it ends, the buffer is free again; the cause goes on.
            self._writer.leave(room)
            raise
        taken = _Taken(kind, position, image, self._ticket, facts)
        job = Job(f"the {kind} checkpoint of {_words(position)}", kind, lambda: self._write(taken))
        self._writer.submit(room, job, since=began, wait=self._section.mode == "sync")
        return self._durable

    def ready(self) -> None:
        """Have the next change of the tensors wait for the copy of the last `save`; the caller does not wait.

        Does nothing where copies are made at once, as on the CPU.
        """
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            ticket.order()

    def wait(self, timeout: float | None = None) -> None:
        """Return when everything saved is durable; a RunError names what is not when the time is up."""
        self._writer.wait(timeout)

    def close(self) -> None:
        """Wait until everything saved is durable, and end the thread; harmless when repeated."""
        self._writer.close()

    def restore(self) -> Restored | None:
        """The newest durable checkpoint, checked; None where there is none."""
        return restore(self.folder)

    def restore_best(self) -> Restored | None:
        """The best checkpoint, checked; None where there is none."""
        return restore(self.folder, "best")

    def statistics(self) -> Statistics:
        """What saving did and cost so far."""
        return self._writer.statistics()

    def _write(self, taken: _Taken) -> int:
        taken.ticket.finish()
        layout = taken.image.layout
        body = chain([layout.header({"format": "pt"})], taken.image.body())
        with write_errors(self.folder, kept=self._kept()):
            size = self._shelf.put(Content(taken.kind, taken.position, body, taken.facts, layout.tied))
            if taken.kind != "best":
                self._durable = taken.position
            self._shelf.sweep()
        return size

    def _kept(self) -> str:
        if self._durable is None:
            return "there is no checkpoint yet"
        return f"the checkpoint of {_words(self._durable)} is safe"

    def _transport_of(self, tensors: Mapping[str, Tensor]) -> Transport:
        if self._transport is None:
            self._transport = transport_for(tensors)
        return self._transport


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, batch {position.batch}"
