"""Word vectors by the names of the seeds."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.errors import DataError
from headway.tools import vector_methods, vectors
from headway.tools.vectors import benchmark_loading_methods, find_glove_embeddings, load_glove

ROWS = 'the 0.5 -1 0.1\nof 1.5 2 0.2\n" 0.25 3 0.3\nx\xa0y 0.125 4 0.4\nnull 1 5 0.7\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "glove.3d.txt"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods are run in this process: what they find is the same, only memory is not theirs alone."""
    monkeypatch.setattr(vectors, "ask", lambda request: json.loads(json.dumps(vector_methods.perform(request))))


@pytest.mark.usefixtures("here")
def test_every_method_is_measured_and_compared_with_what_the_file_says(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {one.method: one for one in benchmark_loading_methods(path, vocabulary_size=2)}

    assert list(found) == list(vector_methods.METHODS)
    assert found["read all bytes"].result == "nothing is parsed"
    assert found["naive loop"].result == "5 words, 1 lost or renamed"
    assert found["headway, all words"].result == found["headway, again"].result == "5 words"
    assert found["headway, some words"].result == "2 words"
    assert found["naive loop"].times_naive == 1
    assert all((one.seconds is None) == (one.cpu_seconds is None) for one in found.values())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["method", "CPU", "seconds"]
    assert [line.split("  ")[0] for line in lines[1:]] == list(found)


@pytest.mark.usefixtures("here")
def test_a_package_that_is_not_installed_is_listed_as_such_and_not_measured(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_methods, "find_spec", lambda _: None)
    found = {one.method: one for one in benchmark_loading_methods(path, verbose=False)}

    assert found["pandas"].result == "pandas is not installed"
    assert (found["pandas"].cpu_seconds, found["pandas"].times_naive, found["pandas"].extra_bytes) == (None, None, None)


@pytest.mark.usefixtures("here")
def test_without_the_figures_of_a_method_its_cells_are_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vector_methods, "find_spec", lambda _: None)
    benchmark_loading_methods(path)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("pandas"))

    assert row.split() == ["pandas", "-", "-", "-", "-", "pandas", "is", "not", "installed"]


def test_a_method_that_fails_says_how_and_the_others_go_on(path: Path, tmp_path: Path) -> None:
    path.write_bytes(ROWS.encode() + b"\xff 1 2 3\n")
    table = load_glove(path, cache_dir=tmp_path, verbose=False)
    request = {"path": str(path), "table": str(table.folder), "method": "naive loop"}

    assert vectors.ask(request)["result"].startswith("failed: UnicodeDecodeError")


def test_a_file_that_headway_cannot_read_is_its_error(path: Path, tmp_path: Path) -> None:
    path.write_text("the 0.5 1\nof 1\n")
    request = {"path": str(path), "cache": str(tmp_path / "cache"), "words": 1, "method": "headway, all words"}

    with pytest.raises(DataError, match=r"glove\.3d\.txt, row 2"):
        vectors.ask(request)


def test_the_program_answers_a_request_with_json(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"path": str(path), "method": "read all bytes"})))
    vector_methods.main()

    answer = json.loads(capsys.readouterr().out)
    assert answer["result"] == "nothing is parsed"
    assert answer["seconds"] > 0


def test_the_program_answers_an_error_of_ours_with_its_text(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text("nothing here\n")
    request = {"path": str(path), "cache": str(tmp_path), "words": 1, "method": "headway, all words"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    vector_methods.main()

    assert "no row of a word" in json.loads(capsys.readouterr().out)["error"]


def test_values_that_were_read_otherwise_are_counted(path: Path, tmp_path: Path) -> None:
    table = load_glove(path, cache_dir=tmp_path, verbose=False)
    loaded = (["the", "of"], [[0.5, -1, 0.1], [1.5, 2, 0.25]])
    verdict = vector_methods._verdict(loaded, {"table": str(table.folder)})

    assert verdict["result"] == "2 words, 3 lost or renamed, 1 of 5 compared differ"


def test_gensim_is_asked_for_its_words_and_vectors(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        index_to_key: tuple[str, ...] = ("the",)
        vectors: tuple[list[float], ...] = ([1.0],)

        @classmethod
        def load_word2vec_format(cls, name: str, *, binary: bool, no_header: bool) -> Any:
            assert (name, binary, no_header) == (str(path), False, True)
            return cls

    monkeypatch.setattr(vector_methods, "import_module", lambda _: type("models", (), {"KeyedVectors": Asked}))

    assert vector_methods._gensim({"path": str(path)})() == (("the",), ([1.0],))


def test_where_the_system_does_not_tell_memory_is_not_measured(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_methods, "peak_bytes", lambda: None)
    answer = vector_methods.perform({"path": str(path), "method": "read all bytes"})

    assert answer["extra_bytes"] is None


def test_peak_memory_is_absent_without_a_status_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (vector_methods.peak_bytes() or 0) > 1 << 20

    monkeypatch.setattr(Path, "is_file", lambda _: False)

    assert vector_methods.peak_bytes() is None


def test_a_vocabulary_is_loaded_in_any_of_its_forms(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = load_glove(str(path), ["The", "nothing"], cache_dir=tmp_path / "vectors")

    assert loaded.words() == ["the"]
    assert "1 vectors of 3 numbers" in capsys.readouterr().out
    assert len(load_glove(path, cache_dir=tmp_path / "vectors", verbose=False)) == 5
    with pytest.raises(DataError, match="not 7"):
        load_glove(path, cache_dir=tmp_path / "vectors", dimensions=7)


def test_the_vector_file_of_most_dimensions_is_found_where_such_files_lie(tmp_path: Path) -> None:
    (tmp_path / "embeddings").mkdir()
    names = ["glove.6B.50d.txt", "embeddings/glove.6B.300d.txt.gz", "glove.zip", "poems.txt"]
    for name in names:
        (tmp_path / name).touch()

    assert find_glove_embeddings(tmp_path) == tmp_path / names[1]
    (tmp_path / names[1]).unlink()
    assert find_glove_embeddings(str(tmp_path)) == tmp_path / names[0]


def test_without_a_vector_file_the_error_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="embeddings"):
        find_glove_embeddings(tmp_path)
    with pytest.raises(DataError, match=r"no vector file .*glove\.txt"):
        benchmark_loading_methods(tmp_path / "glove.txt")
