"""A state as it was at one call, in host memory that was there before: what happens to the tensors later is not in it.

A snapshot's buffer is, byte for byte, the body of the file it becomes, so nothing is copied a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from headway.learners.gradient.layout import Layout

# Each is a turn with Python's lock, which training wants as well; more would no longer be in the cache when written.
_CHUNK = 1 << 22
Pair = tuple[Tensor, Tensor]
"""Where a tensor is copied to, and the tensor."""


class Ticket(Protocol):
    """Copies that were ordered and need not be made yet."""

    def order(self) -> None:
        """Let no computation begun from now on change a tensor before its copy is made; does not wait itself."""
        ...

    def finish(self) -> None:
        """Wait until every copy is made."""
        ...


class Transport(Protocol):
    """How tensors get into host memory."""

    def allocate(self, size: int) -> Tensor:
        """So many bytes, ready to be copied to."""
        ...

    def copy(self, pairs: Sequence[Pair]) -> Ticket:
        """Copy, or begin to."""
        ...


class Done:
    """A ticket for copies that were made at once."""

    def order(self) -> None:
        """Nothing is left to wait for."""

    def finish(self) -> None:
        """Nothing is left to wait for."""


class Direct:
    """Copies at once: tensors of the CPU, and of devices that cannot copy beside their work."""

    def allocate(self, size: int) -> Tensor:
        """Bytes whose pages exist: the first snapshot is to take no longer than the others."""
        return torch.empty(size, dtype=torch.uint8).fill_(0)

    def copy(self, pairs: Sequence[Pair]) -> Ticket:
        """Every tensor, now."""
        for slot, tensor in pairs:
            slot.copy_(tensor)
        return Done()


class _Events:
    """Copies under way on streams of their own."""

    def __init__(self, cuda: Any, events: Mapping[torch.device, Any]) -> None:
        self._cuda = cuda
        self._events = events

    def order(self) -> None:
        for device, event in self._events.items():
            self._cuda.current_stream(device).wait_event(event)

    def finish(self) -> None:
        for event in self._events.values():
            event.synchronize()


class Beside:
    """Copies tensors of CUDA devices to pinned memory, on a stream behind the one that computes them.

    Training goes on meanwhile, up to the next change of the tensors: the ticket's `order` has to come before that.
    """

    def __init__(self, cuda: Any = torch.cuda, *, apart: Callable[[Tensor], bool] = lambda tensor: tensor.is_cuda):
        self._cuda = cuda
        self._apart = apart
        self._streams: dict[torch.device, Any] = {}

    def allocate(self, size: int) -> Tensor:
        """Bytes that a device can write to by itself."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=self._cuda.is_available()).fill_(0)

    def copy(self, pairs: Sequence[Pair]) -> Ticket:
        """Begin with the tensors of devices, copy the others at once."""
        of_device: defaultdict[torch.device, list[Pair]] = defaultdict(list)
        here: list[Pair] = []
        for pair in pairs:
            (of_device[pair[1].device] if self._apart(pair[1]) else here).append(pair)
        events = {device: self._begin(device, some) for device, some in of_device.items()}
        Direct().copy(here)
        return _Events(self._cuda, events)

    def _begin(self, device: torch.device, pairs: Sequence[Pair]) -> Any:
        if device not in self._streams:
            self._streams[device] = self._cuda.Stream(device)
        stream = self._streams[device]
        stream.wait_stream(self._cuda.current_stream(device))
        with self._cuda.stream(stream):
            for slot, tensor in pairs:
                slot.copy_(tensor, non_blocking=True)
                # Whoever frees the tensor meanwhile must not hand its memory on before it is read.
                tensor.record_stream(stream)
            event = self._cuda.Event()
            event.record(stream)
        return event


def transport_for(tensors: Mapping[str, Tensor]) -> Transport:
    """The way that suits where the tensors are."""
    return Beside() if any(tensor.is_cuda for tensor in tensors.values()) else Direct()


class Image:
    """One buffer, used again for snapshot after snapshot; it only ever grows."""

    def __init__(self) -> None:
        self._buffer: Tensor | None = None
        self._layout: Layout | None = None
        self._views: list[tuple[str, Tensor]] = []

    @property
    def layout(self) -> Layout:
        """The layout of what is in the buffer."""
        assert self._layout is not None
        return self._layout

    def fit(self, layout: Layout, transport: Transport) -> None:
        """Be ready for states of this layout."""
        if layout == self._layout:
            return
        if self._buffer is None or self._buffer.numel() < layout.size:
            self._buffer = transport.allocate(layout.size)
        buffer = self._buffer
        self._views = [
            (slot.name, buffer[slot.begin : slot.begin + slot.bytes].view(slot.dtype).view(slot.shape))
            for slot in layout.slots
        ]
        self._layout = layout

    def take(self, tensors: Mapping[str, Tensor], transport: Transport) -> Ticket:
        """Copy a state of the layout that the image was fitted to."""
        with torch.no_grad():
            return transport.copy([(view, tensors[name]) for name, view in self._views])

    def body(self) -> Iterator[memoryview]:
        """The bytes of the snapshot, in order; valid until the next one is taken."""
        if not self.layout.size:
            return
        assert self._buffer is not None
        whole = self._buffer.numpy().data[: self.layout.size]
        for begin in range(0, len(whole), _CHUNK):
            yield whole[begin : begin + _CHUNK]
