import json

import pytest

from headway.data import build as build_module
from headway.data.build import build
from headway.data.config import DataSection
from headway.data.engine_check import Choice
from headway.data.proof import likely, prove
from headway.data.shards import Recipe, plan_jobs
from headway.data.sources import find_sources, split_sources
from headway.errors import TokenizerError


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(build_module, "SHARD_BYTES", 2_000)
    path = tmp_path / "c.jsonl"
    path.write_text(
        "".join(json.dumps({"text": f"It's text {n}, isn't it? <|endoftext|>" * 9}) + "\n" for n in range(40))
    )
    return path


def built(corpus, cache, **settings):
    workers = settings.pop("workers", 1)
    section = DataSection(sources=(str(corpus),), **settings)
    return build(section, folder=corpus.parent, cache=corpus.parent / cache, workers=workers)


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def recipe(corpus, **settings):
    return Recipe(
        **{
            "field": "text",
            "split": "whole",
            "max_tokens": None,
            "tokenizer": "gpt2",
            "engine": "auto",
            "folder": corpus.parent,
        }
        | settings
    )


def test_the_engine_changes_no_byte(corpus):
    fast, reference = built(corpus, "fast"), built(corpus, "reference", engine="tokenizers", workers=2)

    assert reference.report is not None and reference.report.engine == "tokenizers"
    assert fast.key == reference.key
    assert content(fast.folder) == content(reference.folder)


def test_an_engine_that_is_refuted_while_it_works_has_its_shards_made_again(corpus, monkeypatch):
    choice = Choice("tokenizers", {"gigatoken": "it differs"})
    monkeypatch.setattr("headway.data.site.Crew.hire", lambda crew, order: crew._outcomes.put(choice))
    dataset = built(corpus, "cache")

    assert dataset.report is not None
    assert dataset.report.engine == "tokenizers"
    assert dataset.report.notes == ("gigatoken was not used: it differs",)
    monkeypatch.undo()
    monkeypatch.setattr(build_module, "SHARD_BYTES", 2_000)
    assert content(dataset.folder) == content(built(corpus, "other").folder)


def test_a_small_corpus_is_proven_before_it_is_tokenised(corpus, monkeypatch):
    monkeypatch.setattr(build_module, "SHARD_BYTES", 8 << 20)
    monkeypatch.setattr(
        "headway.data.site.prove", lambda recipe, parts, *, loaded: Choice("tokenizers", {"gigatoken": "no"})
    )
    report = built(corpus, "cache").report

    assert report is not None and (report.engine, report.notes) == ("tokenizers", ("gigatoken was not used: no",))


def test_the_proof_reads_the_corpus_itself(corpus, monkeypatch):
    seen = []
    monkeypatch.setattr("headway.data.proof.select_engine", lambda spec, *, sample, **_: seen.extend(sample))
    jobs = plan_jobs(split_sources(find_sources([str(corpus)], folder=corpus.parent)), shard_bytes=1000)
    prove(recipe(corpus), [jobs[0].parts[0]])

    assert len(seen) == 40
    assert seen[0].startswith("It's text 0")


def test_an_engine_that_cannot_load_gives_way_to_the_next(corpus, monkeypatch):
    from headway.data import proof

    def load(spec, *, engine, folder):
        if engine == "gigatoken":
            raise TokenizerError("not here")
        return engine

    monkeypatch.setattr(proof, "load_tokenizer", load)
    assert likely(recipe(corpus)) != "gigatoken"

    monkeypatch.setattr(proof, "BUILDERS", {"gigatoken": None})
    with pytest.raises(TokenizerError, match="no engine can run gpt2: not here"):
        likely(recipe(corpus))


def test_an_unknown_tokenizer_is_refused_before_anything_is_built(corpus):
    with pytest.raises(TokenizerError, match="nothing"):
        built(corpus, "cache", tokenizer="nothing.json")
