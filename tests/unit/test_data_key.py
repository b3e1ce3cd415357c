"""What names a Dataset when a setting is newer than others."""

from headway.data.build import build
from headway.data.config import DataSection
from headway.data.key import key_of


def test_both_ways_between_files_and_texts_are_a_change_that_is_said(tmp_path):
    (tmp_path / "a.txt").write_text("I\n\na\n\nII\n\nb")
    sections = [DataSection(sources=("a.txt",), tokenizer="bytes", texts=texts) for texts in ("headings", "file")]

    there = [build(section, folder=tmp_path, cache=tmp_path / "there") for section in sections]
    back = [build(section, folder=tmp_path, cache=tmp_path / "back") for section in reversed(sections)]

    assert [dataset.documents for dataset in there] == [2, 1]
    assert [dataset.report.changed for dataset in there if dataset.report] == [(), ("texts changed: headings -> file",)]
    assert [dataset.report.changed for dataset in back if dataset.report] == [(), ("texts changed: file -> headings",)]


def test_a_setting_that_is_new_leaves_the_name_of_older_datasets_as_it_was():
    tokenizer = {"name": "words", "digest": "d" * 16}

    key = key_of(DataSection(sources=("a",)), [], tokenizer=tokenizer)

    assert key.digest == "d1406831ba71f455b369145b4ffa628e"
    assert key_of(DataSection(sources=("a",), texts="headings"), [], tokenizer=tokenizer).digest != key.digest
