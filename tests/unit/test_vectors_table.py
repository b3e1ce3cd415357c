"""Tables of vectors: converted once, opened at once, never another file's and never a damaged one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headway.data.vectors import convert as convert_module
from headway.data.vectors.convert import Conversion, load_vectors
from headway.data.vectors.table import open_table
from headway.errors import DataError

WORDS = ["the", "of", "été", "'", "the", "(", "of", "x\xa0y"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("".join(f"{word} {i}.5 -{i} {i}e-1\n" for i, word in enumerate(WORDS)))
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


def test_every_word_has_the_vector_of_its_first_row(path: Path, cache: Path) -> None:
    vectors = load_vectors(path, cache=cache)

    assert vectors["été"].tolist() == [2.5, -2.0, np.float32(0.2)]
    assert vectors["the"].tolist() == [0.5, 0.0, 0.0]
    assert vectors.find(["of", "nothing", "x\xa0y"]).tolist() == [1, -1, 7]
    assert ("the" in vectors, "The" in vectors) == (True, False)
    assert (vectors.description.read, vectors.description.duplicates, vectors.dimensions) == (8, 2, 3)
    assert vectors.words() == WORDS
    with pytest.raises(KeyError):
        vectors["nothing"]


def test_a_table_is_found_again_and_is_numpy(path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_vectors(path, cache=cache)
    monkeypatch.setattr(convert_module, "_convert", None)
    again = load_vectors(path, cache=cache)

    assert again.folder == first.folder
    assert np.load(first.folder / "matrix.npy").shape == (8, 3)
    assert open_table(first.folder)["("].tolist() == first["("].tolist()
    assert load_vectors(first.folder, cache=cache).folder == first.folder


def test_another_file_other_words_and_other_rules_are_other_tables(path: Path, cache: Path) -> None:
    folders = {load_vectors(path, cache=cache).folder}
    folders.add(load_vectors(path, cache=cache, asked=Conversion(wanted=["the"])).folder)
    folders.add(load_vectors(path, cache=cache, asked=Conversion(wanted=["of"])).folder)
    folders.add(load_vectors(path, cache=cache, asked=Conversion(bad="skip")).folder)
    content = path.read_text()
    path.write_text(content.replace("2.5", "7.5"))
    changed = load_vectors(path, cache=cache)
    os.utime(path, (1, 1))
    folders |= {changed.folder, load_vectors(path, cache=cache).folder}

    assert len(folders) == 6
    assert changed["été"][0] == 7.5


def test_a_filtered_table_holds_what_was_asked_for(path: Path, cache: Path) -> None:
    vectors = load_vectors(path, cache=cache, asked=Conversion(wanted=["the", "absent", "x\xa0y"]))

    assert set(vectors.words()) == {"the", "x\xa0y"}
    assert vectors.description.read == 8


def test_two_words_of_one_hash_are_told_apart(path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xxhash.xxh3_64_intdigest", lambda word: 5)
    vectors = load_vectors(path, cache=cache)

    assert vectors.find([*WORDS, "other"]).tolist() == [0, 1, 2, 3, 0, 5, 1, 7, -1]


@pytest.mark.parametrize("file", ["matrix.npy", "hashes.npy", "words.npy"])
def test_a_torn_or_missing_file_is_named(path: Path, cache: Path, file: str) -> None:
    folder = load_vectors(path, cache=cache).folder
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[:-1])
    with pytest.raises(DataError, match=rf"{file} has [\d,]+ bytes instead of"):
        load_vectors(path, cache=cache)
    (folder / file).unlink()
    with pytest.raises(DataError, match=f"{file} is missing"):
        load_vectors(path, cache=cache)


def test_a_flipped_byte_is_found_by_verify(path: Path, cache: Path) -> None:
    vectors = load_vectors(path, cache=cache)
    vectors.verify()
    content = bytearray((vectors.folder / "matrix.npy").read_bytes())
    content[-1] ^= 1
    (vectors.folder / "matrix.npy").write_bytes(content)

    with pytest.raises(DataError, match=r"matrix\.npy has other content"):
        vectors.verify()


def test_a_folder_that_is_no_table_and_a_file_that_is_not_there(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match="is no vector table"):
        load_vectors(tmp_path, cache=cache)
    with pytest.raises(DataError, match="there is no vector file"):
        load_vectors(tmp_path / "none.txt", cache=cache)


def test_none_of_the_wanted_words_is_an_error(path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match="holds none of the words that were asked for"):
        load_vectors(path, cache=cache, asked=Conversion(wanted=["nowhere"]))
    assert list(cache.iterdir()) == []


def test_a_conversion_that_fails_leaves_nothing(path: Path, cache: Path) -> None:
    path.write_text(path.read_text() + "short 1.5\n")

    with pytest.raises(DataError, match="row 9"):
        load_vectors(path, cache=cache)
    assert list(cache.iterdir()) == []


def test_a_converted_table_opens_without_the_compiler(path: Path, cache: Path) -> None:
    load_vectors(path, cache=cache)
    program = (
        "import sys; from pathlib import Path; from headway.data.vectors.convert import load_vectors; "
        f"print(load_vectors(Path({str(path)!r}), cache=Path({str(cache)!r}))['of'].tolist(), 'numba' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert shown.stdout.split("]")[1].strip() == "False"


def test_vectors_in_json_are_read_as_they_are_published(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.data.vectors.words_json._BLOCK", 40)
    words = {"the": [0.5, -0.25, 1e-05, 2.0, 1.0], 'quo"te': [1, 2, 3, 4, 5], "été": [0.125, 0, 7, 8, 9]}
    path = tmp_path / "wink.json"
    path.write_text(json.dumps({"precision": 6, "dimensions": 3, "words": ["the"], "vectors": words, "unkVector": [0]}))
    vectors = load_vectors(path, cache=cache)

    assert {word: vectors[word].tolist() for word in words} == {
        word: [float(np.float32(number)) for number in numbers[:3]] for word, numbers in words.items()
    }
    path.write_text(path.read_text()[:-60])
    with pytest.raises(DataError, match="ends in the middle"):
        load_vectors(path, cache=cache)
    path.write_text("{}")
    with pytest.raises(DataError, match='holds no "vectors"'):
        load_vectors(path, cache=cache)
