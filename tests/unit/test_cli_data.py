import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.cli.main import main


def corpus(folder: Path) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text('{"text": "one two three"}\n{"text": " "}\n{"text": "four five"}\n')
    return path


def build(path: Path, *more: str, sources: Sequence[str] = ()) -> list[str]:
    folder = ["--datasets-dir", str(path.parent / "datasets")]
    return ["data", "build", str(path), *sources, "--tokenizer", "words", "--workers", "1", *folder, *more]


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

    assert capsys.readouterr().out.count("split changed: whole -> simple") == 1


def test_what_is_left_out_is_said_once_whether_built_or_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    corpus(tmp_path / "texts")
    (tmp_path / "texts" / "scan.pdf").write_text("")

    for _ in range(2):
        assert main(["data", "build", "texts", "--tokenizer", "words", "--workers", "1"]) == 0
        assert capsys.readouterr().out.count("left out 1 file of no known format: texts/scan.pdf") == 1
    main(["data", "build", "texts", "--tokenizer", "words", "--workers", "1", "--json"])
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["notes"] == [
        "left out 1 file of no known format: texts/scan.pdf"
    ]


def test_every_wrong_argument_is_named_as_it_was_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--max-tokens", "0", "--workers", "0", "--tokenizer", "gtp2"]

    assert main(build(corpus(tmp_path), *more, sources=[str(tmp_path / "absent.jsonl")])) == 2

    said = capsys.readouterr().err
    for name in ("--max-tokens: ", "--workers: ", "SOURCES[1]: ", "--tokenizer: "):
        assert f"  - {name}" in said
    assert "data." not in said


def test_missing_sources_and_tokenizer_are_named_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = [str(tmp_path / name) for name in ("absent.jsonl", "gone.jsonl")]

    assert main(build(corpus(tmp_path), "--tokenizer", "gtp2", sources=absent)) == 2

    said = capsys.readouterr().err
    assert "3 problems" in said
    for name in ("SOURCES[1]: there is no file", "SOURCES[2]: there is no file", "--tokenizer: no tokenizer 'gtp2'"):
        assert f"  - {name}" in said
    assert "check SOURCES" in said


def test_one_document_of_one_token_is_not_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"text": "word"}\n')

    assert main(build(path, "--quiet")) == 0

    assert capsys.readouterr().out.endswith(": 1 document, 1 token\n")


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--max-tokens", "0"], "--max-tokens"), (["--workers", "0"], "--workers"), (["--field", "body"], "--field")],
)
def test_what_cannot_be_built_exits_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(build(corpus(tmp_path), *more)) == 2
    assert said in capsys.readouterr().err


def test_a_text_file_can_hold_several_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "poems.txt"
    path.write_text("ONE\n\nThe rose is red\n\nTWO\n\nThe sky is blue\n")

    assert main(build(path, "--tokenizer", "verse", "--texts", "headings", "--quiet")) == 0
    assert "2 documents" in capsys.readouterr().out
