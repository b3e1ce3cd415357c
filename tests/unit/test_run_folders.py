from pathlib import Path

import pytest

from headway.errors import RunError
from headway.run.folders import RESOLVED, create, find, newest, numbered


def made(runs: Path, name: str) -> Path:
    folder = create(runs, name)
    (folder / RESOLVED).write_text("{}")
    return folder


def test_run_folders_are_numbered_by_plan_name(tmp_path: Path) -> None:
    names = [create(tmp_path / "runs", name).name for name in ("demo", "demo", "other", "demo")]

    assert names == ["demo-001", "demo-002", "other-001", "demo-003"]


def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    create(tmp_path, "demo")
    create(tmp_path, "demo").rename(tmp_path / "demo-007")

    assert create(tmp_path, "demo").name == "demo-008"


def test_a_file_in_the_way_is_stepped_over(tmp_path: Path) -> None:
    (tmp_path / "demo-001").write_text("not a folder")

    assert create(tmp_path, "demo").name == "demo-002"


def test_the_newest_run_is_found_by_number_not_by_text(tmp_path: Path) -> None:
    for number in (2, 999, 1000):
        (tmp_path / f"demo-{number:03d}").mkdir()
        (tmp_path / f"demo-{number:03d}" / RESOLVED).write_text("{}")
    made(tmp_path, "demo-x")

    assert newest(tmp_path, "demo") == tmp_path / "demo-1000"


def test_a_folder_without_a_resolved_plan_is_no_run(tmp_path: Path) -> None:
    made(tmp_path, "demo")
    create(tmp_path, "demo")

    assert newest(tmp_path, "demo") == tmp_path / "demo-001"
    assert newest(tmp_path, "other") is None
    assert newest(tmp_path / "nowhere", "demo") is None


def test_all_runs_are_listed_by_name_and_age(tmp_path: Path) -> None:
    for name in ("b", "a", "b"):
        create(tmp_path, name)
    (tmp_path / "notes").mkdir()

    assert [run.folder.name for run in numbered(tmp_path)] == ["a-001", "b-001", "b-002"]


def test_a_run_is_found_by_path_and_by_name(tmp_path: Path) -> None:
    folder = made(tmp_path, "demo")

    assert find(folder, Path("elsewhere")) == folder
    assert find("demo-001", tmp_path) == folder
    with pytest.raises(RunError, match="runs there: demo-001"):
        find("demo-002", tmp_path)
    with pytest.raises(RunError, match="runs there: none"):
        find("demo-002", tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "x" * 300])
def test_a_plan_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="cannot name a run folder"):
        create(tmp_path, name)


def test_an_unwritable_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)

    with pytest.raises(RunError, match="cannot write to"):
        create(tmp_path, "demo")


@pytest.mark.parametrize("place", ["taken", "taken/runs"])
def test_a_file_where_runs_should_lie_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(RunError, match=r"taken.* cannot be a folder .*; choose another folder"):
        create(tmp_path / place, "demo")
