import json
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from made_run import poems, trained

from headway.cli import autoencoder_arguments
from headway.cli.main import main
from headway.learners.autoencoder.generation import GenerationSettings

Output = pytest.CaptureFixture[str]
TEXT = "w1 w2 w3\nw4 w5 w6"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a small network."""
    return trained(tmp_path_factory.mktemp("network"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a linear code."""
    return trained(tmp_path_factory.mktemp("line"), 'learner.model.encoder="pca"', name="line")


def autoencoder(*arguments: str | Path) -> int:
    return main(["autoencoder", *map(str, arguments)])


def test_codes_of_texts_are_lines_that_say_what_they_are_of(run: Path, capsys: Output) -> None:
    assert autoencoder("encode", run, "--text", TEXT, "--text", poems(1)[0]) == 0
    windows = [json.loads(text) for text in capsys.readouterr().out.splitlines()]

    assert [window["source"] for window in windows] == ["--text 1"] + ["--text 2"] * (len(windows) - 1)
    assert [window["document"] for window in windows] == [0] + [1] * (len(windows) - 1)
    # Windows of 12 tokens, 3 of which are context of the next: each begins 9 after the one before.
    assert [window["start"] for window in windows[1:3]] == [0, 9]
    # Beginning, three words, a line break, three words, end.
    assert windows[0]["length"] == 9
    assert {len(window["code"]) for window in windows} == {4}


def test_an_array_of_codes_holds_the_same_numbers_as_the_lines(run: Path, tmp_path: Path, capsys: Output) -> None:
    for name in ("codes.npy", "codes.jsonl"):
        assert autoencoder("encode", run, "--text", poems(1)[0], "--output", tmp_path / name) == 0
    lines = [json.loads(text) for text in (tmp_path / "codes.jsonl").read_text().splitlines()]
    array = np.load(tmp_path / "codes.npy", allow_pickle=False)

    assert array.dtype == np.float32
    assert array.tolist() == np.array([line["code"] for line in lines], np.float32).tolist()
    assert f"codes.npy: {len(array)} codes of 4 numbers, of 1 text\n" in capsys.readouterr().out
    assert autoencoder("encode", run, "--text", TEXT, "--output", tmp_path / "codes.npy", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": f"{tmp_path}/codes.npy",
        "texts": 1,
        "codes": 1,
        "numbers": 4,
    }


def test_files_of_any_format_are_read_and_what_holds_no_text_is_counted(
    run: Path, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "a.jsonl").write_text('{"verse": "w1 w2"}\n{"verse": ""}\n{"verse": "w3"}\n')
    (tmp_path / "b.txt").write_text("w1 w5")

    assert autoencoder("encode", run, tmp_path / "a.jsonl", tmp_path / "b.txt", "--field", "verse") == 0
    shown = capsys.readouterr()

    assert [json.loads(text)["source"] for text in shown.out.splitlines()] == [
        f"{tmp_path}/a.jsonl:@0",
        f"{tmp_path}/a.jsonl:@33",
        f"{tmp_path}/b.txt",
    ]
    assert shown.err == "headway: 1 record skipped: empty text\n"


@pytest.mark.parametrize("name", ["codes.npy", "codes.jsonl"])
def test_codes_from_a_file_become_text(run: Path, tmp_path: Path, capsys: Output, name: str) -> None:
    autoencoder("encode", run, "--text", TEXT, "--output", tmp_path / name)
    capsys.readouterr()

    assert autoencoder("decode", run, tmp_path / name, "--length", "3") == 0
    shown = capsys.readouterr().out
    assert autoencoder("decode", run, tmp_path / name, "--json") == 0
    (whole,) = json.loads(capsys.readouterr().out)["texts"]

    assert len(shown.split()) <= 3
    assert whole.startswith(shown.strip())
    # The lines know that the window has 9 tokens; an array does not, and the longest window has 12.
    assert len(whole.split()) <= {"codes.npy": 12, "codes.jsonl": 9}[name]


def test_texts_are_told_apart(run: Path, tmp_path: Path, capsys: Output) -> None:
    np.save(tmp_path / "codes.npy", np.zeros((2, 4), np.float32))

    assert autoencoder("decode", run, tmp_path / "codes.npy") == 0
    first, second = capsys.readouterr().out.split("\n* * *\n")

    assert first == second


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no array", "is no array of numbers as numpy saves them"),
        (b"", "is no array of numbers as numpy saves them"),
        (np.zeros(3, np.float32), "holds no rows of numbers, one a code"),
        (np.full((1, 4), np.nan), "holds no rows of numbers, one a code"),
        (np.zeros((1, 5)), "a code of this model has 4 numbers, these have 5"),
    ],
)
def test_what_is_no_array_of_codes_is_refused(
    run: Path, tmp_path: Path, capsys: Output, content: bytes | np.ndarray, said: str
) -> None:
    path = tmp_path / "codes.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)

    assert autoencoder("decode", run, path) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}\n", 'line 1: no object with "code" and "length"'),
        ('{"code": [1, 2, 3, 4], "length": 3}\nx\n', 'line 2: no object with "code" and "length"'),
        ('{"code": [1, 2], "length": 3}\n{"code": [1], "length": 3}\n', "codes of different sizes"),
        ("", "holds no codes"),
        ('{"code": [1, 2, 3, 4], "length": 30}\n', "windows of this model have 1 to 12 tokens, not 30"),
    ],
)
def test_what_are_no_lines_of_codes_is_refused(
    run: Path, tmp_path: Path, capsys: Output, content: str, said: str
) -> None:
    (tmp_path / "codes.jsonl").write_text(content)

    assert autoencoder("decode", run, tmp_path / "codes.jsonl") == 2
    assert said in capsys.readouterr().err


def test_codes_that_are_not_there_are_said(run: Path, tmp_path: Path, capsys: Output) -> None:
    assert autoencoder("decode", run, tmp_path / "no.npy") == 2
    assert autoencoder("decode", run, tmp_path / "no.txt") == 2
    said = capsys.readouterr().err
    assert "cannot read" in said
    assert "does not end in .npy or .jsonl" in said


def test_new_text_is_the_same_for_the_same_seed(run: Path, capsys: Output) -> None:
    words = ["generate", run, "--length", "6", "--number", "2"]
    texts = []
    for seed in ("1", "1", "2"):
        assert autoencoder(*words, "--seed", seed) == 0
        texts.append(capsys.readouterr().out)

    assert texts[0] == texts[1] != texts[2]
    assert texts[0].count("\n* * *\n") == 1


def test_new_text_can_begin_from_a_text(run: Path, capsys: Output) -> None:
    words = ["generate", run, "--seed-text", TEXT, "--temperature", "0", "--top-k", "all", "--length", "4", "--json"]

    assert autoencoder(*words) == 0
    (text,) = json.loads(capsys.readouterr().out)["texts"]

    assert 0 < len(text.split()) <= 4


def test_a_choice_that_cannot_be_is_refused(run: Path, capsys: Output) -> None:
    assert autoencoder("generate", run, "--top-p", "0") == 2
    assert "top_p: should be above 0" in capsys.readouterr().err
    assert autoencoder("generate", run, "--top-k", "0") == 2
    assert "0 should be 1 or more" in capsys.readouterr().err


def test_the_help_names_the_defaults_that_count() -> None:
    usual = GenerationSettings()
    told = {name: what for name, (_, _, what) in autoencoder_arguments.CHOOSING.items()}

    assert set(told) | {"top_k", "sharpness"} == {field.name for field in fields(usual)}
    assert all(what.endswith(f"(default: {getattr(usual, name)})") for name, what in told.items())
    assert usual.top_k == 50


def test_a_linear_code_writes_nothing_new_and_says_so(line: Path, capsys: Output) -> None:
    assert autoencoder("generate", line) == 2
    assert "a linear code writes no new text" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["encode", "--text", TEXT], ["rebuild", "--text", TEXT], ["evaluate"]])
def test_a_linear_code_needs_no_torch(
    line: Path, capsys: Output, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "safetensors"):
        monkeypatch.setitem(sys.modules, name, None)

    assert autoencoder(words[0], line, *words[1:]) == 0
    assert capsys.readouterr().out


def test_a_network_without_torch_says_what_to_install(
    run: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    assert autoencoder("encode", run, "--text", TEXT) == 2
    assert "pip install 'headway[torch]'" in capsys.readouterr().err


def test_a_report_has_the_cosine_beside_everything_it_is_to_be_compared_with(
    run: Path, tmp_path: Path, capsys: Output
) -> None:
    assert autoencoder("evaluate", run, "--output", tmp_path / "report.json") == 0
    shown = capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text())

    for said in ("from the code alone", "constant direction", "PCA-4", "another window's code", "evaluated (valid)"):
        assert said in shown
    assert report["format"] == "headway-autoencoder-report"
    assert f"{report['free']['cosine']:.4f}" in shown


def test_the_test_side_and_other_texts_can_be_evaluated(run: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "other.json").write_text(json.dumps([{"text": text} for text in poems(3, seed=9)]))

    assert autoencoder("evaluate", run, "--side", "test", "--json") == 0
    test = json.loads(capsys.readouterr().out)
    assert autoencoder("evaluate", run, "--data", tmp_path / "other.json", "--json") == 0
    given = json.loads(capsys.readouterr().out)

    assert test["background"]["side"] == "test"
    assert given["background"]["side"] == "given texts"
    assert given["held"]["documents"] == 3
    assert autoencoder("evaluate", run, "--data", "x.json", "--side", "test") == 2


def test_a_report_of_made_up_vectors_warns(tmp_path: Path, capsys: Output) -> None:
    run = trained(tmp_path, 'learner.model.encoder="pca"', 'learner.vectors="random"')
    capsys.readouterr()

    assert autoencoder("evaluate", run) == 0
    shown = capsys.readouterr()

    assert shown.err.startswith('headway: warning: vectors = "random": the vectors are made up')
    assert len(shown.err.splitlines()) == 1
    assert "(made up)" in shown.out


def test_texts_stand_beside_what_their_codes_give(run: Path, capsys: Output) -> None:
    assert autoencoder("rebuild", run, "--text", TEXT, "--text", poems(1)[0], "--number", "2") == 0
    shown = capsys.readouterr().out.splitlines()
    assert autoencoder("rebuild", run, "--text", TEXT, "--json") == 0
    found = json.loads(capsys.readouterr().out)

    assert shown[0] == f"--text 1, cosine {found['cosine']:.4f}"
    assert shown[1].split() == ["given", "from", "its", "code", "alone"]
    assert shown[2].startswith("w1 w2 w3  ")
    assert [line for line in shown if "cosine" in line][1].startswith("--text 2, cosine")
    assert found["given"] == TEXT
    assert found["document"] == 0


def test_a_window_without_any_vector_has_no_cosine(run: Path, capsys: Output) -> None:
    assert autoencoder("rebuild", run, "--text", "w39 w39 w39") == 0
    assert "--text 1, no word has a vector\n" in capsys.readouterr().out


def test_curves_are_drawn_from_records(run: Path, tmp_path: Path, capsys: Output) -> None:
    assert autoencoder("curves", run, run, "--output", tmp_path / "a.svg") == 0
    assert capsys.readouterr().out == f"{tmp_path}/a.svg: 2 runs\n"
    assert autoencoder("curves", run, "--output", tmp_path / "b.png", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"file": f"{tmp_path}/b.png", "runs": [str(run)]}

    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "poems-001" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


def test_curves_without_matplotlib_say_what_to_install(
    run: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert autoencoder("curves", run, "--output", tmp_path / "a.svg") == 2
    assert "pip install 'headway[plots]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_another_kind_is_refused(tmp_path: Path, capsys: Output) -> None:
    other = tmp_path / "runs" / "other-001"
    other.mkdir(parents=True)
    (other / "plan.resolved.json").write_text('{"learner": {"kind": "patterns"}}')

    for words in (["encode", other, "--text", "a"], ["curves", other, "--output", tmp_path / "x.svg"]):
        assert autoencoder(*words) == 2
        assert "is a run of kind 'patterns', not of an autoencoder" in capsys.readouterr().err


def test_a_run_without_an_evaluation_has_no_curves(run: Path, tmp_path: Path, capsys: Output) -> None:
    other = tmp_path / "runs" / "young-001"
    other.mkdir(parents=True)
    (other / "plan.resolved.json").write_text((run / "plan.resolved.json").read_text())

    assert autoencoder("curves", run, other, "--output", tmp_path / "x.svg") == 2
    assert "young-001 was not evaluated yet" in capsys.readouterr().err


def test_a_run_is_found_by_its_name(run: Path, capsys: Output) -> None:
    assert autoencoder("encode", "poems-001", "--text", TEXT, "--runs-dir", run.parent) == 0
    assert autoencoder("encode", "poem", "--text", TEXT, "--runs-dir", run.parent) == 2
    assert "did you mean poems-001?" in capsys.readouterr().err


def test_the_last_save_can_be_used_instead_of_the_best(run: Path, capsys: Output) -> None:
    for which in ("best", "latest"):
        assert autoencoder("encode", run, "--text", TEXT, "--which", which) == 0

    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["encode", "--output", "-"], "--output names a file"),
        (["encode", "--output", "codes.txt"], "does not end in .npy or .jsonl"),
        (["encode", "--output", "nowhere/codes.npy"], "there is no folder"),
        (["encode", "--output", "RUN/codes.npy"], "which Headway keeps"),
        (["curves", "--output", "curves.pdf"], "is no .svg or .png file"),
        (["evaluate", "--output", "."], "is a folder; give --output the name of an ordinary file"),
        (["encode"], "no text is given; name files that hold some, or give one"),
        (["encode", "nowhere.json"], "; check the names of the files"),
        (["encode", "other.jsonl"], "fields with text: verse; set --field to one of them"),
        (["encode", "empty.jsonl"], "there is no text in"),
        (["encode", "--text", " "], "the text is blank; give some words"),
        (["generate", "--seed-text", ""], "the text is blank; give some words"),
    ],
)
def test_what_cannot_be_done_exits_2_and_says_why(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other.jsonl").write_text('{"verse": "w1 w2"}\n')
    before = sorted(run.rglob("*"))

    action, *more = (word.replace("RUN", str(run)) for word in words)

    assert autoencoder(action, run, *more) == 2
    assert said in capsys.readouterr().err
    assert sorted(run.rglob("*")) == before
