import json
from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.lock import Lock
from headway.run.facts import facts

Event = dict[str, Any]


def started(time: float) -> Event:
    return {"time": time, "event": "run_started", "workers": 2, "memory": 100, "dataset": "abc"}


def step(time: float, documents: int) -> Event:
    return {"time": time, "event": "step", "documents": documents, "tokens": 10 * documents, "metrics": {}, "steps": 1}


def saved(time: float) -> Event:
    return {"time": time, "event": "saved", "position": [0, 1], "seconds": 0.1}


def resumed(time: float, documents: int) -> Event:
    return {"time": time, "event": "resumed", "position": [0, 1], "documents": documents, "tokens": 10 * documents}


def finished(time: float, reason: str, **totals: int) -> Event:
    return {"time": time, "event": "finished", "position": [1, 0], "seconds": 1, "reason": reason, "totals": totals}


def record(folder: Path, *events: Event) -> Path:
    (folder / "record.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder


@pytest.mark.parametrize(
    ("reason", "status"), [("complete", "finished"), ("stopped", "stopped"), ("failed", "interrupted")]
)
def test_the_status_is_how_the_last_session_ended(tmp_path: Path, reason: str, status: str) -> None:
    known = facts(record(tmp_path, started(1), step(2, 5), saved(3), finished(4, reason, documents=5)))

    assert (known.status, known.documents, known.tokens, known.seconds) == (status, 5, 50, 3)
    assert (known.totals, known.recorded) == ({"documents": 5}, 4)
    assert (known.workers, known.memory, known.dataset, known.started) == (2, 100, "abc", 1)


def test_a_crash_leaves_what_was_saved(tmp_path: Path) -> None:
    known = facts(record(tmp_path, started(1), step(2, 5), saved(3), step(4, 7)))

    assert (known.status, known.documents) == ("interrupted", 5)


def test_a_locked_folder_is_running_and_shows_every_step(tmp_path: Path) -> None:
    record(tmp_path, started(1), step(2, 5), saved(3), step(4, 7))
    lock = Lock(tmp_path, doing="training")

    known = facts(tmp_path)
    lock.close()

    assert (known.status, known.documents) == ("running", 12)


def test_work_done_twice_counts_once_in_documents_and_twice_in_the_rate(tmp_path: Path) -> None:
    first = [started(0), step(1, 5), saved(2), step(10, 5)]
    second = [started(100), resumed(101, 5), step(102, 5), saved(110), finished(110, "complete")]

    known = facts(record(tmp_path, *first, *second))

    assert (known.documents, known.sessions, known.seconds) == (10, 2, 20)
    assert known.documents_per_second == 15 / (10 + 1)


def test_a_session_that_died_before_it_resumed_loses_nothing(tmp_path: Path) -> None:
    known = facts(record(tmp_path, started(0), step(1, 5), saved(2), started(100)))

    assert known.documents == 5


def test_a_session_at_work_begins_with_what_the_one_before_had_saved(tmp_path: Path) -> None:
    record(tmp_path, started(0), step(1, 5), saved(2), step(3, 7), started(100))
    lock = Lock(tmp_path, doing="training")

    known = facts(tmp_path)
    lock.close()

    assert (known.status, known.documents) == ("running", 5)


def test_a_session_from_the_start_counts_from_the_start(tmp_path: Path) -> None:
    known = facts(record(tmp_path, started(0), step(1, 5), saved(2), started(100), step(101, 3), saved(102)))

    assert known.documents == 3


def test_without_a_record_nothing_is_invented(tmp_path: Path) -> None:
    known = facts(tmp_path)

    assert known.status == "unknown"
    assert "record.jsonl is missing: what the run did is not known" in known.warnings[0]
    unknown = (known.documents, known.tokens, known.seconds, known.sessions, known.started, known.tokens_per_second)
    assert unknown == (None,) * 6
    assert (known.workers, known.memory, known.dataset, known.totals, known.recorded) == (None,) * 5


def test_a_run_that_just_began_is_running_though_nothing_is_known_of_it(tmp_path: Path) -> None:
    lock = Lock(tmp_path, doing="training")

    known = facts(tmp_path)
    lock.close()

    assert (known.status, known.documents, known.warnings) == ("running", None, ())


def test_warnings_are_kept(tmp_path: Path) -> None:
    assert facts(record(tmp_path, started(0), {"time": 1, "event": "warned", "text": "careful"})).warnings == (
        "careful",
    )


def sampled(time: float, *, rss: int, cpu: float, seconds: float = 10.0) -> Event:
    usage = {"seconds": seconds, "sums": {"cpu": cpu}, "peaks": {"rss": rss}}
    return {"time": time, "event": "sampled", "interval": 1.0, "usage": usage, "absent": {"gpu": "there is none"}}


def test_a_run_used_the_most_of_any_session_and_the_mean_of_all(tmp_path: Path) -> None:
    # What a session says later holds for all of it.
    first = (started(0), sampled(1, rss=900, cpu=1.0), sampled(2, rss=900, cpu=16.0), finished(3, "stopped"))
    second = (started(10), sampled(11, rss=400, cpu=8.0), finished(12, "complete"))

    known = facts(record(tmp_path, *first, *second))
    assert (known.peak_memory_bytes, known.peak_shared_once_bytes, known.cpu_cores) == (900, None, 1.2)
    assert known.not_measured == {"gpu": "there is none"}


def test_what_was_never_measured_is_not_zero(tmp_path: Path) -> None:
    known = facts(record(tmp_path, started(1), step(2, 5), finished(4, "complete")))

    assert (known.peak_memory_bytes, known.cpu_cores, known.stages) == (None, None, {})


def test_stages_and_counts_are_those_of_all_sessions(tmp_path: Path) -> None:
    spans = {
        "time": 2,
        "event": "spans",
        "spans": {"step": {"count": 2, "seconds": 3.0, "max": 2.0, "sizes": {"0": 2}}},
    }
    learned = step(2, 5) | {"metrics": {"level0": 30, "loss": [3.0, 2.0]}}

    known = facts(record(tmp_path, *(started(1), learned, spans, finished(3, "stopped")) * 2))
    assert (known.stages["step"]["count"], known.stages["step"]["seconds"]) == (4, 6.0)
    assert known.stages["step"]["median"] == pytest.approx(1.0, rel=0.1)
    assert known.counts_per_second == {"level0": 30.0}


@pytest.mark.parametrize("kind", ["spans", "sampled", "step"])
def test_an_event_that_is_none_is_named(tmp_path: Path, kind: str) -> None:
    broken = {"spans": "text", "usage": [], "absent": {}, "documents": 1, "tokens": 1, "metrics": ["text"]}
    with pytest.raises(RunError, match="line 2: not an event of a run"):
        facts(record(tmp_path, started(1), {"time": 2, "event": kind, **broken}))
