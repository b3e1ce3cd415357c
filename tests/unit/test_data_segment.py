"""How documents are cut, against what kato-lm does and what it was recorded to do."""

import gzip
import json
from pathlib import Path

import pytest

from headway.data.config import Split
from headway.data.segment import counts, segments

GOLDEN = Path(__file__).parents[3] / "shared" / "golden" / "kato"


def golden_lines(name: str) -> list[dict[str, str]]:
    opener = gzip.open if name.endswith(".gz") else open
    with opener(GOLDEN / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden data of KATO is not beside this checkout")
def test_simple_gives_exactly_the_paragraphs_kato_recorded() -> None:
    samples = [line["text"] for name in ("samples_50.jsonl", "corner_samples.jsonl") for line in golden_lines(name)]

    found = {paragraph: None for text in samples for paragraph in segments(text, "simple")}

    assert list(found) == [line["text"] for line in golden_lines("tokens.jsonl.gz")]


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden data of KATO is not beside this checkout")
def test_the_two_short_golden_samples_do_not_count_though_one_is_a_paragraph() -> None:
    samples = [line["text"] for name in ("samples_50.jsonl", "corner_samples.jsonl") for line in golden_lines(name)]

    refused = [text for text in samples if not counts(text, "simple")]

    assert refused == ["short", "0123456789"]
    assert [segments(text, "simple") for text in refused] == [[], ["0123456789"]]


def test_whole_keeps_the_text_as_it_is() -> None:
    text = "  a\r\n\n b \n"

    assert segments(text, "whole") == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first paragraph\r\n\r\nsecond paragraph", ["first paragraph", "second paragraph"]),
        ("first paragraph\n\u3000\x1c\nsecond paragraph\u2028", ["first paragraph", "second paragraph"]),
        ("one line\nof a paragraph", ["one line\nof a paragraph"]),
        ("nine char\n\nten chars!", ["ten chars!"]),
        ("        tiny       \n\n", []),
    ],
)
def test_simple_cuts_at_lines_of_white_space_and_drops_what_is_short(text: str, expected: list[str]) -> None:
    assert segments(text, "simple") == expected


def test_an_article_is_cut_at_headings_which_are_dropped() -> None:
    text = "# not a heading, no break before\nbody of the start\n## Title one\nbody of one\n1. body of two"
    text += "\nSection 3:body of three"

    assert segments(text, "article") == [
        "# not a heading, no break before\nbody of the start",
        "Title one\nbody of one",
        "body of two",
        "body of three",
    ]


def test_a_book_is_cut_at_its_chapters() -> None:
    text = "preface text\nChapter One\nin the beginning\n\n  CHAPTER IV :\nin the middle\nChapter the last\n"

    assert segments(text, "book") == ["preface text", "in the beginning", "in the middle\nChapter the last"]


@pytest.mark.parametrize("split", ["simple", "article", "book"])
def test_a_document_of_line_breaks_takes_no_quadratic_time(split: Split) -> None:
    # Trying a heading at each of these line breaks would take hours.
    text = "a first paragraph" + "\n" * 1_000_000 + "a last paragraph"

    assert segments(text, split) == ["a first paragraph", "a last paragraph"]


@pytest.mark.parametrize(
    ("text", "split", "expected"),
    [
        ("0123456789", "simple", False),
        ("01234567890", "simple", True),
        ("  0123456789  ", "book", False),
        ("x", "whole", True),
        (" \n\u00a0", "whole", False),
        ("", "whole", False),
    ],
)
def test_a_document_counts_if_it_has_enough_text(text: str, split: Split, expected: bool) -> None:
    assert counts(text, split) is expected
