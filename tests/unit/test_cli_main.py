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

VERBS = ("train", "data", "runs", "memory", "autoencoder", "vectors", "machine", "profile", "plan")
HEAVY = ("numba", "numpy", "torch", "matplotlib", "pydantic", "pyarrow", "tokenizers", "rich")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def loaded_by(program: str) -> set[str]:
    """Which heavy packages a program has loaded at its end."""
    told = run("-c", f"{program}\nimport sys; print(*(name for name in {HEAVY} if name in sys.modules))")
    return set(told.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS), ["autoencoder", "generate", "--help"]],
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
    for verb in VERBS:
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


def in_shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell command in which $headway is the command line."""
    headway = f"{sys.executable} -m headway.cli.main"
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=os.environ | {"headway": headway} | environment
    )


@pytest.mark.parametrize("words", ["plan schema", "--version", "--help"])
@pytest.mark.parametrize(("where", "why"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_74(words: str, where: str, why: str) -> None:
    shown = in_shell(f"$headway {words} {where}")

    assert shown.returncode == 74
    assert len(shown.stderr.splitlines()) == 1
    assert f"cannot write to standard output ({why})" in shown.stderr


def test_an_error_keeps_its_code_where_nothing_can_be_written() -> None:
    shown = in_shell("$headway plan check nowhere.toml >&- 2>&-")

    assert (shown.returncode, shown.stdout, shown.stderr) == (2, "", "")


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    line = f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone; $headway plan schema"
    shown = in_shell(line, PYTHONPATH=str(Path(headway.__file__).parent.parent))

    assert shown.returncode == 2
    assert "the working directory is not there any more" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_characters_a_stream_has_not_are_escaped_as_in_json(encoding: str) -> None:
    text = r'"\u2026\U0001f600\udcff"'
    program = f"from headway.cli.output import checked_output\nwith checked_output(): print('{text}')"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}
    )

    assert json.loads(shown.stdout.decode(encoding)) == "\u2026\U0001f600\udcff"


PLAN = '[data]\nsources = ["x.jsonl"]\n[learner]\nkind = "patterns"\nwidths = [5, 7]\n'


def test_a_plan_is_checked_and_resolved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.toml"
    path.write_text(PLAN)
    (tmp_path / "x.jsonl").write_text("")

    code = main(["plan", "check", str(path), "--set", "run.epochs=3"])

    values = json.loads(capsys.readouterr().out)
    assert code == 0
    assert values["plan"]["learner"]["widths"] == [5, 7]
    assert values["plan"]["run"]["epochs"] == 3
    assert values["fingerprint"]
    assert {"workers", "memory", "data.engine"} == values["decided"].keys()
    assert values["decided"]["workers"]["value"] >= 1
    assert values["decided"]["memory"]["why"].endswith("that were free")
    assert values["decided"]["data.engine"]["value"] is None, "the build decides it"


def test_every_problem_of_a_plan_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.toml"
    path.write_text(PLAN + "colour = 3\n[run]\nepochs = 0\n")

    assert main(["plan", "check", str(path)]) == 2
    said = capsys.readouterr().err
    assert "learner.colour" in said
    assert "run.epochs" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('data.tokenizer="gtp2"', "data.tokenizer: no tokenizer 'gtp2'"),
        ('data.tokenizer="words:("', "is not a regular expression"),
        ('name="a/b"', "name: 'a/b' cannot name a run folder"),
        ('data.sources=["x.jsonl", "y.jsonl"]', "data.sources[1]: there is no file or folder"),
        ('data.sources=["*.zip"]', "data.sources[0]: no file matches"),
        ('learner={kind = "autoencoder", vectors = "no.txt"}', "learner.vectors: there is no file or table"),
        ('data.sources=["hf://a/b?splt=train"]', "data.sources[0]: hf://a/b?splt=train has an unknown key"),
    ],
)
def test_a_check_finds_what_a_training_would_stumble_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    path = tmp_path / "demo.toml"
    path.write_text(PLAN)
    (tmp_path / "x.jsonl").write_text("")

    assert main(["plan", "check", str(path), "--set", change]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "1 problem\n" in shown


@pytest.mark.parametrize("vectors", ["random", "x.jsonl"])
def test_the_plan_of_an_autoencoder_passes_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    path = tmp_path / "poems.toml"
    path.write_text(f'[data]\nsources = "x.jsonl"\n[learner]\nkind = "autoencoder"\nvectors = "{vectors}"\n')
    (tmp_path / "x.jsonl").write_text("")

    assert main(["plan", "check", str(path)]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["data"]["tokenizer"] == "verse"
    assert plan["run"]["epochs"] == 30


def test_what_a_plan_says_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.toml"
    path.write_text('workers = 7\nmemory = "1GiB"\n' + PLAN)
    (tmp_path / "x.jsonl").write_text("")

    main(["plan", "check", str(path), "--set", "data.engine=tokenizers"])

    assert json.loads(capsys.readouterr().out)["decided"] == {}


def test_an_interrupt_says_what_is_kept_if_somebody_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(given: list[str]) -> int:
        raise KeyboardInterrupt("3 of 4 documents are safe in runs/p-001")

    monkeypatch.setattr(cli, "_run", fail)

    assert main([]) == 130
    assert capsys.readouterr().err == "headway: interrupted; 3 of 4 documents are safe in runs/p-001\n"


def test_the_schema_of_a_plan_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "schema"]) == 0
    assert "widths" in capsys.readouterr().out
