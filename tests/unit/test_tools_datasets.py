"""Data sets by name or path."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.data.address import parse_address
from headway.errors import DataError, PlanError
from headway.tools import StreamingDatasetLoader
from headway.tools.datasets import NAMED, find_corpus

TEXTS = ["a text that counts", "short", "another text that counts", "", "a third text that counts"]
LONG = [text for text in TEXTS if len(text) > 10]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "some.texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the package `datasets` is not installed."""
    monkeypatch.setattr("headway.tools.datasets.find_spec", lambda _: None)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As where Hugging Face answers; the addresses that were asked."""
    asked: list[str] = []

    def batches(address: Any, column: str, name: str) -> Iterator[dict[str, list[Any]]]:
        asked.append(name)
        yield {column: TEXTS}

    monkeypatch.setattr("headway.tools.datasets.find_spec", lambda _: SimpleNamespace(origin="here"))
    monkeypatch.setattr("headway.data.hub._batches", batches)
    return asked


def load(key: str, most: int | None = None) -> list[str]:
    samples = list(StreamingDatasetLoader.load_streaming(key, most))
    assert all(list(sample.keys()) == ["text"] for sample in samples)
    return [sample["text"] for sample in samples]


@pytest.mark.parametrize("key", ["some.texts.jsonl", "./some.texts.jsonl", "*.jsonl", "."])
def test_a_path_a_glob_or_a_folder_gives_the_samples_that_count(key: str) -> None:
    assert load(key) == LONG


def test_an_absolute_path_is_found_from_anywhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")

    assert load(str(here / "some.texts.jsonl")) == LONG


def test_at_most_so_many_samples_are_read() -> None:
    assert [load("some.texts.jsonl", most) for most in (1, 2, 9)] == [LONG[:1], LONG[:2], LONG]
    with pytest.raises(PlanError, match="max_samples: 1 problem\n  - should be 1 or more"):
        load("some.texts.jsonl", 0)


def test_a_named_data_set_is_streamed_where_that_is_possible(online: list[str]) -> None:
    assert load("wikitext", 2) == LONG[:2]
    assert load("refinedweb") == LONG
    assert set(online) == {NAMED["wikitext"], NAMED["refinedweb"]}


def test_an_address_is_taken_as_it_is(online: list[str]) -> None:
    assert load("hf://owner/name?split=test") == LONG
    assert online == ["hf://owner/name?split=test"]
    assert find_corpus("hf://owner/name?split=test").label == "name"


@pytest.mark.usefixtures("offline")
def test_a_file_of_that_name_stands_in_for_a_named_data_set(here: Path) -> None:
    (here / "c4").mkdir()
    (here / "c4" / "part.jsonl").write_text(json.dumps({"text": LONG[0]}))

    assert load("c4") == LONG[:1]
    assert find_corpus("c4").label == "c4"


def test_so_it_does_where_hugging_face_does_not_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Iterator[Any]:
        raise DataError("no network")
        yield

    monkeypatch.setattr("headway.tools.datasets.find_spec", lambda _: SimpleNamespace(origin="here"))
    monkeypatch.setattr("headway.data.hub._batches", fail)
    with pytest.raises(DataError, match=r"hf://allenai/c4/en: no network. Nor is there a file, folder or glob .*c4;"):
        load("c4")
    (here / "c4").mkdir()
    (here / "c4" / "part.jsonl").write_text(json.dumps({"text": LONG[0]}))

    assert load("c4") == LONG[:1]


@pytest.mark.usefixtures("offline")
def test_one_message_says_what_to_install_and_what_was_looked_for(here: Path) -> None:
    with pytest.raises(DataError) as refused:
        load("wikitext")

    said = str(refused.value)
    assert "pip install 'headway[hub]'" in said
    assert str(here / "wikitext") in said
    assert "hf://Salesforce/wikitext/wikitext-103-raw-v1" in said


def test_a_folder_called_datasets_is_not_taken_for_the_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (spec := find_spec("datasets")) is not None and spec.origin is not None:
        pytest.skip("the package datasets is installed")
    (here / "datasets").mkdir()
    monkeypatch.syspath_prepend(str(here))
    assert find_spec("datasets") is not None

    with pytest.raises(DataError, match="is not installed"):
        load("wikitext")


@pytest.mark.parametrize("key", ["wikitest", "no/such/file.jsonl", "*.nothing"])
def test_an_unknown_name_lists_the_known_ones(here: Path, key: str) -> None:
    with pytest.raises(DataError) as refused:
        load(key)

    said = str(refused.value)
    assert str(here / key) in said
    assert "openwebtext" in said
    assert ("did you mean 'wikitext'?" in said) == (key == "wikitest")


@pytest.mark.parametrize("address", NAMED.values())
def test_every_named_address_can_be_parsed(address: str) -> None:
    assert "/" in parse_address(address).name


@pytest.mark.parametrize(("key", "label"), [("some.texts.jsonl", "some"), ("*.jsonl", "data"), (".", "data")])
def test_a_corpus_is_called_by_its_file(key: str, label: str) -> None:
    assert find_corpus(key).label == label
