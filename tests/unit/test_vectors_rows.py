"""Rows of vector files: every word and every number as it stands there, and nothing lost in silence."""

import gzip
import io
import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from headway.data.vectors import blocks as blocks_module
from headway.data.vectors.rows import Reading, read_rows
from headway.errors import DataError

ODD_WORDS = [
    *('"', "'", "''", "``", "#", "nan", "null", "none", "NA", "n/a", "inf", "1", "2,000", "0.5", ",", ".", "("),
    *("<unk>", "été", "—", "東京", "a\xa0b", "x\x85y", "l\u2028s", "w\u3000w", "\ufeffz", "e\u0301", "-", "-1", "1e5"),
]


def written(words: list[str], *, width: int = 3, end: str = "\n") -> bytes:
    lines = (f"{word} " + " ".join(f"{(i + 1) * (k + 1) / 8}" for k in range(width)) for i, word in enumerate(words))
    return "".join(line + end for line in lines).encode()


def read(content: bytes, **asked: object) -> tuple[dict[str, list[float]], Reading]:
    reading = Reading("v.txt", asked.pop("dimensions", None))  # type: ignore[arg-type]
    found: dict[str, list[float]] = {}
    for rows in read_rows(io.BytesIO(content), reading, **asked):  # type: ignore[arg-type]
        for word, numbers in zip(rows.words(), rows.numbers.tolist(), strict=True):
            found.setdefault(word.decode(), numbers)
    return found, reading


def expected(words: list[str], width: int = 3) -> dict[str, list[float]]:
    return {word: [(i + 1) * (k + 1) / 8 for k in range(width)] for i, word in enumerate(words)}


@pytest.mark.parametrize("end", ["\n", " \n", "\r\n", " \r\n"])
@pytest.mark.parametrize("size", [64, 97, 1 << 20])
def test_odd_words_survive(end: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module.blocks, "__kwdefaults__", {**blocks_module.blocks.__kwdefaults__, "size": size})

    assert read(written(ODD_WORDS, end=end))[0] == expected(ODD_WORDS)


def test_a_file_may_begin_with_a_mark_or_a_header_and_end_without_a_newline() -> None:
    plain = written(["the", "of", "and"])

    for content in (b"\xef\xbb\xbf" + plain, b"3 3\n" + plain, b"\xef\xbb\xbf3 3\r\n" + plain, plain.rstrip(b"\n")):
        found, reading = read(content)
        assert found == expected(["the", "of", "and"])
        assert (reading.dimensions, reading.rows) == (3, 3)


@pytest.mark.parametrize("wanted", [None, [". . .", "at name@domain.com", "b"]])
def test_words_may_hold_spaces(wanted: list[str] | None) -> None:
    words = ["a", ". . .", "at name@domain.com", "at", "b"]
    found, _ = read(written(words), wanted=wanted)

    assert found == {word: numbers for word, numbers in expected(words).items() if wanted is None or word in wanted}


def test_the_first_field_of_a_longer_word_is_another_word() -> None:
    found, _ = read(written(["at name@domain.com", "x"]), wanted=["at", "x"])

    assert list(found) == ["x"]


def test_only_what_is_wanted_is_taken_and_nothing_of_it_is_lost() -> None:
    words = [f"w{i}" for i in range(5000)] + ODD_WORDS
    wanted = [*words[::7], *ODD_WORDS, "absent"]
    found, reading = read(written(words), wanted=wanted)

    assert found == {word: numbers for word, numbers in expected(words).items() if word in set(wanted)}
    assert reading.rows == len(words)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("word 0.5 0.25", "fewer numbers than others"),
        ("word 0.5 0.25 0.125 0.5", "more numbers than others"),
        ("word 0.5 nan 0.25", "a number that is not finite"),
        ("word 0.5 -inf 0.25", "a number that is not finite"),
        ("word 0.5 1e99 0.25", "a number too large for 32 bits"),
        ("word 0.5 0x1 0.25", "something that is no number"),
        ("word 0.5 1_0 0.25", "something that is no number"),
        ("word 0.5 . 0.25", "something that is no number"),
        ("word 0.5  0.25", "something that is no number"),
    ],
)
def test_a_row_that_is_none_is_an_error_with_its_place_or_counted(row: str, problem: str) -> None:
    content = written(["a", "b"]) + row.encode() + b"\n" + written(["c"])

    with pytest.raises(DataError, match=rf"v\.txt, row 3 \('{row[:8]}.*{problem}"):
        read(content)
    found, reading = read(content, bad="skip")
    assert set(found) == {"a", "b", "c"}
    assert reading.skipped == {problem: 1}
    assert reading.rows == 4
    # Unless it is asked for, nobody looks at what is wrong with it.
    assert set(read(content, wanted=["a"])[0]) == {"a"}


def test_blank_rows_are_counted() -> None:
    found, reading = read(written(["a"]) + b"\n\r\n" + written(["b"]))

    assert set(found) == {"a", "b"}
    assert reading.skipped == {"no word": 2}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"just text without numbers\n", b"\x00\x01\x02"])
def test_a_file_without_vectors_is_an_error(content: bytes) -> None:
    with pytest.raises(DataError, match=r"v\.txt holds no row of a word and its numbers"):
        read(content)


def test_vectors_of_another_size_than_wanted_are_an_error() -> None:
    with pytest.raises(DataError, match=r"has vectors of 3 numbers, not 300"):
        read(written(["a", "b"]), dimensions=300)


def single(text: str) -> bytes:
    """Decimal to double to float32, each step rounded correctly by other means."""
    return struct.pack("f", float(text))


@given(
    st.one_of(
        st.floats(-1e30, 1e30, allow_subnormal=True).map(repr),
        st.floats(-(2.0**99), 2.0**99, width=32).map(repr),
        st.decimals(-1000, 1000, places=9).map(str),
        st.integers(-(10**25), 10**25).map(str),
        st.tuples(st.integers(0, 10**20), st.integers(-60, 30)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
        st.tuples(st.integers(0, 10**9), st.integers(0, 10**17)).map(lambda pair: f"{pair[0]}.{pair[1]}"),
        st.from_regex(r"-?[0-9]{1,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    )
)  # fmt: skip
def test_numbers_are_right_to_the_last_bit(text: str) -> None:
    if abs(float(text)) > 3.4e38:
        return
    found, _ = read(f"a 0.5 0.5\nword {text} 0.25\n".encode())

    assert struct.pack("f", found["word"][0]) == single(text)


def test_numbers_halfway_between_two_singles_are_right() -> None:
    draw = random.Random(5)
    lines: list[str] = []
    for _ in range(3000):
        below = np.float32(draw.gauss(0, 1))
        middle = (float(below) + float(np.nextafter(below, np.float32(9)))) / 2
        lines += [repr(middle), repr(math.nextafter(middle, 9)), repr(math.nextafter(middle, -9))]
    content = "".join(f"w{i} {text} 1\n" for i, text in enumerate(lines)).encode()
    found, _ = read(content)

    assert b"".join(struct.pack("f", found[f"w{i}"][0]) for i in range(len(lines))) == b"".join(map(single, lines))


@pytest.mark.parametrize("size", [64, 1000])
def test_rows_longer_than_a_block_are_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module.blocks, "__kwdefaults__", {**blocks_module.blocks.__kwdefaults__, "size": size})
    words = ["short", "x" * 100_000, "y" * 300, "end"]

    assert read(written(words, width=40))[0] == expected(words, 40)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_are_read_as_what_they_hold(suffix: str, tmp_path: Path) -> None:
    from headway.data.vectors.convert import load_vectors

    content = written(ODD_WORDS)
    packed = gzip.compress(content) if suffix == ".gz" else zstandard.compress(content)
    path = tmp_path / f"v.txt{suffix}"
    path.write_bytes(packed)
    vectors = load_vectors(path, cache=tmp_path / "cache")

    assert {word: vectors[word].tolist() for word in ODD_WORDS} == expected(ODD_WORDS)


@pytest.mark.parametrize(
    ("row", "problem"), [("b 1.5 2.5", "fewer numbers than others"), ("b 1.5 2.5 3.5 4.5", "more numbers than others")]
)
def test_a_broken_row_of_a_word_that_is_wanted_is_not_lost_in_silence(row: str, problem: str) -> None:
    content = f"a 1.5 2.5 3.5\n{row}\nc 1.5 2.5 3.5\n".encode()

    with pytest.raises(DataError, match=f"row 2 .*{problem}"):
        read(content, wanted=["a", "b"])
    assert set(read(content, wanted=["a", "c"])[0]) == {"a", "c"}
