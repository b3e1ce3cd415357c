"""What lies where texts and vectors are looked for."""

import json
from pathlib import Path

import pytest
from made_poems import write_poems, write_vectors

from headway.errors import DataError
from headway.tools import DataConfig, detect_data_format, poetry_data
from headway.tools.poetry_data import find_vectors, folder_of, read_texts


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The present folder has nothing in it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv(poetry_data.VARIABLE, raising=False)


def test_an_array_of_poems_is_counted(tmp_path: Path) -> None:
    path = write_poems(tmp_path / "poems.json", 3)
    found = detect_data_format(str(path))

    assert (found.path, found.format, found.text_field, found.documents) == (path, "json", "text", 3)
    assert (found.texts, found.skipped, found.said) == ("file", {}, None)


def test_lines_of_a_poem_are_found_where_there_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "sonnets.jsonl"
    path.write_text('{"number": 1, "lines": ["a b", "c"]}\n{"number": 2, "lines": ["d"]}\n{"number": 3}\n')
    found = detect_data_format(path)

    assert (found.text_field, found.documents, found.skipped) == ("lines", 2, {"no field 'lines'": 1})
    assert read_texts(path) == ["a b\nc", "d"]


def test_a_file_without_any_text_says_which_fields_there_are(tmp_path: Path) -> None:
    path = tmp_path / "poems.json"
    path.write_text(json.dumps([{"verse": "a b"}]))

    with pytest.raises(DataError, match="fields with text: verse"):
        detect_data_format(path)
    assert detect_data_format(path, text_field="verse").documents == 1


def test_one_plain_file_holds_many_texts_where_blank_lines_part_them(tmp_path: Path) -> None:
    many, one = tmp_path / "many.txt", tmp_path / "one.txt"
    many.write_text("a b\nc\n\n\nd e\n\n\nf\n")
    one.write_text("a b\nc\n\nd e\n")

    assert (detect_data_format(many).texts, detect_data_format(many).documents) == ("blank lines", 3)
    assert (detect_data_format(one).texts, detect_data_format(one).text_field) == ("file", None)
    assert read_texts(many, texts="file") == [many.read_text()]


def test_a_folder_is_read_for_the_files_of_the_seeds_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write_poems(folder / "poems.json", 2)
    write_poems(folder / "improved_dbbc_collection.json", 3)
    found = detect_data_format(folder)

    assert (found.path.name, found.documents) == ("improved_dbbc_collection.json", 3)
    assert found.said == f"improved_dbbc_collection.json in {folder}; not used: poems.json"


def test_a_folder_without_any_of_them_is_read_whole(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n\n\ntwo")
    write_poems(folder / "b.json", 2)
    found = detect_data_format(folder)

    assert (found.path, found.format, found.documents, found.texts) == (folder, "mixed", 3, "file")
    assert found.said is not None and found.said.startswith(f"every file in {folder}: it has none of multi_poem")


def test_more_records_than_are_looked_at_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poetry_data, "_MOST", 2)

    assert detect_data_format(write_poems(tmp_path / "poems.json", 3)).documents is None


def test_vectors_are_found_beside_the_texts_or_in_the_present_folder(tmp_path: Path) -> None:
    data = DataConfig()
    here = write_vectors(Path.cwd() / "vectors" / "glove.8d.txt")

    assert find_vectors(data, beside=tmp_path) == str(here)
    beside = write_vectors(tmp_path / "embeddings" / "glove.8d.txt")
    assert find_vectors(data, beside=tmp_path) == str(beside)


def test_a_variable_says_where_vectors_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vectors(tmp_path / "glove.8d.txt")
    told = write_vectors(tmp_path / "mine" / "glove.9d.txt", 9)
    for value in (told, told.parent):
        monkeypatch.setenv(poetry_data.VARIABLE, str(value))

        assert find_vectors(DataConfig(), beside=tmp_path) == str(told)
    monkeypatch.setenv(poetry_data.VARIABLE, str(tmp_path / "gone.txt"))
    with pytest.raises(DataError, match=r"HEADWAY_VECTORS names .*gone\.txt, where there is nothing"):
        find_vectors(DataConfig(), beside=tmp_path)


def test_vectors_that_are_named_are_taken_and_made_up_ones_only_where_they_are_asked_for(tmp_path: Path) -> None:
    write_vectors(tmp_path / "glove.8d.txt")

    assert find_vectors(DataConfig(embeddings="x.txt"), beside=tmp_path) == str(Path.cwd() / "x.txt")
    assert find_vectors(DataConfig(embeddings="random"), beside=tmp_path) == "random"
    assert find_vectors(DataConfig(embedding_type="random"), beside=tmp_path) == "random"


def test_without_vectors_nothing_is_made_up_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        find_vectors(DataConfig(), beside=tmp_path)

    said = str(caught.value)
    for part in (str(tmp_path), str(Path.cwd()), "HEADWAY_VECTORS", "data={'embeddings': 'random'}"):
        assert part in said
    with pytest.raises(DataError, match="files of word2vec vectors are not looked for"):
        find_vectors(DataConfig(embedding_type="word2vec"), beside=tmp_path)


def test_the_folder_of_a_file_is_where_it_lies(tmp_path: Path) -> None:
    assert folder_of(tmp_path / "poems.json") == folder_of(tmp_path) == tmp_path
