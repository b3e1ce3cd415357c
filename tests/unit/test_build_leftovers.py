"""Builds that meet what others left, or do beside them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headway.data import build as build_module
from headway.data.build import BuildStopped, build
from headway.data.config import DataSection
from headway.data.dataset import open_dataset
from headway.data.digests import digests
from headway.errors import DataError

TEXTS = [f"document {number} " + "word " * (number % 7) + "\n\nIts second paragraph." for number in range(60)]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(build_module, "SHARD_BYTES", 600)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def built(corpus, cache="cache", *, stop=None, tokenizer="words"):
    section = DataSection(sources=(str(corpus),), tokenizer=tokenizer)
    folder = Path(corpus).parent
    return build(section, folder=folder, cache=folder / cache, stop=stop)


def texts_of(dataset):
    rows = dataset.read(slice(0, dataset.documents))
    pieces = zip(rows.starts[:-1], rows.starts[1:], strict=True)
    return [dataset.vocabulary.decode(rows.ids[start:stop].tolist()) for start, stop in pieces]


@pytest.mark.parametrize("kind", ["tokens", "documents"])
def test_a_kept_shard_that_was_damaged_is_made_again(corpus, kind):
    whole = built(corpus, "whole")
    stops = iter([False] * 6 + [True] * 100)
    with pytest.raises(BuildStopped):
        built(corpus, stop=lambda: next(stops))
    (partial,) = (corpus.parent / "cache").glob("*.partial")
    marker = min(partial.glob("shards/*.done"))
    name = "local" if kind == "tokens" else kind
    path = marker.with_name(f"{marker.stem}.{name}.npy")
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    dataset = built(corpus)

    assert texts_of(dataset) == texts_of(whole)
    open_dataset(dataset.folder)


def test_an_empty_file_alone_is_a_corpus_without_documents(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_text("")

    with pytest.raises(DataError, match="hold no document at all"):
        built(path, tokenizer="gpt2")


def test_a_file_whose_name_is_not_utf8_is_named(tmp_path):
    (tmp_path / os.fsdecode(b"n\xff.jsonl")).write_text('{"text": "a"}')

    with pytest.raises(DataError, match=r"the name of .*n\\xff\.jsonl is not UTF-8"):
        built(tmp_path / "*")


def test_builds_beside_each_other_remember_what_all_of_them_found(tmp_path, monkeypatch):
    paths = [tmp_path / f"c{number}.jsonl" for number in range(8)]
    for path in paths:
        path.write_text(json.dumps({"text": path.name}))
        os.utime(path, (1, 1))
    remembered = tmp_path / "cache" / "digests.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: digests([path], remembered=remembered), paths))

    assert set(json.loads(remembered.read_text())) == set(map(str, paths))
