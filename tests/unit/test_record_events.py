"""Events are appended as whole lines, and steps are added up without losing any."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.plan.values import Position
from headway.record.events import Finished, Note, Resumed, RunStarted, Warned
from headway.record.record import STEP_SECONDS, Record, read_record


class Watch:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True)
class Portion:
    documents: int = 2
    tokens: int = 30


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def record(tmp_path: Path, watch: Watch) -> Record:
    return Record(tmp_path / "record.jsonl", clock=watch, timer=watch)


def events(record: Record) -> list[dict[str, Any]]:
    return list(read_record(record.path))


def test_an_event_is_one_line_with_its_time_kind_and_fields(record: Record) -> None:
    record.write(RunStarted("r1", "f0", "d0", 2, 1 << 30, {"cpu": None}, {"headway": "0.1"}))
    record.write(Resumed(Position(1, 20)))
    record.write(Warned("schöne Worte"))

    assert record.path.read_text(encoding="utf-8").count("\n") == 3
    assert events(record) == [
        {"time": 1000.0, "event": "run_started", "run": "r1", "plan_fingerprint": "f0", "dataset": "d0", "workers": 2}
        | {"memory": 1 << 30, "machine": {"cpu": None}, "versions": {"headway": "0.1"}, "code": None},
        {"time": 1000.0, "event": "resumed", "position": [1, 20], "documents": None, "tokens": None},
        {"time": 1000.0, "event": "warned", "text": "schöne Worte"},
    ]


def test_no_file_is_made_before_the_first_event(record: Record) -> None:
    record.close()

    assert not record.path.exists()


def test_the_first_step_is_written_at_once_and_the_next_ones_together(record: Record, watch: Watch) -> None:
    for batch in range(1, 4):
        record.step(Position(0, batch), Portion(), {"new": 1.0})
    watch.now += STEP_SECONDS
    record.step(Position(0, 4), Portion(), {"new": 2.0, "old": 1.0})

    first, rest = events(record)
    assert first["position"] == [0, 1]
    assert rest == {
        "time": watch.now,
        "event": "step",
        "position": [0, 4],
        "documents": 6,
        "tokens": 90,
        "metrics": {"new": 4.0, "old": 1.0},
        "steps": 3,
    }


@pytest.mark.parametrize(
    "end",
    [
        lambda record: record.saved(Position(0, 5), 0.5),
        lambda record: record.write(Note("halfway")),
        lambda record: record.close(),
    ],
)
def test_no_step_is_lost_however_the_record_goes_on(record: Record, end: Callable[[Record], None]) -> None:
    for batch in range(1, 6):
        record.step(Position(0, batch), Portion(), {})

    end(record)

    steps = [event for event in events(record) if event["event"] == "step"]
    assert (sum(event["documents"] for event in steps), sum(event["steps"] for event in steps)) == (10, 5)
    assert [event["event"] for event in events(record)][:2] == ["step", "step"]


def test_spans_are_added_up_by_name_and_written_with_a_save(record: Record, watch: Watch) -> None:
    for seconds in (1.0, 4.0, 2.0):
        with record.span("step"):
            watch.now += seconds
    with record.span("save"):
        pass

    record.saved(Position(0, 3), 0.25)

    spans, saved = events(record)
    assert spans["spans"] == {
        "step": {"count": 3, "seconds": 7.0, "max": 4.0, "sizes": {"0": 1, "4": 1, "8": 1}},
        "save": {"count": 1, "seconds": 0.0, "max": 0.0, "sizes": {"-94": 1}},
    }
    assert (saved["event"], saved["position"], saved["seconds"]) == ("saved", [0, 3], 0.25)


def test_spans_start_again_after_each_save_and_end_with_the_run(record: Record) -> None:
    with record.span("step"):
        pass
    record.saved(Position(0, 1), 0.0)
    with record.span("finish"):
        pass
    record.write(Finished(Position(1, 0), 3.0, "complete", {"patterns": 7}))
    record.close()
    record.close()

    assert [event["event"] for event in events(record)] == ["spans", "saved", "spans", "finished"]
    assert list(events(record)[2]["spans"]) == ["finish"]


def test_a_span_counts_also_when_its_body_fails(record: Record, watch: Watch) -> None:
    with pytest.raises(ZeroDivisionError), record.span("step"):
        watch.now += 2
        _ = 1 / 0
    record.close()

    assert events(record)[0]["spans"]["step"]["seconds"] == 2


def test_leaving_a_record_closes_it(record: Record) -> None:
    with record:
        record.step(Position(0, 1), Portion(), {})
        record.step(Position(0, 2), Portion(), {})

    assert len(events(record)) == 2


def test_listeners_receive_what_was_written(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []
    record = Record(tmp_path / "record.jsonl", listeners=[heard.append])

    record.write(Note("hello"))
    record.step(Position(0, 1), Portion(), {"new": 1.0})

    assert heard == events(record)
    assert [event["event"] for event in heard] == ["note", "step"]


def test_a_metric_that_is_no_number_is_never_written(record: Record) -> None:
    with pytest.raises(ValueError, match=r"'loss': nan.* is not finite"):
        record.step(Position(0, 1), Portion(), {"loss": float("nan")})


def test_a_file_name_that_is_not_utf8_survives(record: Record) -> None:
    record.write(Warned("skipped \udcff.txt"))

    assert events(record)[0]["text"] == "skipped \udcff.txt"


def test_a_record_continues_after_what_is_there(record: Record, tmp_path: Path) -> None:
    record.write(Note("one"))
    record.close()
    record.write(Note("two"))
    Record(record.path).write(Note("three"))

    assert [event["text"] for event in events(record)] == ["one", "two", "three"]


@pytest.mark.parametrize("size", [1, 40, 65536, 200_000])
def test_a_line_cut_by_a_crash_is_left_out_and_removed_by_the_next_writer(tmp_path: Path, size: int) -> None:
    path = tmp_path / "record.jsonl"
    whole = b'{"time": 1, "event": "note", "text": "kept"}\n'
    path.write_bytes(whole + b"x" * size)

    assert len(list(read_record(path))) == 1
    Record(path).write(Note("next"))
    assert [event["text"] for event in read_record(path)] == ["kept", "next"]


def test_a_record_that_is_one_cut_line_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    path.write_bytes(b'{"time": 1, "ev')

    Record(path).write(Note("first"))

    assert [event["text"] for event in read_record(path)] == ["first"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"time": 1, "ev\n', r"record\.jsonl line 2 is damaged \(.*\); what was learned is not affected"),
        (b"\x00\x00\n", "line 2 is damaged"),
        (b"\xff\n", "line 2 is damaged"),
        (b"[]\n", "line 2 is not an event of a run"),
        (b'{"time": 1}\n', "line 2 is not an event of a run"),
    ],
)
def test_other_damage_is_named_by_its_line(tmp_path: Path, line: bytes, message: str) -> None:
    whole = b'{"time": 1, "event": "note", "text": "kept"}\n'
    (tmp_path / "record.jsonl").write_bytes(whole + line + whole)

    with pytest.raises(RunError, match=message):
        list(read_record(tmp_path / "record.jsonl"))


def test_a_missing_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"there is no record at .*is this the folder of a run"):
        list(read_record(tmp_path / "record.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_a_run_error_that_says_what_is_safe() -> None:
    with pytest.raises(RunError, match="the disk is full at /dev/full; everything saved so far is safe"):
        Record(Path("/dev/full")).write(Note("lost"))


def test_a_line_cut_by_a_full_disk_does_not_harm_the_next(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    record.write(Note("one"))
    real_write = os.write
    answers = iter([3, errno.ENOSPC])

    def short_write(descriptor: int, content: bytes) -> int:
        answer = next(answers)
        if answer == errno.ENOSPC:
            raise OSError(answer, os.strerror(answer))
        return real_write(descriptor, content[:answer])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", short_write)
        with pytest.raises(RunError, match="the disk is full"):
            record.write(Note("two"))
    record.write(Note("three"))

    assert [event["text"] for event in events(record)] == ["one", "three"]


def test_every_line_is_complete_for_a_reader_at_any_moment(record: Record) -> None:
    for number in range(3):
        record.write(Note(f"note {number}"))

        assert json.loads(record.path.read_bytes().splitlines()[-1])["text"] == f"note {number}"
