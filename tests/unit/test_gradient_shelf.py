"""The folder of checkpoints: whole or absent, damage named, leftovers removed, only the superfluous deleted."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.errors import RunError
from headway.learners.gradient import shelf
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.restore import Restored, restore
from headway.learners.gradient.shelf import Kind
from headway.learners.gradient.state import State
from headway.plan.values import Position

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """One test looks at what is synced when; for the others the disk would only take time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def _open(folder: Path, keep: int = 2) -> Checkpoints:
    return Checkpoints(folder, CheckpointSection(mode="sync", keep=keep))


def _fill(folder: Path, *saves: tuple[Kind, int], keep: int = 2) -> Checkpoints:
    checkpoints = _open(folder, keep)
    for kind, batch in saves:
        _save(checkpoints, kind, batch)
    checkpoints.close()
    return checkpoints


def _save(checkpoints: Checkpoints, kind: Kind, batch: int) -> None:
    state = State({"w": torch.full((100,), float(batch))}, {"batch": batch})
    checkpoints.save(state, kind=kind, position=Position(0, batch))


def _found(restored: Restored | None) -> int:
    assert restored is not None
    assert restored.tensors["w"].unique().tolist() == [restored.facts["batch"]]
    assert restored.position == Position(0, restored.facts["batch"])
    return restored.facts["batch"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_of_nothing_restores_nothing(tmp_path: Path) -> None:
    assert restore(tmp_path / "absent") is None
    assert restore(tmp_path / "absent", "best") is None
    checkpoints = _fill(tmp_path / "new")

    assert checkpoints.restore() is None
    assert _names(tmp_path / "new") == ["best.json", "latest.json"]


def test_folders_are_named_after_their_position(tmp_path: Path) -> None:
    checkpoints = _open(tmp_path)
    checkpoints.save(State({}, {}), kind="periodic", position=Position(12, 345))
    checkpoints.close()

    assert "000012-00000345" in _names(tmp_path)
    assert _names(tmp_path / "000012-00000345") == ["facts.json", "manifest.json", "state.safetensors"]


def test_everything_is_on_the_disk_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noted(word: str, call: Callable[..., None]) -> Callable[..., None]:
        def note(path: object, *rest: object) -> None:
            at = Path(f"/proc/self/fd/{path}").readlink() if isinstance(path, int) else Path(str(path))
            done.append(f"{word} {at.relative_to(tmp_path).as_posix()}".split(".draft")[0])
            call(path, *rest)

        return note

    checkpoints = _open(tmp_path / "c", keep=1)
    _save(checkpoints, "periodic", 1)
    monkeypatch.setattr(shelf, "token_hex", lambda _: "0a1b2c3d")
    monkeypatch.setattr(os, "fsync", noted("sync", lambda _: None))
    for word in ("rename", "replace"):
        monkeypatch.setattr(os, word, noted(word, getattr(os, word)))
    monkeypatch.setattr(shutil, "rmtree", noted("remove", shutil.rmtree))
    _save(checkpoints, "periodic", 2)
    checkpoints.close()

    draft = "c/000000-00000002.0a1b2c3d"
    # A draft's name ends where this list cuts it; its files are synced as its name alone.
    assert done == [
        *[f"sync {draft}"] * 3,
        f"sync {draft}",
        f"rename {draft}",
        "sync c",
        "sync c/latest.json.tmp",
        "replace c/latest.json.tmp",
        "sync c",
        "remove c/000000-00000001",
    ]


def test_the_newest_stay_and_with_them_the_best_and_the_last(tmp_path: Path) -> None:
    saves: list[tuple[Kind, int]] = [("best", 1), *(("periodic", n) for n in range(2, 7)), ("final", 6)]

    _fill(tmp_path, *saves)

    assert _names(tmp_path)[:-2] == [
        "000000-00000001-best",
        "000000-00000005",
        "000000-00000006",
        "000000-00000006-final",
    ]


def test_keeping_more_keeps_more(tmp_path: Path) -> None:
    _fill(tmp_path, *(("periodic", n) for n in range(1, 6)), keep=4)

    assert [name for name in _names(tmp_path) if name.startswith("0")] == [f"000000-0000000{n}" for n in range(2, 6)]


def test_a_better_one_replaces_the_best_and_the_next_periodic_one_a_final(tmp_path: Path) -> None:
    _fill(tmp_path, ("best", 1), ("final", 2), ("best", 3), ("periodic", 4), ("periodic", 5))

    assert [name for name in _names(tmp_path) if name.startswith("0")] == [
        "000000-00000003-best",
        "000000-00000004",
        "000000-00000005",
    ]
    assert _found(restore(tmp_path)) == 5
    assert _found(restore(tmp_path, "best")) == 3


def test_coming_by_a_position_again_overwrites_nothing(tmp_path: Path) -> None:
    _fill(tmp_path, ("periodic", 3))
    checkpoints = _open(tmp_path)
    for number in (30, 300):
        state = State({}, {"number": number})
        checkpoints.save(state, kind="periodic", position=Position(0, 3))
    checkpoints.close()

    found = checkpoints.restore()
    assert found is not None
    assert (found.name, found.facts) == ("000000-00000003~2", {"number": 300})
    assert checkpoints.durable == Position(0, 3)


def test_opening_removes_what_nothing_names_and_nothing_else(tmp_path: Path) -> None:
    _fill(tmp_path, ("periodic", 1), ("best", 1))
    shutil.copytree(tmp_path / "000000-00000001", tmp_path / "000000-00000002")
    shutil.copytree(tmp_path / "000000-00000001", tmp_path / "000000-00000002-final~1")
    (tmp_path / "000000-00000003-best.0a1b2c3d.draft").mkdir()
    for mine in ("000000-00000001.backup", "notes", "000000-00000001-copy"):
        (tmp_path / mine).mkdir()
    (tmp_path / "000000-00000009").write_text("a file of mine")

    reopened = _open(tmp_path)
    reopened.close()

    assert _names(tmp_path) == [
        "000000-00000001",
        "000000-00000001-best",
        "000000-00000001-copy",
        "000000-00000001.backup",
        "000000-00000009",
        "best.json",
        "latest.json",
        "notes",
    ]
    assert reopened.durable == Position(0, 1)


def test_reading_removes_nothing(tmp_path: Path) -> None:
    _fill(tmp_path, ("periodic", 1))
    (tmp_path / "000000-00000003.0a1b2c3d.draft").mkdir()

    assert _found(restore(tmp_path)) == 1
    assert "000000-00000003.0a1b2c3d.draft" in _names(tmp_path)


@pytest.mark.parametrize("file", ["state.safetensors", "facts.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["missing", "torn", "flipped"])
def test_a_damaged_file_is_named_with_what_is_whole(tmp_path: Path, file: str, damage: str) -> None:
    _fill(tmp_path, ("periodic", 1), ("periodic", 2))
    path = tmp_path / "000000-00000002" / file
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(content[:-1])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    with pytest.raises(RunError) as found:
        restore(tmp_path)

    text = str(found.value)
    assert text.startswith(str(path))
    assert {"missing": "missing", "torn": "torn", "flipped": "damaged"}[damage] in text
    assert "000000-00000001 is whole: restore the file from a copy, or, to go on from there, remove what follows it "
    assert f"remove what follows it from {tmp_path / 'latest.json'}" in text


def test_following_the_advice_goes_on_from_the_older_one(tmp_path: Path) -> None:
    _fill(tmp_path, ("periodic", 1), ("periodic", 2))
    (tmp_path / "000000-00000002" / "facts.json").unlink()
    index = json.loads((tmp_path / "latest.json").read_text())
    index["checkpoints"].pop()
    (tmp_path / "latest.json").write_text(json.dumps(index))

    checkpoints = _open(tmp_path)
    assert _found(checkpoints.restore()) == 1
    _save(checkpoints, "periodic", 2)
    checkpoints.close()

    assert _found(checkpoints.restore()) == 2


def test_where_only_the_best_is_whole_it_says_how_to_go_on_from_it(tmp_path: Path) -> None:
    _fill(tmp_path, ("best", 1), ("periodic", 2), ("periodic", 3))
    for name in ("000000-00000002", "000000-00000003"):
        shutil.rmtree(tmp_path / name)

    with pytest.raises(RunError, match=r"000000-00000003/manifest.json is missing; 000000-00000001-best is whole"):
        restore(tmp_path)
    shutil.copy(tmp_path / "best.json", tmp_path / "latest.json")
    checkpoints = _open(tmp_path)
    assert _found(checkpoints.restore()) == 1
    for batch in (2, 3, 4):
        _save(checkpoints, "periodic", batch)
    checkpoints.close()

    assert _found(checkpoints.restore_best()) == 1


def test_where_nothing_is_whole_it_says_that(tmp_path: Path) -> None:
    _fill(tmp_path, ("periodic", 1))
    (tmp_path / "000000-00000001" / "facts.json").unlink()
    (tmp_path / "best.json").write_text("{")

    with pytest.raises(RunError, match=r"no other checkpoint is whole: .* start a new run with --new"):
        restore(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"checkpoints": [', "torn or damaged"),
        (b"[]", "torn or damaged"),
        (b'{"format": "headway-checkpoint", "version": 1, "checkpoints": [{}]}', "torn or damaged"),
        (b'{"format": "headway-checkpoint", "version": 7, "checkpoints": []}', "version 7; this Headway reads"),
    ],
)
def test_a_damaged_index_is_an_error_and_opening_deletes_nothing(tmp_path: Path, content: bytes, problem: str) -> None:
    _fill(tmp_path, ("periodic", 1))
    (tmp_path / "latest.json").write_bytes(content)

    with pytest.raises(RunError, match=problem):
        restore(tmp_path)
    with pytest.raises(RunError, match=problem):
        _open(tmp_path)

    assert "000000-00000001" in _names(tmp_path)


@pytest.mark.parametrize("index", ["latest", "best"])
def test_a_lost_index_is_an_error_and_opening_deletes_nothing(tmp_path: Path, index: str) -> None:
    _fill(tmp_path, ("periodic", 1), ("best", 1))
    (tmp_path / f"{index}.json").unlink()

    with pytest.raises(RunError, match=f"{index}.json is missing, but there are checkpoints"):
        _open(tmp_path)

    assert [name for name in _names(tmp_path) if name.startswith("0")] == ["000000-00000001", "000000-00000001-best"]


def test_an_index_that_may_or_may_not_have_reached_the_disk_loses_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rename happened, the error came after it: both answers to "was it replaced?" have to be safe."""
    write = shelf.write_index

    def wrote_but_failed(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        raise RunError("the disk fails")

    checkpoints = _open(tmp_path)
    _save(checkpoints, "periodic", 1)
    with monkeypatch.context() as patch:
        patch.setattr(shelf, "write_index", wrote_but_failed)
        with pytest.raises(RunError, match="the disk fails"):
            _save(checkpoints, "periodic", 2)

    _save(checkpoints, "best", 3)
    assert _found(restore(tmp_path)) == 2
    _save(checkpoints, "periodic", 4)
    checkpoints.close()

    assert _found(restore(tmp_path)) == 4
    assert "000000-00000002" not in _names(tmp_path)


def test_a_place_that_cannot_be_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError, match="cannot be a folder"):
        _open(tmp_path / "file" / "checkpoints")
