import json
import os
import pty
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import main

LEVELS = [
    {"level": 0, "width": 3, "observed": 60_000, "patterns": None, "rows": 4_000, "runs": 2, "bytes": 2048},
    {"level": 1, "width": 2, "observed": 300, "patterns": 20, "rows": 20, "runs": 1, "bytes": 1024},
]


def event(kind: str, time: float, **fields: Any) -> str:
    return json.dumps({"time": time, "event": kind, **fields}) + "\n"


def made_run(runs: Path, name: str) -> Path:
    """A run folder as a finished training of 300 documents leaves it."""
    folder = runs / name
    (folder / "memory").mkdir(parents=True)
    (folder / "plan.resolved.json").write_text("{}")
    learner = {"memory": f"elsewhere/{name}/memory", "documents": 300, "tokens": 4_123_456, "levels": LEVELS}
    amounts = {"documents": 300, "tokens": 4_123_456}
    (folder / "record.jsonl").write_text(
        event("run_started", 1e9, run=name, workers=2, memory=1 << 30, dataset="d" * 32)
        + event("step", 1e9 + 4, **amounts, metrics={}, steps=1, position=[0, 1])
        + event("saved", 1e9 + 4, position=[0, 1])
        + event("finished", 1e9 + 5, reason="complete", seconds=2.0, totals=amounts | {"learner": learner})
    )
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("wikitext-long-name-001", "wikitext-long-name-002", "j-001"):
        made_run(tmp_path / "runs", name)
    return tmp_path / "runs"


def listed(runs: Path, columns: int, *words: str) -> list[str]:
    """What `runs list` (or another action) shows in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "headway.cli.main", "runs", *(words or ["list"]), "--runs-dir", str(runs)]
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm"}
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    return re.sub(r"\x1b\[[\d;]*m|\r", "", shown).splitlines()


@pytest.mark.parametrize("columns", [200, 80, 60, 40])
def test_a_list_fits_the_terminal_and_cuts_nothing(runs: Path, columns: int) -> None:
    lines = listed(runs, columns)

    assert len(lines) == 4
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert all("finished" in line for line in lines[1:])
    assert "wikitext-long-name-002" in lines[3]
    assert "\u2026" not in "".join(lines)


def test_a_list_of_80_columns_has_tokens_rate_and_time(runs: Path) -> None:
    text = "\n".join(listed(runs, 80))

    for said in ("4.12 M", "2.06 M tokens/s", "training rate", "5.0 s", "whole time"):
        assert said in text


def test_a_run_is_shown_once_and_clean(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", "j-001", "--runs-dir", str(runs)]) == 0
    lines = capsys.readouterr().out.splitlines()
    labels = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")]

    assert len(labels) == len(set(labels))
    assert all(line == line.rstrip() for line in lines)
    assert [line.split() for line in lines[-3:]] == [
        ["level", "width", "observed", "patterns", "rows", "runs", "bytes"],
        ["0", "3", "60,000", "-", "4,000", "2", "2", "KiB"],
        ["1", "2", "300", "20", "20", "1", "1", "KiB"],
    ]
    assert f"memory        {runs / 'j-001' / 'memory'}" in lines
    assert "2.06 M tokens/s while training" in "\n".join(lines)


def test_figures_of_a_learner_say_when_they_were_true_and_where_they_are_now(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", "j-001", "--runs-dir", str(runs)]) == 0
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("levels ")]

    when = datetime.fromtimestamp(1e9 + 5).astimezone().strftime("%Y-%m-%d %H:%M")
    assert said == f"levels as recorded {when}; as they are now: headway memory stats {runs / 'j-001'}"


def test_a_run_fits_a_narrow_terminal_and_cuts_no_number(runs: Path) -> None:
    table = listed(runs, 50, "show", "j-001")[-3:]

    assert table[0].split() == ["level", "width", "observed", "patterns", "rows", "runs"]
    assert "\u2026" not in "".join(table)


def test_a_run_without_a_record_is_unknown_rather_than_empty(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "j-001" / "record.jsonl").unlink()

    assert main(["runs", "list", "--runs-dir", str(runs)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:6] == ["j-001", "unknown", "-", "-", "-", "-"]
    assert main(["runs", "show", "j-001", "--runs-dir", str(runs)]) == 0
    shown = capsys.readouterr().out
    assert "documents     -\n" in shown
    assert "record.jsonl is missing: what the run did is not known" in " ".join(shown.split())


@pytest.mark.parametrize(("given", "near"), [("j", "j-001"), ("wikitext-long-name-01", "wikitext-long-name-001")])
def test_a_run_that_is_not_there_brings_up_similar_names(
    runs: Path, given: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "show", given, "--runs-dir", str(runs)]) == 2
    assert near in capsys.readouterr().err.split("did you mean ")[1]


def test_no_folder_of_runs_is_an_error_and_an_empty_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()

    codes = [main(["runs", "list", "--runs-dir", str(tmp_path / name)]) for name in ("file", "none", "empty")]
    shown = capsys.readouterr()

    assert codes == [2, 2, 0]
    assert "file is a file, not a folder of runs" in shown.err
    assert "none does not exist" in shown.err
    assert "no runs in" in shown.out


@pytest.mark.parametrize("verb", [["train"], ["plan", "check"]])
def test_what_cannot_be_a_plan_is_said_with_what_could(
    tmp_path: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fold.toml").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.toml").write_text("")

    assert [main([*verb, str(tmp_path / name)]) for name in ("fold", "folder")] == [2, 2]
    said = capsys.readouterr().err
    assert f"does not end in .toml or .json, as plan files do; did you mean {tmp_path / 'fold.toml'}?" in said
    assert "is a folder; name a plan file, which ends in .toml or .json; it holds a.toml" in said
