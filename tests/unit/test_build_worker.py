import json
import os
from multiprocessing import Pipe
from threading import Event, Thread

import pytest
from made_threads import PATIENCE_SECONDS

from headway.data import worker
from headway.data.engine_check import Choice
from headway.data.shards import Job, Marker, Recipe, plan_jobs, read_marker
from headway.data.sources import find_sources, split_sources
from headway.errors import DataError

# Leaving a thread by SystemExit is how these tests see that a worker would have ended its process.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture
def builder(monkeypatch):
    """The builder's end of a connection to a worker that runs in a thread, and ends as soon as the builder is gone."""
    left = Event()

    def leave(code):
        left.set()
        raise SystemExit(code)

    monkeypatch.setattr(worker.os, "_exit", leave)
    ours, theirs = Pipe()
    thread = Thread(target=worker.main, args=(os.dup(theirs.fileno()),), daemon=True)
    thread.start()
    theirs.close()
    yield ours
    thread.join(PATIENCE_SECONDS)
    ours.close()
    assert left.wait(PATIENCE_SECONDS)


@pytest.fixture
def recipe(tmp_path):
    return Recipe("text", "whole", None, "bytes", "auto", tmp_path)


def jobs_of(path, text):
    path.write_text(text)
    return plan_jobs(split_sources(find_sources([str(path)], folder=path.parent)), shard_bytes=1 << 20)


def test_a_worker_asks_makes_a_shard_and_says_when_it_is_durable(builder, recipe, tmp_path):
    (job,) = jobs_of(tmp_path / "c.jsonl", json.dumps({"text": "four"}))
    builder.send(worker.Start(recipe, tmp_path))
    assert builder.recv() == worker.Ready()
    builder.send(job)
    answers = [builder.recv(), builder.recv()]
    builder.send(None)

    (marker,) = [answer for answer in answers if isinstance(answer, Marker)]
    assert (marker.shard.documents, marker.shard.tokens) == (1, 4)
    assert read_marker(tmp_path, job.name) == marker


def test_a_worker_reports_what_a_user_can_mend(builder, recipe, tmp_path):
    (job,) = jobs_of(tmp_path / "c.jsonl", "{broken")
    builder.send(worker.Start(recipe, tmp_path))
    builder.recv()
    builder.send(job)
    failure = builder.recv()

    assert failure.kind is DataError
    assert "c.jsonl" in failure.message


def test_a_worker_reports_a_defect_with_its_traceback(builder, recipe, tmp_path):
    builder.send(worker.Start(recipe, tmp_path))
    builder.recv()
    builder.send(Job(0, ("no part",), 1))
    failure = builder.recv()

    assert failure.kind is None
    assert "Traceback" in failure.message


def test_a_worker_can_choose_the_engine_instead(builder, recipe, tmp_path):
    (job,) = jobs_of(tmp_path / "c.jsonl", json.dumps({"text": "four"}))
    builder.send(worker.Check(recipe, job.parts))

    assert builder.recv() == Choice("python")
