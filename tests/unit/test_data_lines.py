"""Records whose text is a list of lines."""

import json
from pathlib import Path

import pytest

from headway.data.read import read_part
from headway.data.sources import Document, Skipped, find_sources, split_sources
from headway.errors import DataError


def records(folder: Path, name: str, content: str, *, field: str = "text") -> list[Document | Skipped]:
    (folder / name).write_text(content)
    return [record for part in split_sources(find_sources(name, folder=folder)) for record in read_part(part, field)]


def texts(found: list[Document | Skipped]) -> list[str]:
    return [record.text for record in found if isinstance(record, Document)]


def reasons(found: list[Document | Skipped]) -> list[str]:
    return [record.reason for record in found if isinstance(record, Skipped)]


def test_a_list_of_lines_is_a_text(tmp_path: Path) -> None:
    poems = [{"number": 1, "lines": ["one", "", "two"]}, {"lines": []}, {"lines": ["three"]}, {"lines": [4]}]

    found = {
        name: records(tmp_path, name, content, field="lines")
        for name, content in (("a.jsonl", "\n".join(map(json.dumps, poems))), ("a.json", json.dumps(poems)))
    }

    assert all(texts(each) == ["one\n\ntwo", "three"] for each in found.values())
    assert all(reasons(each) == ["empty text", "field 'lines' is a list, not text"] for each in found.values())


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", "%s"), ("a.json", "[%s]")])
def test_records_with_lines_and_no_text_are_an_error_that_names_the_lines(
    tmp_path: Path, name: str, content: str
) -> None:
    with pytest.raises(DataError, match=r"fields with text: title, lines; .* .did you mean lines"):
        records(tmp_path, name, content % '{"title": "x", "lines": ["a", "b"], "n": [1]}')


def test_half_a_surrogate_pair_in_a_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: the text holds half a surrogate pair"):
        records(tmp_path, "a.jsonl", '{"text": ["a", "\\ud800"]}')
