"""What is said of a dataset that is built anew: which sources are not those of the one before."""

from pathlib import Path

import pytest

from headway.data.build import build
from headway.data.config import DataSection


class Corpus:
    """Files, and what a build of them says is different."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, **texts: str) -> None:
        (self.folder / "corpus").mkdir(exist_ok=True)
        for name, text in texts.items():
            (self.folder / "corpus" / f"{name}.jsonl").write_text(f'{{"text": "{text}"}}\n')

    def changes(self, source: str = "corpus", *, seen_from: str = ".") -> tuple[str, ...]:
        section = DataSection(sources=(source,), tokenizer="bytes")
        report = build(section, folder=self.folder / seen_from, cache=self.folder / "datasets").report
        assert report is not None
        return report.changed


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    made = Corpus(tmp_path)
    made.write(**{name: f"document {name}" for name in "abcde"})
    made.changes()
    return made


def test_a_file_that_was_edited_is_named_from_wherever_it_was_read_before(corpus: Corpus) -> None:
    """A dataset keeps the names that its first builder had for the files; what is in them decides."""
    (corpus.folder / "elsewhere").mkdir()
    corpus.write(b="edited")

    changes = corpus.changes("../corpus", seen_from="elsewhere")

    assert changes == ("sources changed: other content in ../corpus/b.jsonl",)


def test_of_many_edited_files_three_are_named_and_the_rest_is_counted(corpus: Corpus) -> None:
    corpus.write(**{name: f"new {name}" for name in "abcde"})

    assert corpus.changes() == (
        "sources changed: other content in corpus/a.jsonl, corpus/b.jsonl, corpus/c.jsonl and 2 more",
    )


def test_a_file_that_was_moved_and_edited_is_the_one_of_its_name(corpus: Corpus) -> None:
    (corpus.folder / "corpus" / "a.jsonl").unlink()
    (corpus.folder / "corpus" / "deeper").mkdir()
    corpus.write(**{"deeper/a": "edited", "f": "another", "e": "document e"})

    assert corpus.changes() == ("sources changed: other content in corpus/deeper/a.jsonl, 1 added",)


def test_the_dataset_compared_with_is_the_one_with_the_fewest_other_sources(corpus: Corpus) -> None:
    said: list[tuple[str, ...]] = []
    for number in range(6):
        corpus.write(a=f"text {number}")
        said.append(corpus.changes())
        corpus.write(c=f"text {number}")
        corpus.changes()

    assert set(said) == {("sources changed: other content in corpus/a.jsonl",)}
