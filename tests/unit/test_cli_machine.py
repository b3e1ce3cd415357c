"""headway machine, as users see it."""

import json
from pathlib import Path
from typing import Any

import pytest
from made_machine import Made, figure, means, result

from headway.cli.main import main
from headway.run import bench


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """What the bench measures in place of this machine."""
    values = Made({"disk.write": [500.0], "core.python": [40.0, 41.0]})
    monkeypatch.setattr(bench, "probes", lambda: (values,))
    monkeypatch.setattr(bench, "Means", means)
    return values


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["machine", *words]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def benched(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    return shown(capsys, "bench", "--folder", str(folder), "--cache-dir", str(folder / "cache"), *words)


@pytest.mark.parametrize("words", [[], ["describe"]])
def test_a_description_names_what_is_here(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    said = shown(capsys, *words)

    for name in ("machine", "processor", "cores", "caches", "memory", "disk", "system", "container"):
        assert f"\n{name} " in f"\n{said}"


@pytest.mark.parametrize("words", [["--json"], ["describe", "--json"], ["--json", "describe"]])
def test_a_description_as_json_is_whole_wherever_the_option_stands(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    known = json.loads(shown(capsys, *words))

    assert set(known) == {"fingerprint", "processor", "memory", "disks", "gpus", "system", "absent"}


@pytest.mark.parametrize("before", [True, False])
def test_the_folder_that_is_named_is_described(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, before: bool
) -> None:
    folder = ["--folder", str(tmp_path)]
    known = json.loads(shown(capsys, *([*folder, "describe"] if before else ["describe", *folder]), "--json"))

    assert [disk["folder"] for disk in known["disks"]] == [str(tmp_path)]


def test_a_bench_shows_every_figure_and_why_one_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = {line.split()[0]: line for line in benched(capsys, tmp_path).splitlines() if line}

    assert lines["disk.write"].split()[1:7] == ["500", "MiB/s", "500", "to", "500", "10"]
    assert "there is none" in lines["gpu.copy"]
    assert " 0 " not in lines["gpu.copy"]


def test_a_bench_is_remembered_and_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path, made: Made) -> None:
    first = benched(capsys, tmp_path)
    asked = len(made.asked)
    second = benched(capsys, tmp_path)

    assert ", measured " in first and "measure anew with --again" in second
    assert len(made.asked) == asked


def test_a_person_is_told_only_when_something_is_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["machine", "bench", "--folder", str(tmp_path), "--cache-dir", str(tmp_path / "cache")]
    told: list[str] = []
    for more in ([], [], ["--again", "--json"]):
        main([*words, *more])
        told.append(capsys.readouterr().err)

    assert "leave the machine alone" in told[0]
    assert told[1:] == ["", ""]


def test_again_compares_with_what_was_remembered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, made: Made
) -> None:
    benched(capsys, tmp_path)
    assert "the two results are not different" in benched(capsys, tmp_path, "--again")

    made.values["disk.write"] = [50.0]
    said = benched(capsys, tmp_path, "--again")

    assert "the two results are different" in said
    assert "0.1" in next(line for line in said.splitlines() if line.startswith("disk.write") and "different" in line)


def test_the_cache_of_the_user_is_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    known = json.loads(shown(capsys, "bench", "--folder", str(tmp_path), "--json"))

    assert Path(known["path"]).is_relative_to(tmp_path / "headway")
    assert known["compared_with_before"] is None
    assert known["remembered"] is False


def test_two_results_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, value in (("a", 100.0), ("b", 200.0)):
        made = result(figure("disk.write", [value + i for i in range(10)]))
        (tmp_path / name).write_text(json.dumps(made.to_json()))
    places = [str(tmp_path / "a"), str(tmp_path / "b")]
    known: dict[str, Any] = json.loads(shown(capsys, "compare", *places, "--json"))

    assert known["verdict"] == "different"
    assert "by more than 10%" in shown(capsys, "compare", *places)
    assert "the two results are not different" in shown(capsys, "compare", places[0], places[0])


def test_what_bench_writes_compare_reads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(benched(capsys, tmp_path, "--json"))
    place = str(tmp_path / "a.json")

    assert json.loads(shown(capsys, "compare", place, place, "--json"))["verdict"] == "not different"


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot read"), ("{", "not valid JSON"), ("{}", "is no result of a bench")]
)
def test_what_is_no_result_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "a").write_text(content)
    error = shown(capsys, "compare", str(tmp_path / "a"), str(tmp_path / "a"), code=2)

    assert said in error and len(error.splitlines()) == 1


def test_a_wrong_action_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert "invalid choice" in shown(capsys, "measure", code=2)
