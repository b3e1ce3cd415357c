"""Poems through a whole build, from every kind of file."""

import json
from pathlib import Path

import pytest

from headway.data import build as build_module
from headway.data import site
from headway.data.build import build
from headway.data.config import DataSection
from headway.data.dataset import Dataset
from headway.data.site import _Shift
from headway.data.verse import SPECIALS, pieces
from headway.data.written import written

POEMS = [
    f"The rose's {number} lights,\nlook'd <PAD> on \u2665\n\nand {word}"
    for number, word in enumerate(["wither'd", "Zest", "\u00e9t\u00e9", "e\u0301te\u0301", "air"] * 6)
]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_module, "SHARD_BYTES", 300)
    monkeypatch.setattr(site, "BYTES_PER_HIRE", {})


@pytest.fixture
def idle_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A builder that leaves all work to its workers."""
    take = _Shift._next
    monkeypatch.setattr(_Shift, "_next", lambda shift: take(shift) if len(shift._jobs) == 1 else None)


def built(folder: Path, name: str, cache: str = "cache", *, workers: int = 1, **settings: str) -> Dataset:
    section = DataSection(sources=(name,), tokenizer="verse", **settings)  # type: ignore[arg-type]
    return build(section, folder=folder, cache=folder / cache, workers=workers)


def rows(dataset: Dataset) -> list[list[int]]:
    found = dataset.read(slice(0, dataset.documents))
    return [found.ids[a:b].tolist() for a, b in zip(found.starts[:-1], found.starts[1:], strict=True)]


def content(dataset: Dataset) -> dict[str, bytes]:
    """Every file but the manifest, which names the sources."""
    paths = (path for path in sorted(dataset.folder.rglob("*")) if path.is_file())
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture
def poems(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": poem}) for poem in POEMS))
    (tmp_path / "a.json").write_text(json.dumps([{"text": poem, "title": "x"} for poem in POEMS], ensure_ascii=False))
    (tmp_path / "lines.json").write_text(json.dumps([{"lines": poem.split("\n"), "number": 1} for poem in POEMS]))
    (tmp_path / "a.txt").write_text("\n\n\n".join(POEMS) + "\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "settings"),
    [("a.jsonl", {}), ("a.json", {}), ("lines.json", {"field": "lines"}), ("a.txt", {"texts": "blank lines"})],
)
def test_every_kind_of_file_gives_the_same_poems(poems: Path, name: str, settings: dict[str, str]) -> None:
    dataset = built(poems, name, **settings)

    symbols = dataset.vocabulary.symbols
    assert [[symbols[number] for number in row] for row in rows(dataset)] == [
        [piece.symbol for piece in pieces(poem)] for poem in POEMS
    ]
    assert symbols[:13] == list(SPECIALS)
    assert symbols[13:] == sorted(symbols[13:])
    assert (dataset.vocabulary.specials, dataset.vocabulary.spelling) == (13, "verse")
    assert dataset.vocabulary.decode(rows(dataset)[0]) == written(piece.symbol for piece in pieces(POEMS[0]))


@pytest.mark.parametrize(("name", "settings"), [("a.jsonl", {}), ("*.txt", {"texts": "blank lines"})])
def test_the_number_of_workers_changes_no_byte(
    poems: Path, name: str, settings: dict[str, str], request: pytest.FixtureRequest
) -> None:
    (poems / "b.txt").write_text("I\n\none more\n\nII\n\nanother")
    alone = built(poems, name, "one", **settings)
    request.getfixturevalue("idle_builder")

    together = built(poems, name, "two", workers=2, **settings)

    assert len(alone.manifest.shards) > 1
    assert content(alone) == content(together)


def test_special_ids_are_those_of_every_dataset_whatever_occurs(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "only words"}')

    dataset = built(tmp_path, "a.jsonl")

    assert rows(dataset) == [[5, 13, 14, 6]]
    assert dataset.vocabulary.symbols == [*SPECIALS, "only", "words"]


def test_rejected_poems_are_counted_by_reason(tmp_path: Path) -> None:
    lines = ['{"lines": ["a"]}', '{"lines": []}', '{"lines": ["", " "]}', '{"lines": [1]}', "", '{"title": "b"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))

    dataset = built(tmp_path, "a.jsonl", field="lines")

    assert dataset.documents == 1
    assert dataset.skipped == {
        "blank line": 1,
        "empty text": 1,
        "field 'lines' is a list, not text": 1,
        "no field 'lines'": 1,
        "no text": 1,
    }
