"""Checkpoints are exact as of the call, durable when they say so, and never lost without a word."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import torch
from made_threads import PATIENCE_SECONDS, until_waiting

from headway.errors import RunError
from headway.learners.gradient import files
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.parts import load_optimizer, optimizer_state
from headway.learners.gradient.restore import Restored
from headway.learners.gradient.snapshot import Direct, Pair, Ticket
from headway.learners.gradient.state import State, join, part
from headway.plan.values import Position

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What survives a power failure is tested in test_gradient_shelf; here the disk would only take time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Slow(Direct):
    """Copies at once; whoever writes waits for the gate."""

    def __init__(self) -> None:
        self.gate = Event()
        self.begun = Event()
        self.ordered = 0

    def copy(self, pairs: Sequence[Pair]) -> Ticket:
        super().copy(pairs)
        return self

    def order(self) -> None:
        self.ordered += 1

    def finish(self) -> None:
        self.begun.set()
        assert self.gate.wait(PATIENCE_SECONDS)


@pytest.fixture
def slow() -> Iterator[Slow]:
    transport = Slow()
    yield transport
    transport.gate.set()


def _open(folder: Path, *, mode: Any = "async", keep: int = 2, transport: Any = None) -> Checkpoints:
    return Checkpoints(folder / "checkpoints", CheckpointSection(mode=mode, keep=keep), transport=transport)


def _state(number: float = 1.0) -> State:
    return State({"w": torch.full((3, 2), number)}, {"number": number})


def _found(restored: Restored | None) -> Restored:
    assert restored is not None
    return restored


def _at(batch: int) -> Position:
    return Position(0, batch)


def _bits(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().resolve_conj().contiguous().clone()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def test_what_happens_to_the_state_later_is_not_in_the_checkpoint(tmp_path: Path, slow: Slow) -> None:
    """All that training changes is changed while the writer stands still."""
    torch.manual_seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()

    step()
    facts = {"phase": [1, 2]}
    state = join({"model": State(model.state_dict(), facts), "optimizer": optimizer_state(optimizer)})
    expected = {name: _bits(tensor) for name, tensor in state.tensors.items()}
    checkpoints = _open(tmp_path, transport=slow)

    checkpoints.save(state, kind="periodic", position=_at(1))
    step()
    facts["phase"].append(3)
    for tensor in state.tensors.values():
        tensor.detach().zero_()
    slow.gate.set()
    checkpoints.close()

    found = _found(checkpoints.restore())
    assert {name: _bits(tensor) for name, tensor in found.tensors.items()} == expected
    assert part(found.state, "model").facts == {"phase": [1, 2]}
    load_optimizer(optimizer, part(found.state, "optimizer"))
    assert {int(each["step"]) for each in optimizer.state.values()} == {1}


def test_buffers_are_used_again_and_each_checkpoint_has_its_own_numbers(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path, keep=20)
    checkpoints.prepare(_state())
    buffers = {image._buffer.data_ptr() for image in checkpoints._images if image._buffer is not None}

    for number in range(6):
        checkpoints.save(_state(float(number)), kind="periodic", position=_at(number))
        checkpoints.wait()
        assert _found(checkpoints.restore()).tensors["w"].unique().tolist() == [number]
    checkpoints.close()

    assert {image._buffer.data_ptr() for image in checkpoints._images if image._buffer is not None} == buffers
    assert len(buffers) == 2


def test_a_state_that_grows_and_shrinks_fits_all_the_same(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path, mode="sync")
    for size in (2, 50, 3, 0):
        state = State({"a": torch.arange(size), "b": torch.tensor(size)}, {})
        checkpoints.save(state, kind="periodic", position=_at(size))

        found = _found(checkpoints.restore())
        assert found.tensors["a"].tolist() == list(range(size))
    checkpoints.save(State({}, {"nothing": True}), kind="periodic", position=_at(9))
    assert _found(checkpoints.restore()).facts == {"nothing": True}
    checkpoints.close()


def test_tied_weights_are_stored_once_and_come_back_tied(tmp_path: Path) -> None:
    weight = torch.randn(300, 10)
    tensors = {"embedding": weight, "head": weight, "view": weight[:], "part": weight[:150]}
    checkpoints = _open(tmp_path, mode="sync")

    checkpoints.save(State(tensors, {}), kind="periodic", position=_at(1))

    found = _found(checkpoints.restore())
    assert found.tensors["embedding"] is found.tensors["head"] is found.tensors["view"]
    assert torch.equal(found.tensors["part"], weight[:150])
    file = tmp_path / "checkpoints" / found.name / "state.safetensors"
    assert 18_000 < file.stat().st_size < 19_000
    checkpoints.close()


@pytest.mark.parametrize(
    ("tensor", "named"),
    [
        (torch.zeros(2, dtype=torch.complex128), "tensor w is of torch.complex128"),
        (torch.zeros(2, device="meta"), "tensor w is on no device"),
        (torch.zeros(2, 2).to_sparse(), "tensor w is torch.sparse_coo"),
    ],
)
def test_a_tensor_that_cannot_be_stored_is_named_and_costs_no_room(
    tmp_path: Path, tensor: torch.Tensor, named: str
) -> None:
    checkpoints = _open(tmp_path, mode="sync")

    for _ in range(3):
        with pytest.raises(RunError, match=named):
            checkpoints.save(State({"w": tensor}, {}), kind="periodic", position=_at(1))

    with pytest.raises(RunError, match="__metadata__"):
        checkpoints.save(State({"__metadata__": torch.zeros(1)}, {}), kind="periodic", position=_at(1))
    assert checkpoints.save(_state(), kind="periodic", position=_at(1)) == _at(1)
    checkpoints.close()


def test_a_copy_that_fails_leaves_its_buffer_to_others(tmp_path: Path) -> None:
    class Broken(Direct):
        fails = True

        def copy(self, pairs: Sequence[Pair]) -> Ticket:
            if self.fails:
                raise RuntimeError("device lost")
            return super().copy(pairs)

    transport = Broken()
    checkpoints = _open(tmp_path, mode="sync", transport=transport)
    with pytest.raises(RuntimeError, match="device lost"):
        checkpoints.save(_state(), kind="periodic", position=_at(1))

    transport.fails = False

    assert checkpoints.save(_state(), kind="periodic", position=_at(2)) == _at(2)
    checkpoints.close()


def test_facts_that_json_does_not_know_are_refused_at_the_call(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path, mode="sync")

    with pytest.raises(TypeError):
        checkpoints.save(State({}, {"when": object()}), kind="periodic", position=_at(1))
    with pytest.raises(ValueError, match="JSON compliant"):
        checkpoints.save(State({}, {"best": float("nan")}), kind="periodic", position=_at(1))
    checkpoints.close()


def test_saving_says_what_is_durable_and_waiting_makes_it_so(tmp_path: Path, slow: Slow) -> None:
    checkpoints = _open(tmp_path, transport=slow)

    assert checkpoints.save(_state(), kind="periodic", position=_at(1)) is None
    assert checkpoints.restore() is None
    slow.gate.set()
    checkpoints.wait(PATIENCE_SECONDS)

    assert checkpoints.durable == _at(1)
    assert _found(checkpoints.restore()).position == _at(1)
    checkpoints.close()


def test_sync_is_durable_on_return(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path, mode="sync")

    assert checkpoints.save(_state(), kind="periodic", position=_at(4)) == _at(4)
    assert _found(checkpoints.restore()).position == _at(4)
    assert checkpoints.statistics().blocking.count == 1
    checkpoints.close()


def test_of_three_in_a_row_the_middle_one_is_replaced_and_counted(tmp_path: Path, slow: Slow) -> None:
    checkpoints = _open(tmp_path, keep=9, transport=slow)
    checkpoints.save(_state(1), kind="periodic", position=_at(1))
    assert slow.begun.wait(PATIENCE_SECONDS)

    checkpoints.save(_state(2), kind="periodic", position=_at(2))
    checkpoints.save(_state(3), kind="periodic", position=_at(3))
    slow.gate.set()
    checkpoints.close()

    assert _names(tmp_path) == ["000000-00000001", "000000-00000003"]
    assert checkpoints.statistics().coalesced == 1
    assert _found(checkpoints.restore()).tensors["w"].unique().tolist() == [3]


def test_neither_best_nor_final_gives_way_to_a_periodic_one(tmp_path: Path, slow: Slow) -> None:
    checkpoints = _open(tmp_path, keep=9, transport=slow)
    checkpoints.save(_state(1), kind="periodic", position=_at(1))
    assert slow.begun.wait(PATIENCE_SECONDS)
    checkpoints.save(_state(2), kind="best", position=_at(2))

    save = {"kind": "periodic", "position": _at(3)}
    asking = Thread(target=lambda: checkpoints.save(_state(3), **save))
    asking.start()
    held_up = until_waiting(asking)
    slow.gate.set()
    asking.join(PATIENCE_SECONDS)
    checkpoints.close()

    assert held_up
    assert checkpoints.statistics().waiting.count == 1
    assert checkpoints.statistics().coalesced == 0
    assert _names(tmp_path) == ["000000-00000001", "000000-00000002-best", "000000-00000003"]


def test_best_and_periodic_of_one_position_are_both_written(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path)
    for kind in ("periodic", "best", "final"):
        checkpoints.save(_state(5), kind=kind, position=_at(5))
    checkpoints.close()

    assert _names(tmp_path) == ["000000-00000005", "000000-00000005-best", "000000-00000005-final"]
    assert _found(checkpoints.restore()).kind == "final"
    assert _found(checkpoints.restore_best()).kind == "best"


def test_a_full_disk_is_raised_with_its_cause_and_what_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = _open(tmp_path)
    checkpoints.save(_state(1), kind="periodic", position=_at(1))
    checkpoints.wait()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write_all", full)
        checkpoints.save(_state(2), kind="periodic", position=_at(2))
        with pytest.raises(RunError, match=r"disk is full .* checkpoint of epoch 0, batch 1 is safe") as found:
            checkpoints.wait()

    assert isinstance(found.value.__cause__, OSError)
    assert checkpoints.durable == _at(1)
    assert _names(tmp_path) == ["000000-00000001"]
    assert [each.name for each in (tmp_path / "checkpoints").glob("*.draft")] == []
    checkpoints.save(_state(3), kind="periodic", position=_at(3))
    checkpoints.close()
    assert checkpoints.statistics().failed == 1
    assert _found(checkpoints.restore()).position == _at(3)


def test_before_the_first_checkpoint_an_error_does_not_promise_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = _open(tmp_path, mode="sync")

    def fails(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_write_all", fails)

    with pytest.raises(RunError, match="there is no checkpoint yet"):
        checkpoints.save(_state(), kind="periodic", position=_at(1))
    checkpoints.close()


def test_the_next_change_waits_for_the_copy_once(tmp_path: Path, slow: Slow) -> None:
    slow.gate.set()
    checkpoints = _open(tmp_path, transport=slow)
    checkpoints.ready()
    assert slow.ordered == 0

    checkpoints.save(_state(1), kind="periodic", position=_at(1))
    checkpoints.ready()
    checkpoints.ready()
    once = slow.ordered
    checkpoints.save(_state(2), kind="periodic", position=_at(2))
    checkpoints.save(_state(3), kind="periodic", position=_at(3))

    assert once == 1
    assert slow.ordered == 2, "a save without `ready` orders what the one before left"
    checkpoints.close()


def test_copies_that_come_late_are_waited_for_before_anything_is_written(tmp_path: Path) -> None:
    """As on a GPU: the call returns before a single byte has arrived."""

    class Late(Direct):
        def copy(self, pairs: Sequence[Pair]) -> Ticket:
            direct = super().copy

            class Pending:
                def order(self) -> None:
                    pass

                def finish(self) -> None:
                    with torch.no_grad():
                        direct(pairs)

            return Pending()

    checkpoints = _open(tmp_path, transport=Late())

    checkpoints.save(_state(7), kind="periodic", position=_at(1))
    checkpoints.close()

    assert _found(checkpoints.restore()).tensors["w"].unique().tolist() == [7]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir() if path.is_dir())
