import os
from pathlib import Path

import pytest

from headway.errors import RunError
from headway.outside import place_for, put, written


def test_a_file_is_replaced_whole_and_no_draft_stays(tmp_path: Path) -> None:
    path = tmp_path / "codes.npy"
    path.write_bytes(b"old")

    put(path, b"new", kept="x")

    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_body_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "codes.npy"
    path.write_bytes(b"old")

    with pytest.raises(ZeroDivisionError), written(path, kept="x") as draft:
        draft.write_bytes(b"half")
        raise ZeroDivisionError

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_system_refuses_is_an_error_that_says_what_is_safe(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot write .*; the model is as it was; choose another file"):
        put(tmp_path / ("x" * 300), b"", kept="the model is as it was")


@pytest.mark.parametrize(
    "marks", [["plan.resolved.json"], ["manifest.json", "vocabulary.json"], ["manifest.json", "matrix.npy"]]
)
def test_nothing_is_written_into_what_headway_keeps(tmp_path: Path, marks: list[str]) -> None:
    for name in marks:
        (tmp_path / name).write_text("")
    (tmp_path / "inside").mkdir()

    for path in (tmp_path / "x", tmp_path / marks[0], tmp_path / "inside" / "x"):
        with pytest.raises(RunError, match="which Headway keeps"):
            place_for(path, kept="x")


def test_a_folder_can_be_named_that_nothing_is_written_into(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path)

    with pytest.raises(RunError, match="which Headway keeps"):
        place_for(tmp_path / "x", kept="x", ours=[tmp_path / "alias"])
    assert place_for(tmp_path / "x", kept="x") == tmp_path / "x"


def test_only_an_ordinary_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    for name, said in (("pipe", "is a pipe"), ("loop", "leads back to itself"), ("no/x", "there is no folder")):
        with pytest.raises(RunError, match=said):
            place_for(tmp_path / name, kept="x")
