"""Text files that hold many texts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.config import DocumentEnd
from headway.data.read import read_part
from headway.data.sources import Document, Skipped, find_sources, split_sources
from headway.data.texts import cut, is_heading


def records(folder: Path, content: str, texts: DocumentEnd) -> list[Document | Skipped]:
    (folder / "a.txt").write_bytes(content.encode())
    return [
        record
        for part in split_sources(find_sources("a.txt", folder=folder))
        for record in read_part(part, "text", texts=texts)
    ]


def texts_of(content: str, texts: DocumentEnd) -> list[str]:
    return [text for _, text in cut(content, texts)]


def test_two_blank_lines_end_a_text_and_one_a_stanza(tmp_path: Path) -> None:
    content = "\ufeff\n\nOne\n  of two\n\nstanzas\n\n\n  Two  \n \n\t\n\n\n3\n\n"

    assert records(tmp_path, content, "blank lines") == [
        Document("One\n  of two\n\nstanzas", 0, "a.txt:line 3"),
        Document("  Two", 1, "a.txt:line 9"),
        Document("3", 2, "a.txt:line 14"),
    ]


def test_headings_inside_texts_do_not_cut_where_blank_lines_do() -> None:
    assert texts_of("I\n\na\n\nII\n\nb\n\n\nc", "blank lines") == ["I\n\na\n\nII\n\nb", "c"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_without_two_blank_lines_a_text_begins_at_a_heading(end: str) -> None:
    lines = ["THE FIRST", "", "a", "A LINE INSIDE", "", "b", "", "  II.", "c", "", "(3)", "", "d", ""]
    content = end.join(lines)

    found = texts_of(content, "blank lines")

    assert found == [
        end.join(["THE FIRST", "", "a", "A LINE INSIDE", "", "b"]),
        end.join(["  II.", "c"]),
        end.join(["(3)", "", "d"]),
    ]


def test_headings_cut_although_there_are_two_blank_lines_when_asked_to() -> None:
    content = "THE SONNETS\nby the poet\n\n\n\nI\n\na\n\n\nb\n\nII\n\nc"

    assert texts_of(content, "headings") == ["THE SONNETS\nby the poet", "I\n\na\n\n\nb", "II\n\nc"]


def test_headings_in_a_row_open_one_text() -> None:
    assert texts_of("BOOK\n\nI\n\na\n\nBOOK\n\nII\n\n12\n\nb", "headings") == [
        "BOOK\n\nI\n\na",
        "BOOK\n\nII\n\n12\n\nb",
    ]


def test_what_comes_before_the_first_heading_is_a_text() -> None:
    assert texts_of("Words before\n\nI\n\na", "headings") == ["Words before", "I\n\na"]


def test_a_file_without_headings_and_blank_lines_is_one_text() -> None:
    assert texts_of("\na\n\nb\n", "blank lines") == texts_of("\na\n\nb\n", "headings") == ["a\n\nb"]


@pytest.mark.parametrize("texts", ["blank lines", "headings"])
@pytest.mark.parametrize("content", ["", "\n \n\n\n\n"])
def test_a_file_without_text_is_skipped_with_its_reason(tmp_path: Path, content: str, texts: DocumentEnd) -> None:
    assert records(tmp_path, content, texts) == [Skipped("empty text", 0, "a.txt")]


@pytest.mark.parametrize(
    "line", ["THE TYGER", "XIV", "xiv. no", "I.", "12", "[3]", "4.) ", "O THOU, 2!", "\u00c9T\u00c9"]
)
def test_capitals_and_numbers_are_headings(line: str) -> None:
    assert is_heading(line) == (line != "xiv. no")


@pytest.mark.parametrize("line", ["", "  ", "* * *", "The Tyger", "4 and 20", "\u5e8a\u524d\u660e\u6708\u5149", "..."])
def test_other_lines_are_none(line: str) -> None:
    assert not is_heading(line)


@given(
    content=st.lists(st.sampled_from(["\n", "\n\n\n", "\r\n", " ", "I", "II\n", "12", "a b", "X Y\n\n"]), max_size=20),
    texts=st.sampled_from(["blank lines", "headings"]),
)
def test_every_visible_character_is_in_one_text_and_lines_are_counted_right(
    content: list[str], texts: DocumentEnd
) -> None:
    whole = "".join(content)

    found = list(cut(whole, texts))

    assert "".join("".join(text for _, text in found).split()) == "".join(whole.split())
    for line, text in found:
        rest = whole.split("\n")[line - 1 :]
        assert "\n".join(rest).startswith(text)
