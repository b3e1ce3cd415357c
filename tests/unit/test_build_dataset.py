import errno
import json
from pathlib import Path

import numpy as np
import psutil
import pytest

from headway.data import build as build_module
from headway.data import shards, site
from headway.data.build import BuildStopped, build
from headway.data.config import DataSection
from headway.data.lock import BuildLock
from headway.data.site import _Shift
from headway.data.worker import Start
from headway.errors import DataError, RunError

TEXTS = [f"document {number} " + "word " * (number % 7) + "\n\nIts second paragraph." for number in range(60)]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(build_module, "SHARD_BYTES", 600)
    monkeypatch.setattr(site, "BYTES_PER_HIRE", {})


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def built(corpus, cache="cache", *, workers=1, progress=None, stop=None, memory=None, **settings):
    section = DataSection(sources=(str(corpus),), **{"tokenizer": "bytes", **settings})
    folder = Path(corpus).parent
    return build(
        section, folder=folder, cache=folder / cache, workers=workers, memory=memory, progress=progress, stop=stop
    )


@pytest.fixture
def idle_builder(monkeypatch):
    """A builder that leaves all work to its workers: a small corpus is done before they have started."""
    take = _Shift._next
    monkeypatch.setattr(_Shift, "_next", lambda shift: take(shift) if len(shift._jobs) == 1 else None)


def texts_of(dataset):
    rows = dataset.read(slice(0, dataset.documents))
    pieces = zip(rows.starts[:-1], rows.starts[1:], strict=True)
    return [dataset.vocabulary.decode(rows.ids[start:stop].tolist()) for start, stop in pieces]


@pytest.fixture
def broken(tmp_path):
    lines = [json.dumps({"text": text}) for text in TEXTS]
    lines[50] = "{broken"
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join(lines))
    return path


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_dataset_holds_every_document_in_order(corpus):
    dataset = built(corpus)

    assert texts_of(dataset) == TEXTS
    assert len(dataset.manifest.shards) > 5


@pytest.mark.parametrize("settings", [{}, {"tokenizer": "words", "split": "simple"}, {"documents": 17}])
def test_the_number_of_workers_changes_no_byte(corpus, settings):
    alone = built(corpus, "one", **settings)
    together = built(corpus, "three", workers=3, **settings)

    assert content(alone.folder) == content(together.folder)
    assert alone.key == together.key


@pytest.mark.parametrize("settings", [{}, {"tokenizer": "words", "split": "article"}, {"documents": 17}])
def test_workers_alone_build_the_same(corpus, settings, request):
    alone = built(corpus, "one", **settings)
    request.getfixturevalue("idle_builder")

    assert content(built(corpus, "three", workers=3, **settings).folder) == content(alone.folder)


def test_nothing_but_the_dataset_remains(corpus, tmp_path):
    dataset = built(corpus, tokenizer="words")

    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == [dataset.key]
    assert {path.suffix for path in (dataset.folder / "shards").iterdir()} == {".npy"}
    assert not list((tmp_path / "cache").glob("*.lock"))


def test_a_second_build_opens_the_first(corpus):
    first = built(corpus)
    second = built(corpus)

    assert first.report is not None and not first.report.reused
    assert second.report is not None and second.report.reused
    assert second.folder == first.folder


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"tokenizer": "words"}, "tokenizer changed: bytes"),
        ({"split": "simple"}, "split changed: whole -> simple"),
        ({"max_tokens": 5}, "max_tokens changed: not set -> 5"),
        ({"documents": 5}, "documents changed: not set -> 5"),
    ],
)
def test_a_miss_says_which_component_changed(corpus, settings, line):
    built(corpus)
    report = built(corpus, **settings).report

    assert report is not None
    assert len(report.changed) == 1
    assert report.changed[0].startswith(line)


def test_a_miss_says_which_source_changed(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "first"}\n')
    built(folder)
    (folder / "b.jsonl").write_text('{"text": "second"}\n')
    added = built(folder).report
    (folder / "b.jsonl").write_text('{"text": "changed"}\n')
    altered = built(folder).report
    (folder / "a.jsonl").rename(folder / "c.jsonl")
    reordered = built(folder).report

    assert added is not None and added.changed == ("sources changed: 1 added",)
    assert altered is not None and altered.changed == ("sources changed: other content in corpus/b.jsonl",)
    assert reordered is not None and reordered.changed[0].startswith("sources changed: ")


def test_a_renamed_corpus_is_the_same_dataset(corpus, tmp_path):
    first = built(corpus)
    moved = built(corpus.rename(tmp_path / "moved.jsonl"))

    assert moved.folder == first.folder


def test_skipped_documents_are_counted_by_reason(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "kept"}\n{"text": "  "}\n{"text": ""}\n{"other": 1}\n{"text": "kept too"}\n')
    dataset = built(path)

    assert dataset.documents == 2
    assert sum(dataset.skipped.values()) == 3
    assert dataset.skipped["no text"] >= 1


def test_a_simple_document_without_paragraphs_is_kept_empty(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "a b c\\n\\nd e f\\n\\ng h"}\n{"text": "a long enough paragraph"}\n')
    dataset = built(path, split="simple")

    assert dataset.document_lengths().tolist() == [0, 23]
    assert dataset.skipped == {}


def test_an_article_without_paragraphs_is_skipped(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "a b c\\n\\nd e f\\n\\ng h"}\n{"text": "a long enough paragraph"}\n')
    dataset = built(path, split="article")

    assert dataset.document_lengths().tolist() == [23]
    assert dataset.skipped == {"no paragraph": 1}


def test_segments_are_kept_apart_and_cut(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "first paragraph\\n\\nsecond one, longer"}\n{"text": "only paragraph"}\n')
    dataset = built(path, split="simple", max_tokens=12)
    rows = dataset.read(slice(0, 2))

    assert rows.starts.tolist() == [0, 24, 36]
    assert rows.breaks is not None
    assert rows.breaks.tolist() == [0, 12, 24, 36]
    assert dataset.vocabulary.decode(rows.ids.tolist()) == "first paragrsecond one, only paragra"


def test_a_segment_without_tokens_is_no_segment(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "one two three four\\n\\n....................\\n\\nfive six seven"}\n')
    dataset = built(path, split="simple", tokenizer="words:[a-z]+")
    rows = dataset.read(slice(0, 1))

    assert rows.breaks is not None
    assert rows.breaks.tolist() == [0, 4, 7]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("limit", [1, 7, 59, 60, 1000])
def test_a_limit_keeps_exactly_the_first_documents(corpus, workers, limit):
    assert texts_of(built(corpus, documents=limit, workers=workers)) == TEXTS[:limit]


def test_a_limit_reads_no_further_than_it_must(corpus):
    seen = []
    built(corpus, documents=3, progress=seen.append)

    assert max(progress.shards_done for progress in seen) == 1


def test_words_get_one_vocabulary_in_code_point_order(corpus):
    dataset = built(corpus, tokenizer="words", workers=2)

    assert dataset.vocabulary.symbols == sorted({word for text in TEXTS for word in text.split()})
    assert texts_of(dataset) == [" ".join(text.split()) for text in TEXTS]
    assert dataset.dtype == np.uint16


def test_many_small_files_share_shards(tmp_path):
    (tmp_path / "texts").mkdir()
    for number in range(50):
        (tmp_path / "texts" / f"{number:02d}.txt").write_text(f"text number {number}")
    dataset = built(tmp_path / "texts")

    assert texts_of(dataset) == [f"text number {number}" for number in range(50)]
    assert len(dataset.manifest.shards) == 2


def test_a_corpus_without_a_usable_document_is_an_error(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": " "}\n{"text": "\\n"}\n')

    with pytest.raises(DataError, match="none of 2 documents can be used"):
        built(path)
    assert not list((tmp_path / "cache").glob("*.partial"))


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "c.jsonl").write_text("")

    with pytest.raises(DataError, match="no document at all"):
        built(tmp_path / "c.jsonl")


@pytest.mark.parametrize("workers", [1, 3])
def test_a_stopped_build_continues_where_it_was(corpus, workers):
    done = []

    with pytest.raises(BuildStopped, match="shards are kept"):
        built(corpus, "cache", workers=workers, progress=done.append, stop=lambda: any(p.shards_done > 3 for p in done))
    dataset = built(corpus, "cache", workers=workers)

    assert dataset.report is not None
    assert dataset.report.shards_kept > 3
    assert content(dataset.folder) == content(built(corpus, "fresh").folder)


def test_shards_that_a_power_failure_damaged_are_made_again(corpus, tmp_path):
    done = []
    with pytest.raises(BuildStopped):
        built(corpus, progress=done.append, stop=lambda: any(progress.shards_done > 4 for progress in done))
    shards = next((tmp_path / "cache").glob("*.partial")) / "shards"
    markers = sorted(shards.glob("*.done"))
    (shards / markers[0].name.replace(".done", ".tokens.npy")).write_bytes(b"")
    markers[1].write_text("{")
    markers[2].write_text("{}")

    assert content(built(corpus).folder) == content(built(corpus, "fresh").folder)


def test_a_build_killed_before_its_last_step_is_put_in_place(corpus, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "put_in_place", lambda folder, home: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            built(corpus, tokenizer="words")

    dataset = built(corpus, tokenizer="words")

    assert content(dataset.folder) == content(built(corpus, "fresh", tokenizer="words").folder)


def test_a_second_builder_waits_for_the_first(corpus, tmp_path):
    key = built(corpus, "elsewhere").key
    (tmp_path / "cache").mkdir()
    stages = []

    with BuildLock(tmp_path / "cache" / f"{key}.lock") as lock:
        assert lock.take()
        with pytest.raises(BuildStopped, match="another process"):
            built(corpus, progress=lambda progress: stages.append(progress.stage), stop=lambda: len(stages) > 2)
    assert stages == ["checking", "waiting", "waiting"]
    assert built(corpus).documents == 60


def test_a_builder_that_waited_takes_what_the_other_built(corpus, tmp_path):
    other = built(corpus, "elsewhere")
    (tmp_path / "cache").mkdir()
    lock = BuildLock(tmp_path / "cache" / f"{other.key}.lock")
    assert lock.take()

    def finish_the_other(progress):
        if progress.stage == "waiting" and other.folder.exists():
            other.folder.rename(tmp_path / "cache" / other.key)
            lock.release()

    report = built(corpus, progress=finish_the_other).report

    assert report is not None and report.reused


def test_a_lock_is_held_by_one(tmp_path):
    first, second = BuildLock(tmp_path / "l"), BuildLock(tmp_path / "l")

    assert first.take()
    assert not second.take()
    first.release()
    assert second.take()
    second.release()
    with pytest.raises(ValueError, match="not held"):
        _ = first.descriptor


@pytest.mark.parametrize("workers", [1, 3])
def test_a_bad_line_is_an_error_that_names_it(broken, workers):
    with pytest.raises(DataError, match=r"c\.jsonl.*line 51"):
        built(broken, workers=workers)


def test_an_error_in_a_worker_is_the_builders_error(broken, idle_builder):
    with pytest.raises(DataError, match=r"c\.jsonl.*line 51"):
        built(broken, workers=3)


def test_a_defect_in_a_worker_shows_its_traceback(corpus, idle_builder, monkeypatch):
    monkeypatch.setattr("headway.data.site.Start", lambda recipe, folder: Start(recipe, None))

    with pytest.raises(RuntimeError, match=r"(?s)build worker failed.*Traceback"):
        built(corpus, workers=2)


def test_a_worker_that_is_killed_is_named_and_what_is_done_is_kept(corpus, idle_builder):
    def kill_workers(progress):
        if progress.shards_done == 2:
            for child in psutil.Process().children():
                child.kill()

    with pytest.raises(RunError, match=r"was killed by SIGKILL.*run the same command to continue"):
        built(corpus, workers=3, progress=kill_workers)


def test_a_disk_that_is_full_keeps_what_is_done(corpus, monkeypatch):
    done = []

    def full(folder, marker, paths):
        if len(done) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(marker)
        shards.make_durable(folder, marker, paths)

    with monkeypatch.context() as patch:
        patch.setattr("headway.data.maker.make_durable", full)
        with pytest.raises(RunError, match=r"the disk is full.*shards that are complete are kept"):
            built(corpus)

    dataset = built(corpus)
    assert dataset.report is not None and dataset.report.shards_kept == 3


def test_little_memory_means_fewer_workers(corpus, monkeypatch):
    hired = []
    monkeypatch.setattr("headway.data.site.Crew.hire", lambda crew, order: hired.append(order))
    built(corpus, workers=8, memory=1)

    assert hired == []


def test_a_small_corpus_starts_no_worker(corpus, monkeypatch):
    monkeypatch.setattr(site, "BYTES_PER_HIRE", {"python": 1 << 20})
    monkeypatch.setattr("headway.data.site.Crew.hire", lambda crew, order: pytest.fail("not worth it"))

    assert built(corpus, workers=8).documents == 60


def test_an_unwritable_cache_says_so(corpus, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises((RunError, DataError), match="file"):
        built(corpus, "file/cache")
