import json
from pathlib import Path

import pytest
from made_memory import trained

from headway.cli.main import main
from headway.data.vectors.table import open_table

Output = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "glove.txt").write_text("the 0.5 1\ncat 0.25 2\nsat 0.125 3\nthe 9 9\n")
    return tmp_path / "glove.txt"


def test_a_file_is_converted_once_and_verified(file: Path, capsys: Output) -> None:
    assert main(["vectors", "convert", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "4 vectors of 2 numbers" in shown
    assert "1 words came again" in shown
    assert main(["vectors", "convert", str(file), "--json"]) == 0
    folder = json.loads(capsys.readouterr().out)["folder"]

    assert folder in shown
    assert main(["vectors", "verify", folder]) == 0
    assert "every byte is as it was written" in capsys.readouterr().out
    assert main(["vectors", "verify", folder, "--json"]) == 0


def test_only_the_words_of_texts_or_of_a_dataset_are_kept(file: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "poem.txt").write_text("The cat, the dog")
    assert main(["vectors", "convert", str(file), "--vocab", "poem.txt", "--json"]) == 0
    of_text = json.loads(capsys.readouterr().out)["folder"]
    trained(tmp_path / "made", ["the cat sat"], tokenizer="words")
    (dataset,) = (path.parent for path in (tmp_path / "made" / "datasets").glob("*/manifest.json"))
    assert main(["vectors", "convert", str(file), "--vocab", str(dataset)]) == 0

    assert set(open_table(Path(of_text)).words()) == {"the", "cat"}
    assert "4 vectors" in (shown := capsys.readouterr().out)
    assert "forms of words" in shown


def test_a_damaged_row_is_named_or_counted(file: Path, capsys: Output) -> None:
    file.write_text(file.read_text() + "short 1\n")

    assert main(["vectors", "convert", str(file)]) == 2
    assert "row 5" in (message := capsys.readouterr().err)
    assert "--bad-rows skip" in message
    assert main(["vectors", "convert", str(file), "--bad-rows", "skip"]) == 0
    assert "1 with fewer numbers than others" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["nowhere.txt"], ["glove.txt", "--dimensions", "300"], ["."]])
def test_what_cannot_be_converted_is_one_clear_error(file: Path, words: list[str], capsys: Output) -> None:
    assert main(["vectors", "convert", *words]) == 2
    assert capsys.readouterr().err.startswith("headway: ")
