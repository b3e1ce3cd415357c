"""What every format gives, and the message for every way a file can be bad."""

import gzip
import io
import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import zstandard

from headway.data import arrays
from headway.data.read import read_part
from headway.data.sources import Document, Skipped, find_sources, split_sources
from headway.errors import DataError


def records(folder: Path, name: str, content: bytes | str, *, field: str = "text", part_bytes: int = 8 << 20) -> Any:
    """Write a file and read all of its parts."""
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    parts = split_sources(find_sources(name, folder=folder), part_bytes=part_bytes)
    return [record for part in parts for record in read_part(part, field)]


def texts(found: list[Document | Skipped]) -> list[str]:
    return [record.text for record in found if isinstance(record, Document)]


def reasons(found: list[Document | Skipped]) -> list[str]:
    return [record.reason for record in found if isinstance(record, Skipped)]


def test_json_lines_hold_objects_or_strings_and_say_where_each_lies(tmp_path: Path) -> None:
    found = records(tmp_path, "a.jsonl", '{"text": "one", "n": 1}\r\n"two"\n{"text": "drei \u00e9"}')

    assert found == [
        Document("one", 0, "a.jsonl:@0"),
        Document("two", 1, "a.jsonl:@25"),
        Document("drei \u00e9", 2, "a.jsonl:@31"),
    ]


def test_records_without_text_are_skipped_with_a_reason(tmp_path: Path) -> None:
    lines = [
        '{"text": "one"}',
        '{"text": ""}',
        "",
        '{"b": 1}',
        '{"text": null}',
        '{"text": 3}',
        '{"text": ["x", 1]}',
        '""',
    ]

    found = records(tmp_path, "a.jsonl", "\n".join(lines) + "\n")

    assert reasons(found) == [
        "empty text",
        "blank line",
        "no field 'text'",
        "field 'text' is null, not text",
        "field 'text' is a number, not text",
        "field 'text' is a list, not text",
        "empty text",
    ]
    assert [record.index for record in found] == list(range(8))


def test_json_lines_may_start_with_a_mark_and_hold_nan_and_huge_numbers(tmp_path: Path) -> None:
    lines = (
        '\ufeff{"text": "one"}\n{"body": NaN}\n{"text": "two", "score": NaN}\n{"text": "three", "n": 1'
        + "0" * 400
        + "}\n"
    )

    found = records(tmp_path, "a.jsonl", lines)

    assert texts(found) == ["one", "two", "three"]
    assert reasons(found) == ["no field 'text'"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "one"}\n{"text": "two"\n', r"a\.jsonl, line 2, column 16: invalid JSON .*; repair or remove"),
        (b'{"text": "one"}\n{"text": "tw', r"line 2, column 10: invalid JSON \(Unterminated string"),
        (b'{"text": "one"}\n[1]\n', r"line 2: the record is a list; .* one JSON array must be named \.json"),
        (b'{"text": "one"}\nnull\n', "line 2: the record is null; it must be an object or a string"),
        (b'{"text": "one"}\n{"text": "a\xffb"}\n', r"line 2, byte 27: invalid UTF-8 \(0xff\); repair the file"),
        (b"\x7fELF\x02\x01\0\0", "line 1, byte 6: a NUL byte, so this is a binary file"),
        ('{"text": "one"}'.encode("utf-16"), "is UTF-16, not UTF-8; convert it with: iconv -f UTF-16"),
        (b'{"text": "one"}\n{"text": "a\\ud800"}\n', r"line 2: the text holds half a surrogate pair \(\"\\ud800\"\)"),
        (b'{"text": "one", "n": 1' + b"0" * 5000 + b"}", "line 1: unusable JSON .*digits"),
        (b'{"text": ' + b"[" * 100_000, "line 1: unusable JSON .*recursion"),
        (
            b'{"body": "a", "n": 1}\n{"titel": "b"}\n',
            "no record has text in the field 'text'; fields with text: body, titel",
        ),
        (b'{"txt": "a"}', "set data.field to one of them .did you mean txt"),
        (b'{"text": 1}', "no record has text in the field 'text', nor in any other"),
    ],
)
def test_bad_json_lines_are_an_error_with_the_place(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records(tmp_path, "a.jsonl", content)


def test_an_error_in_a_later_part_names_the_line_of_the_file(tmp_path: Path) -> None:
    content = '{"text": "good"}\n' * 100 + "{bad}\n"

    with pytest.raises(DataError, match="line 101, column 2"):
        records(tmp_path, "a.jsonl", content, part_bytes=64)


def test_a_part_whose_records_lack_the_field_is_skipped_when_another_part_has_it(tmp_path: Path) -> None:
    content = '{"body": 1}\n' * 10 + '{"text": ""}\n'

    found = records(tmp_path, "a.jsonl", content, part_bytes=16)

    assert reasons(found) == ["no field 'text'"] * 10 + ["empty text"]


def test_another_field_can_hold_the_text(tmp_path: Path) -> None:
    assert texts(records(tmp_path, "a.jsonl", '{"text": "x", "body": "y"}', field="body")) == ["y"]


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.txt.gz", "a.txt.zst"])
def test_a_text_file_is_one_document_kept_as_it_is(tmp_path: Path, name: str) -> None:
    text = "\ufefffirst\r\n\n second \u2028 line\n"

    found = records(tmp_path, name, squeezed(name, text.encode()))

    assert found == [Document(text[1:], 0, name)]


def test_an_empty_text_file_is_skipped(tmp_path: Path) -> None:
    assert reasons(records(tmp_path, "a.txt", "")) == ["empty text"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fine\n\xe9t\xe9", r"a\.txt, line 2, byte 5: invalid UTF-8 \(0xe9\)"),
        (b"fine\n\0\x01", r"a\.txt, line 2, byte 5: a NUL byte, so this is a binary file"),
        (b"\xff\xfea\0", r"a\.txt is UTF-16"),
    ],
)
def test_a_text_file_that_is_no_utf8_is_an_error(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records(tmp_path, "a.txt", content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"text": "one"}, "two" , {"text": ""}]\n', ["one", "two"]),
        ('\ufeff {"text": "alone", "n": [1, 2]} ', ["alone"]),
        ('"just a string"', ["just a string"]),
        ("[ ]", []),
    ],
)
def test_a_json_file_holds_an_array_or_one_record(tmp_path: Path, content: str, expected: list[str]) -> None:
    assert texts(records(tmp_path, "a.json", content)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"a\.json, line 1, column 1: a value is missing"),
        (b"[", "a value is missing"),
        (b'["a",]', r"line 1, column 6: invalid JSON \(Expecting value\)"),
        (b'["a",\n "b" "c"]', r"line 2, column 6: expected ',' or '\]' after an item"),
        (b'["a"', "the file ends inside its array"),
        (b'["a", "b', r"column 7: invalid JSON \(Unterminated string"),
        (b'["a"] x', "more follows after the value"),
        (b'{"text": "a"}\n{"text": "b"}\n', r"line 2, column 1: more follows .*one record a line is \.jsonl"),
        (b'["a", 7]', "item 1: the record is a number"),
        (b'["a", "\\udc00"]', "item 1: the text holds half a surrogate pair"),
        (b'["a", "\xff"]', r"line 1, byte 7: invalid UTF-8"),
        (b'[{"body": "a"}]', "fields with text: body"),
        (b'["a", {"n": 1' + b"0" * 5000 + b"}]", "unusable JSON .*digits"),
        (b'["a", ' + b"[" * 100_000, "unusable JSON .*recursion"),
    ],
)
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_a_bad_json_file_is_an_error_with_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str, block: int
) -> None:
    monkeypatch.setattr(arrays, "BLOCK", block)

    with pytest.raises(DataError, match=message):
        records(tmp_path, "a.json", content)


def test_a_broken_item_is_reported_without_reading_the_rest_of_a_large_file(tmp_path: Path) -> None:
    content = b'["a", {"text" 1}, "' + b"x" * 8_000_000 + b"\xff"

    with pytest.raises(DataError, match="line 1, column 15: invalid JSON"):
        records(tmp_path, "a.json", content)


def test_csv_fields_may_be_quoted_and_hold_separators_and_line_breaks(tmp_path: Path) -> None:
    found = records(tmp_path, "a.csv", '\ufeffid,text\r\n1,"a, ""b""\nc"\r\n2,\r\n\r\n3\r\n4,d\r\n')

    assert texts(found) == ['a, "b"\nc', "d"]
    assert reasons(found) == ["empty text", "blank line", "no field 'text'"]
    assert found[-1].source == "a.csv:row 4"


def test_tsv_is_separated_by_tabs(tmp_path: Path) -> None:
    assert texts(records(tmp_path, "a.tsv", "text\tn\na, b\t1\n")) == ["a, b"]


def test_a_csv_without_rows_or_without_anything_gives_nothing(tmp_path: Path) -> None:
    assert records(tmp_path, "a.csv", "text,n\n") == []
    assert records(tmp_path, "b.csv", "") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,body\n1,a\n", "there is no column 'text'; columns: id, body; set data.field"),
        (b"text,text\na,b\n", "2 columns are named 'text'; rename all but one"),
        (b"text,n\na, b, c\n", r"line 2: 3 fields, but 2 columns; quote"),
        (b'text,n\n"a,1\nb,2\n', "line 3: unexpected end of data; quote the field"),
        (b"text,n\na\xff,1\n", r"line 2, byte 8: invalid UTF-8"),
        (b"text,n\na\0,1\n", r"line 2, byte 8: a NUL byte"),
    ],
)
def test_a_bad_csv_is_an_error_with_the_place(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records(tmp_path, "a.csv", content)


def test_a_csv_field_may_be_very_long(tmp_path: Path) -> None:
    [document] = records(tmp_path, "a.csv", "text\n" + "x" * 1_000_000 + "\n")

    assert len(document.text) == 1_000_000


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.parquet", "a.parquet.gz", "a.parquet.zst"])
def test_parquet_gives_its_rows_across_row_groups(tmp_path: Path, name: str) -> None:
    table = pa.table({"n": range(5), "text": ["a", "", None, "d", "e"]})

    found = records(tmp_path, name, squeezed(name, parquet_bytes(table, row_group_size=2)), part_bytes=1)

    assert texts(found) == ["a", "d", "e"]
    assert reasons(found) == ["empty text", "field 'text' is null, not text"]
    assert [record.source for record in found] == [f"{name}:row {row}" for row in range(5)]


@pytest.mark.parametrize("type", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_text_may_be_stored_in_any_string_type(tmp_path: Path, type: pa.DataType) -> None:
    table = pa.table({"text": pa.array(["a", "b", "a"]).cast(type)})

    assert texts(records(tmp_path, "a.parquet", parquet_bytes(table))) == ["a", "b", "a"]


def test_bad_parquet_is_an_error(tmp_path: Path) -> None:
    good = parquet_bytes(pa.table({"id": [1], "body": ["x" * 100]}), compression="none")
    torn = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
    )

    with pytest.raises(DataError, match="there is no column 'text'; columns: id, body"):
        records(tmp_path, "a.parquet", good)
    with pytest.raises(DataError, match="column 'id' holds int64, not text"):
        records(tmp_path, "a.parquet", good, field="id")
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as parquet"):
        records(tmp_path, "a.parquet", good[:-9])
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as parquet"):
        records(tmp_path, "a.parquet", b"")
    with pytest.raises(DataError, match="row 1: invalid UTF-8"):
        records(tmp_path, "a.parquet", parquet_bytes(pa.table({"text": torn})))


def squeezed(name: str, data: bytes) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(data)
    return zstandard.compress(data) if name.endswith(".zst") else data


LINES = b"".join(b'{"text": "document %d"}\n' % number for number in range(20_000))
HALF = LINES.index(b"\n", len(LINES) // 2) + 1
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0note"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl.gz", gzip.compress(LINES)),
        ("a.jsonl.gz", gzip.compress(LINES[:HALF]) + gzip.compress(LINES[HALF:])),
        ("a.jsonl.gz", gzip.compress(LINES) + b"\0" * 700),
        ("a.jsonl.zst", zstandard.compress(LINES)),
        ("a.jsonl.zst", zstandard.compress(LINES[:HALF]) + SKIPPABLE + zstandard.compress(LINES[HALF:])),
    ],
)
def test_compressed_files_give_what_they_hold_over_all_members(tmp_path: Path, name: str, content: bytes) -> None:
    found = texts(records(tmp_path, name, content, part_bytes=1000))

    assert found == [f"document {number}" for number in range(20_000)]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_compressed_file_that_is_cut_off_or_altered_is_an_error(tmp_path: Path, name: str) -> None:
    good = squeezed(name, LINES)

    with pytest.raises(DataError, match=r"is damaged or incomplete \(it ends in the middle\)"):
        records(tmp_path, name, good[:-5])
    with pytest.raises(DataError, match="is damaged or incomplete"):
        records(tmp_path, name, good + b"garbage after the end")
    with pytest.raises(DataError, match="is damaged or incomplete"):
        records(tmp_path, name, b"no compressed file at all")


def test_an_empty_compressed_file_gives_nothing(tmp_path: Path) -> None:
    assert records(tmp_path, "a.jsonl.gz", b"") == []


def test_a_file_that_changed_after_it_was_found_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("first")
    [part] = split_sources(find_sources("a.txt", folder=tmp_path))
    path.write_text("longer than before")

    with pytest.raises(DataError, match="changed after it was found"):
        list(read_part(part, "text"))
    path.unlink()
    with pytest.raises(DataError, match=r"cannot read .*a\.txt .*No such file"):
        list(read_part(part, "text"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt"])
def test_one_enormous_document_takes_memory_for_itself_only(tmp_path: Path, name: str) -> None:
    size = 40_000_000
    content = b"x" * size if name == "a.txt" else b'{"text": "' + b"x" * size + b'"}\n'
    (tmp_path / name).write_bytes(content)
    parts = split_sources(find_sources(name, folder=tmp_path), part_bytes=4_000_000)
    tracemalloc.start()

    lengths = [len(record.text) for part in parts for record in read_part(part, "text") if isinstance(record, Document)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert lengths == [size]
    assert peak < 5 * size


def test_parts_inside_one_line_are_passed_over_without_loading_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "' + b"x" * 30_000_000 + b'"}\n{"text": "next"}\n')
    parts = split_sources(find_sources("a.jsonl", folder=tmp_path), part_bytes=10_000_000)
    tracemalloc.start()

    found = [list(read_part(part, "text")) for part in parts[1:]]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [texts(records) for records in found] == [[], [], ["next"]]
    assert peak < 5_000_000


def test_json_numbers_that_are_no_numbers_are_read_in_arrays_too(tmp_path: Path) -> None:
    content = json.dumps([{"text": "a", "n": math.nan}])

    assert texts(records(tmp_path, "a.json", content)) == ["a"]
