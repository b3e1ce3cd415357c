"""Snapshots hold the bits of the call, whatever kind of tensor, from whatever device."""

from pathlib import Path

import pytest
import torch

from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.layout import lay_out
from headway.learners.gradient.snapshot import Beside, Direct, Image, transport_for
from headway.learners.gradient.state import State
from headway.plan.values import Position

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)


def _every_kind_of_tensor() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    square = torch.randn(5, 7, generator=generator)
    tensors = {
        "transposed": square.t(),
        "strided": square[::2, 1::3],
        "expanded": torch.tensor([1.5]).expand(4),
        "scalar": torch.tensor(3, dtype=torch.int64),
        "empty": torch.empty(0, 3),
        "bool": torch.tensor([True, False, True]),
        "parameter": torch.nn.Parameter(square.clone()),
        "not a number": torch.tensor([float("nan"), -0.0, float("inf")]),
        "wide": torch.randn(3, generator=generator, dtype=torch.float64),
        "complex": torch.randn(3, generator=generator, dtype=torch.complex64),
        "conjugate": torch.randn(3, generator=generator, dtype=torch.complex64).conj(),
    }
    for kind in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2):
        tensors[str(kind)] = torch.randn(3, generator=generator).to(kind)
    for kind in (torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.uint64):
        tensors[str(kind)] = torch.tensor([1, 2, 100]).to(kind)
    return tensors


def _bits(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().contiguous().clone()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def test_every_kind_of_tensor_comes_back_bit_for_bit(tmp_path: Path) -> None:
    tensors = _every_kind_of_tensor()
    checkpoints = Checkpoints(tmp_path, CheckpointSection())

    checkpoints.save(State(tensors, {"name": "été"}), kind="periodic", position=Position(2, 7))
    checkpoints.close()
    found = checkpoints.restore()
    assert found is not None

    assert found.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (found.tensors[name].dtype, found.tensors[name].shape) == (tensor.dtype, tensor.shape)
        assert _bits(found.tensors[name]) == _bits(tensor), name
    assert (found.facts, found.position, found.kind) == ({"name": "été"}, Position(2, 7), "periodic")
    assert found.state.tensors is found.tensors


class FakeCuda:
    """Streams that only note what was asked of them, in order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.inside = False

    def is_available(self) -> bool:
        return False

    def current_stream(self, device: torch.device) -> "FakeCuda.Compute":
        return FakeCuda.Compute(self)

    def Stream(self, device: torch.device) -> "FakeCuda.Side":
        self.events.append("stream")
        return FakeCuda.Side(self)

    def Event(self) -> "FakeCuda.Mark":
        return FakeCuda.Mark(self)

    def stream(self, side: "FakeCuda.Side") -> "FakeCuda.Side":
        return side

    class Compute:
        def __init__(self, cuda: "FakeCuda") -> None:
            self.cuda = cuda

        def wait_event(self, event: object) -> None:
            self.cuda.events.append("compute waits")

    class Side:
        def __init__(self, cuda: "FakeCuda") -> None:
            self.cuda = cuda

        def wait_stream(self, stream: object) -> None:
            self.cuda.events.append("copies wait")

        def __enter__(self) -> None:
            self.cuda.events.append("copy")

        def __exit__(self, *_: object) -> None:
            self.cuda.events.append("copied")

    class Mark:
        def __init__(self, cuda: "FakeCuda") -> None:
            self.cuda = cuda

        def record(self, stream: object) -> None:
            self.cuda.events.append("mark")

        def synchronize(self) -> None:
            self.cuda.events.append("host waits")


class FakeDevice(torch.Tensor):
    """A tensor that says it is read on a stream."""

    def record_stream(self, stream: object) -> None:
        assert isinstance(stream, FakeCuda.Side)


def test_tensors_of_a_device_are_copied_on_a_stream_behind_the_one_that_computes() -> None:
    cuda = FakeCuda()
    there, here = torch.arange(3.0).as_subclass(FakeDevice), torch.arange(2)
    transport = Beside(cuda, apart=lambda tensor: isinstance(tensor, FakeDevice))
    slots = [transport.allocate(12).view(torch.float32), transport.allocate(16).view(torch.int64)]

    ticket = transport.copy([(slots[0], there), (slots[1], here)])
    ticket.order()
    ticket.finish()
    transport.copy([(slots[0], there)])

    assert cuda.events[:7] == [
        "stream",
        "copies wait",
        "copy",
        "mark",
        "copied",
        "compute waits",
        "host waits",
    ]
    assert cuda.events.count("stream") == 1
    assert [slot.tolist() for slot in slots] == [[0, 1, 2], [0, 1]]


def test_what_is_on_the_cpu_is_copied_directly() -> None:
    class OnGpu:
        is_cuda = True

    assert isinstance(transport_for({"w": torch.zeros(1)}), Direct)
    assert isinstance(transport_for({"w": OnGpu()}), Beside)  # type: ignore[dict-item]


def test_an_image_of_nothing_has_no_bytes() -> None:
    image = Image()
    image.fit(lay_out({"empty": torch.empty(0)}), Direct())

    assert list(image.body()) == []
