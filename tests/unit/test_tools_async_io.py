"""The seeds' asynchronous savers: exact as of the call, durable when they say so, nothing dropped."""

import errno
import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import torch
from made_threads import PATIENCE_SECONDS, until_waiting
from safetensors.torch import load_file

from headway.errors import PlanError, RunError
from headway.learners.gradient import files
from headway.tools import async_io
from headway.tools.async_io import AsyncArtifactManager, AsyncCheckpointer, load_checkpoint

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)


class Gate:
    """Holds back every file until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = Event()
        self.reached = Event()
        self.order: list[str] = []
        replace = async_io.replace_file

        def held(path: Path, parts: Any) -> Any:
            self.reached.set()
            assert self.open.wait(PATIENCE_SECONDS)
            self.order.append(path.name)
            return replace(path, parts)

        monkeypatch.setattr(async_io, "replace_file", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open.set()


def _checkpoint() -> dict[str, Any]:
    torch.manual_seed(4)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {
        "epoch": 7,
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "best": math.inf,
        "history": {"loss": [0.5, math.nan], "shape": (3, 2)},
        "codes": np.arange(6, dtype=np.float32).reshape(2, 3),
        "half": torch.tensor([1.5], dtype=torch.bfloat16),
    }


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and torch.equal(one, two)
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(two) and all(_same(a, b) for a, b in zip(one, two, strict=True))
    return one == two or (one != one and two != two)


@pytest.mark.parametrize(("compress", "suffix"), [(False, ".safetensors"), (True, ".safetensors.zst")])
def test_a_checkpoint_comes_back_as_it_was_by_the_name_it_was_given(
    tmp_path: Path, compress: bool, suffix: str
) -> None:
    checkpoint = _checkpoint()
    with AsyncCheckpointer(tmp_path) as checkpointer:
        path = checkpointer.save_checkpoint_async(checkpoint, "best_model.pt", compress=compress)
        checkpointer.wait_for_completion()

        assert path == tmp_path / f"best_model.pt{suffix}"
        assert _same(load_checkpoint(tmp_path / "best_model.pt"), checkpoint)
        assert _same(load_checkpoint(path), checkpoint)


def test_an_optimizer_takes_what_was_saved(tmp_path: Path) -> None:
    checkpoint = _checkpoint()
    with AsyncCheckpointer(tmp_path) as checkpointer:
        checkpointer.save_checkpoint_async(checkpoint, "c")
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())

    found = load_checkpoint(tmp_path / "c")
    model.load_state_dict(found["model_state_dict"])
    optimizer.load_state_dict(found["optimizer_state_dict"])

    assert _same(optimizer.state_dict(), checkpoint["optimizer_state_dict"])


def test_tensors_can_be_read_without_headway_and_tied_ones_are_stored_once(tmp_path: Path) -> None:
    weight = torch.randn(4, 4)
    with AsyncCheckpointer(tmp_path) as checkpointer:
        path = checkpointer.save_checkpoint_async({"a": weight, "b": weight}, "tied.safetensors")

    stored = load_file(path)
    found = load_checkpoint(path)

    assert list(stored) == ["a"]
    assert torch.equal(stored["a"], weight)
    assert found["a"] is found["b"]


def test_what_changes_after_the_call_is_not_in_the_file(tmp_path: Path, gate: Gate) -> None:
    weight, array, facts = torch.ones(5), np.ones(5), {"losses": [1.0]}
    checkpointer, artifacts = AsyncCheckpointer(tmp_path), AsyncArtifactManager(tmp_path)
    checkpointer.save_checkpoint_async({"w": weight, "a": array, "f": facts}, "c")
    artifacts.save_numpy_async(array, "n", compressed=False)
    artifacts.save_numpy_async(array, "z")
    artifacts.save_json_async(facts, "f.json")

    weight.zero_()
    array[:] = 0
    facts["losses"].append(2.0)
    gate.open.set()
    checkpointer.shutdown()
    artifacts.shutdown()

    found = load_checkpoint(tmp_path / "c")
    assert found["w"].tolist() == found["a"].tolist() == [1.0] * 5
    assert found["f"] == json.loads((tmp_path / "f.json").read_text()) == {"losses": [1.0]}
    assert np.load(tmp_path / "n.npy").tolist() == np.load(tmp_path / "z.npz")["data"].tolist() == [1.0] * 5


def test_a_newer_one_of_the_same_name_replaces_one_nobody_began_and_others_wait(tmp_path: Path, gate: Gate) -> None:
    checkpointer = AsyncCheckpointer(tmp_path, max_queue_size=2)
    checkpointer.save_checkpoint_async({"n": 0}, "first")
    assert gate.reached.wait(PATIENCE_SECONDS)
    checkpointer.save_checkpoint_async({"n": 1}, "latest")
    checkpointer.save_checkpoint_async({"n": 2}, "latest")

    asking = Thread(target=checkpointer.save_checkpoint_async, args=({"n": 3}, "other"))
    asking.start()
    held_up = until_waiting(asking)
    gate.open.set()
    asking.join(PATIENCE_SECONDS)
    checkpointer.shutdown()

    assert held_up
    assert [load_checkpoint(tmp_path / name)["n"] for name in ("first", "latest", "other")] == [0, 2, 3]
    found = checkpointer.get_statistics()
    assert (found["accepted"], found["total_saves"], found["coalesced"], found["failed_saves"]) == (4, 3, 1, 0)
    assert found["pending_saves"] == 0
    assert found["waiting"]["count"] == 1


def test_the_important_ones_are_written_first(tmp_path: Path, gate: Gate) -> None:
    checkpointer = AsyncCheckpointer(tmp_path)
    checkpointer.save_checkpoint_async({}, "begun")
    assert gate.reached.wait(PATIENCE_SECONDS)
    for name, priority in (("low", 0), ("high", 5), ("middle", 1)):
        checkpointer.save_checkpoint_async({}, name, priority=priority)

    gate.open.set()
    checkpointer.shutdown()

    assert [name.split(".")[0] for name in gate.order] == ["begun", "high", "middle", "low"]


def test_a_timeout_names_what_is_pending_and_gives_nothing_up(tmp_path: Path, gate: Gate) -> None:
    checkpointer = AsyncCheckpointer(tmp_path)
    checkpointer.save_checkpoint_async({"n": 1}, "slow")
    for wait in (checkpointer.wait_for_completion, checkpointer.shutdown):
        with pytest.raises(RunError, match=r"not durable after 0.01 seconds: slow\.safetensors"):
            wait(0.01)

    gate.open.set()
    checkpointer.shutdown(PATIENCE_SECONDS)
    checkpointer.shutdown()

    assert load_checkpoint(tmp_path / "slow") == {"n": 1}


def test_a_full_disk_is_raised_and_the_earlier_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpointer = AsyncCheckpointer(tmp_path)
    checkpointer.save_checkpoint_async({"n": 1}, "c")
    checkpointer.wait_for_completion()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "_write_all", full)
    checkpointer.save_checkpoint_async({"n": 2}, "c")

    with pytest.raises(RunError, match=r"disk is full .* what was saved before is as it was"):
        checkpointer.shutdown()
    assert load_checkpoint(tmp_path / "c") == {"n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]
    assert checkpointer.get_statistics()["failed_saves"] == 1


def test_nothing_measured_is_told_as_nothing(tmp_path: Path) -> None:
    found = AsyncCheckpointer(tmp_path / "new").get_statistics()

    assert (found["total_saves"], found["avg_save_time"], found["max_save_time"]) == (0, None, None)


def test_what_cannot_be_saved_is_named_at_the_call_and_takes_no_place(tmp_path: Path) -> None:
    with AsyncCheckpointer(tmp_path, max_queue_size=1) as checkpointer:
        for value in (object(), torch.zeros(1, dtype=torch.complex128)):
            with pytest.raises(RunError, match=r"no checkpoint can hold|checkpoint cannot hold"):
                checkpointer.save_checkpoint_async({"a": value}, "c")

        checkpointer.save_checkpoint_async({"a": 1}, "c")

    assert load_checkpoint(tmp_path / "c") == {"a": 1}


def test_a_copy_that_fails_takes_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def allocate(self, size: int) -> None:
            raise RuntimeError("no memory")

    with AsyncCheckpointer(tmp_path, max_queue_size=1) as checkpointer:
        with monkeypatch.context() as patch:
            patch.setattr(async_io, "transport_for", lambda tensors: Broken())
            with pytest.raises(RuntimeError, match="no memory"):
                checkpointer.save_checkpoint_async({"a": torch.ones(1)}, "c")

        checkpointer.save_checkpoint_async({"a": torch.ones(1)}, "c")

    assert load_checkpoint(tmp_path / "c")["a"].tolist() == [1]


@pytest.mark.parametrize("name", ["../c", "a/b", "", ".."])
def test_names_stay_in_their_folder(tmp_path: Path, name: str) -> None:
    with AsyncArtifactManager(tmp_path) as artifacts, pytest.raises(PlanError, match="a name without a folder"):
        artifacts.save_text_async("x", name)


def test_a_queue_has_a_place_at_least(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="max_queue_size: should be 1 or more, not 0"):
        AsyncCheckpointer(tmp_path, max_queue_size=0)


@pytest.mark.parametrize("damage", ["missing", "torn", "flipped", "header", "foreign"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, damage: str, compress: bool) -> None:
    with AsyncCheckpointer(tmp_path) as checkpointer:
        path = checkpointer.save_checkpoint_async({"w": torch.randn(1000)}, "c", compress=compress)
    content = bytearray(path.read_bytes())
    match damage:
        case "missing":
            path.unlink()
        case "torn":
            path.write_bytes(content[: len(content) // 2])
        case "flipped":
            content[-20] ^= 1
            path.write_bytes(content)
        case "header":
            path.write_bytes(content[:6])
        case _:
            path.write_bytes(b"\x02\0\0\0\0\0\0\0{}")

    with pytest.raises(RunError, match=path.name):
        load_checkpoint(path)


def test_artifacts_are_the_files_that_others_read(tmp_path: Path) -> None:
    with AsyncArtifactManager(tmp_path) as artifacts:
        artifacts.save_json_async({"a": np.float32(0.5), "b": torch.tensor([1, 2]), "é": np.arange(2)}, "a.json")
        artifacts.save_text_async("Ein Gedicht:\n\tGrüße", "poem.txt")
        array = np.arange(6.0)[::-2]
        plain = artifacts.save_numpy_async(array, "plain.npy", compressed=False)
        packed = artifacts.save_numpy_async(np.array(3), "scalar")

    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"a": 0.5, "b": [1, 2], "é": [0, 1]}
    assert (tmp_path / "poem.txt").read_text(encoding="utf-8") == "Ein Gedicht:\n\tGrüße"
    assert np.load(plain).tolist() == [5, 3, 1]
    assert np.load(packed)["data"] == 3
    assert (plain.name, packed.name) == ("plain.npy", "scalar.npz")


def test_metrics_are_json_and_where_they_are_numbers_arrays_too(tmp_path: Path) -> None:
    second = datetime(2024, 5, 6, 7, 8, 9)
    with AsyncArtifactManager(tmp_path, now=lambda: second) as artifacts:
        numbers = artifacts.save_metrics_batch_async({"loss": [0.5, math.nan], "step": [1, np.int64(2)]})
        words = artifacts.save_metrics_batch_async({"loss": [0.5], "phase": ["warm"]}, prefix="phases")
        again = artifacts.save_metrics_batch_async({"loss": [0.25]})

    assert [path.name for path in numbers] == ["metrics_20240506_070809.json", "metrics_20240506_070809.npz"]
    assert [path.name for path in words] == ["phases_20240506_070809.json"]
    assert [path.name for path in again] == ["metrics_20240506_070809-2.json", "metrics_20240506_070809-2.npz"]
    assert np.load(numbers[1])["step"].tolist() == [1, 2]
    assert math.isnan(json.loads(numbers[0].read_text())["loss"][1])
    assert json.loads(again[0].read_text()) == {"loss": [0.25]}


def test_batches_of_an_earlier_process_are_not_overwritten(tmp_path: Path) -> None:
    second = datetime(2024, 5, 6, 7, 8, 9)
    for value in (1, 2):
        with AsyncArtifactManager(tmp_path, now=lambda: second) as artifacts:
            artifacts.save_metrics_batch_async({"n": [value]})

    assert sorted(path.name for path in tmp_path.glob("*.json")) == [
        "metrics_20240506_070809-2.json",
        "metrics_20240506_070809.json",
    ]


def test_what_needs_pickle_is_an_error_that_names_the_others(tmp_path: Path) -> None:
    with AsyncArtifactManager(tmp_path) as artifacts:
        with pytest.raises(RunError, match=r"save_json_async, save_numpy_async, save_text_async, save_metrics_batch"):
            artifacts.save_pickle_async({"a": 1}, "a.pkl")
        for compressed in (True, False):
            with pytest.raises(RunError, match="needs pickle"):
                artifacts.save_numpy_async(np.array([object()]), "a", compressed=compressed)
        with pytest.raises(RunError, match="cannot be JSON"):
            artifacts.save_json_async({"a": object()}, "a.json")

    assert list(tmp_path.iterdir()) == []
