"""What holds for any cut of any file, and for any text."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data import arrays
from headway.data.config import Split
from headway.data.read import read_part
from headway.data.segment import segments
from headway.data.sources import Document, Part, find_sources, split_sources

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
RECORDS = st.one_of(
    TEXTS,
    st.builds(lambda text, extra: {"text": text, "extra": extra}, TEXTS, st.integers()),
    st.just({"other": 1, "text": None}),
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\n\n", " \n"])


@st.composite
def jsonl_files(draw: st.DrawFn) -> bytes:
    records = draw(st.lists(RECORDS, max_size=12))
    ascii = draw(st.booleans())
    lines = [json.dumps(record, ensure_ascii=ascii) + draw(LINE_ENDS) for record in [{"text": "first"}, *records]]
    content = "".join(lines).encode()
    return content.rstrip() if draw(st.booleans()) else content


@given(content=jsonl_files(), part_bytes=st.integers(1, 120))
def test_any_cut_of_json_lines_gives_the_records_of_the_whole(content: bytes, part_bytes: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(content)
        [source] = find_sources("a.jsonl", folder=Path(folder))
        whole = list(read_part(Part(source, 0, len(content), len(content)), "text"))

        cut = [list(read_part(part, "text")) for part in split_sources([source], part_bytes=part_bytes)]

    together = [record._replace(index=0) for records in cut for record in records]
    assert together == [record._replace(index=0) for record in whole]
    assert [record.index for records in cut for record in records] == [n for r in cut for n in range(len(r))]
    assert len(whole) == len(content.removesuffix(b"\n").split(b"\n"))


@given(
    records=st.lists(RECORDS, max_size=8),
    indent=st.sampled_from([None, 2]),
    ascii=st.booleans(),
    block=st.integers(1, 50),
)
def test_an_array_read_through_any_window_gives_its_texts(
    records: list[object], indent: int | None, ascii: bool, block: int
) -> None:
    items = [{"text": "first"}, *records]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "a.json").write_text(json.dumps(items, indent=indent, ensure_ascii=ascii), "utf-8")
        patch.setattr(arrays, "BLOCK", block)
        [part] = split_sources(find_sources("a.json", folder=Path(folder)))

        found = list(read_part(part, "text"))

    texts = [item["text"] if isinstance(item, dict) else item for item in items]
    assert [record.text for record in found if isinstance(record, Document)] == [text for text in texts if text]
    assert [record.index for record in found] == list(range(len(items)))


HEADINGS = ["#", "# ", "12. ", "Section 3", ":", "Chapter IV", "CHAPTER Ten"]
PIECES = st.lists(st.sampled_from([*"\n\n\r x.", "\u3000", "\x1c", "some words here", *HEADINGS]), max_size=25)
KATO_HEADINGS = {
    "article": r"\n\s*(?:#+\s+|\d+\.\s+|Section\s+\d+[:\n])",
    "book": r"\n\s*(?:Chapter|CHAPTER)\s+(?:\d+|[IVX]+|One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten)\s*[:\n]",
}


@given(pieces=PIECES, split=st.sampled_from(["simple", "article", "book"]))
def test_segments_are_those_of_katos_own_expressions(pieces: list[str], split: Split) -> None:
    text = "".join(pieces)
    sections = re.split(KATO_HEADINGS[split], text) if split in KATO_HEADINGS else [text]
    paragraphs = [piece.strip() for section in sections if section.strip() for piece in re.split(r"\n\s*\n", section)]

    assert segments(text, split) == [paragraph for paragraph in paragraphs if len(paragraph) >= 10]
