import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from headway.cli import main as cli
from headway.cli.main import main
from headway.errors import RunError

HEAVY = ("numba", "numpy", "torch", "pydantic", "pyarrow", "tokenizers", "rich")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def loaded_by(program: str) -> set[str]:
    """Which heavy packages a program has loaded at its end."""
    told = run("-c", f"{program}\nimport sys; print(*(name for name in {HEAVY} if name in sys.modules))")
    return set(told.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], *([verb, "--help"] for verb in ("train", "data", "runs", "memory", "plan"))]
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    program = f"from headway.cli.main import main\ntry: main({words})\nexcept SystemExit: pass"

    assert loaded_by(program) == set()


def test_importing_headway_loads_nothing_heavy() -> None:
    assert loaded_by("import headway; dir(headway); headway.HeadwayError; headway.__version__") == set()


def test_every_public_name_exists() -> None:
    for name in dir(headway):
        if name != "open_memory":
            assert getattr(headway, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        headway.trian  # noqa: B018


def test_help_names_every_verb() -> None:
    shown = run("-m", "headway.cli.main", "--help")

    assert shown.returncode == 0
    for verb in ("train", "data", "runs", "memory", "plan"):
        assert f"    {verb} " in shown.stdout


@pytest.mark.parametrize("words", [[], ["trian"], ["runs"], ["train"], ["train", "p.toml", "--new", "--resume"]])
def test_a_wrong_command_exits_2_with_its_usage(words: list[str]) -> None:
    shown = run("-m", "headway.cli.main", *words)

    assert shown.returncode == 2
    assert "usage: headway" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RunError("the disk is full at /x"), 2, "headway: the disk is full at /x"),
        (KeyboardInterrupt(), 130, "headway: interrupted"),
        (ZeroDivisionError("oh"), 1, "ZeroDivisionError: oh"),
    ],
)
def test_exit_codes_say_whose_turn_it_is(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(given: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", fail)

    assert main([]) == code
    assert said in capsys.readouterr().err


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    shown = subprocess.run(
        [sys.executable, "-m", "headway.cli.main", "plan", "schema"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)

    assert shown.returncode == 141
    assert shown.stderr == ""


PLAN = '[data]\nsources = ["x.jsonl"]\n[learner]\nkind = "patterns"\nwidths = [5, 7]\n'


def test_a_plan_is_checked_and_resolved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.toml"
    path.write_text(PLAN)

    code = main(["plan", "check", str(path), "--set", "run.epochs=3"])

    values = json.loads(capsys.readouterr().out)
    assert code == 0
    assert values["plan"]["learner"]["widths"] == [5, 7]
    assert values["plan"]["run"]["epochs"] == 3
    assert values["fingerprint"]


def test_every_problem_of_a_plan_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.toml"
    path.write_text(PLAN + "colour = 3\n[run]\nepochs = 0\n")

    assert main(["plan", "check", str(path)]) == 2
    said = capsys.readouterr().err
    assert "learner.colour" in said
    assert "run.epochs" in said


def test_the_schema_of_a_plan_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "schema"]) == 0
    assert "widths" in capsys.readouterr().out
