import json
from pathlib import Path

import pytest

from headway.cli.main import main


def corpus(folder: Path) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text('{"text": "one two three"}\n{"text": " "}\n{"text": "four five"}\n')
    return path


def build(path: Path, *more: str) -> list[str]:
    folder = ["--datasets-dir", str(path.parent / "datasets")]
    return ["data", "build", str(path), "--tokenizer", "words", "--workers", "1", *folder, *more]


def test_a_build_says_where_how_much_and_what_was_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(build(corpus(tmp_path)))

    printed = capsys.readouterr().out
    assert code == 0
    assert f"{tmp_path / 'datasets'}" in printed
    assert "2 documents, 5 tokens" in printed
    assert "skipped    1 document:" in printed
    assert "built" in printed


def test_a_second_build_finds_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(tmp_path)
    main(build(path, "--quiet"))
    first = capsys.readouterr().out

    code = main(build(path))

    printed = capsys.readouterr().out
    assert code == 0
    assert "nothing had to be built" in printed
    assert first.strip() in printed


def test_another_build_says_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(tmp_path)
    main(build(path, "--quiet"))
    capsys.readouterr()

    code = main(build(path, "--json", "--max-tokens", "2", "--documents", "1"))

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert events[-1]["event"] == "result"
    assert (events[-1]["documents"], events[-1]["tokens"], events[-1]["found"]) == (1, 2, False)
    assert any("max_tokens" in change for change in events[-1]["changed"])


def test_a_change_is_printed_as_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = corpus(tmp_path)
    main(build(path, "--quiet"))
    capsys.readouterr()

    main(build(path, "--split", "simple"))

    assert "because    " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--max-tokens", "0"], "max_tokens"), (["--workers", "0"], "workers"), (["--field", "body"], "body")],
)
def test_what_cannot_be_built_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(build(corpus(tmp_path), *more)) == 2
    assert said in capsys.readouterr().err
