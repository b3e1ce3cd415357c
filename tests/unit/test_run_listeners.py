import io
import sys
import types
from typing import Any

import pytest

from headway.run.listeners import Lines, tell, usual_listeners
from headway.run.watch import Watch

Event = dict[str, Any]


def building(time: float, done: int, stage: str = "tokenizing") -> Event:
    figures = {"shards": 4, "shards_done": 1, "bytes": 200, "bytes_done": done, "documents": 3, "tokens": 30}
    return {"time": time, "event": "build", "stage": stage} | figures


def started(time: float, workers: int = 1) -> Event:
    return {"time": time, "event": "run_started", "run": "demo-001", "workers": workers, "memory": 1 << 30}


def step(time: float, documents: int) -> Event:
    metrics = {"level 0": 2.0 * documents}
    figures = {"documents": documents, "tokens": 10 * documents, "metrics": metrics, "steps": 1, "position": [0, 1]}
    return {"time": time, "event": "step"} | figures


EXPECTED = {"time": 10.0, "event": "expected", "documents": 100, "tokens": 1000}
FINISHED = {
    "time": 99.0,
    "event": "finished",
    "reason": "complete",
    "position": [1, 0],
    "seconds": 3.0,
    "totals": {},
    "why": None,
}


def watched(*events: Event) -> Watch:
    watch = Watch()
    for event in events:
        watch(event)
    return watch


def lines(*events: Event, seconds: float = 3.0) -> list[str]:
    stream = io.StringIO()
    listener = Lines(stream, seconds=seconds)
    for event in events:
        listener(event)
    return stream.getvalue().splitlines()


def test_a_build_shows_its_share_and_shards() -> None:
    watch = watched(building(1, 50))

    assert watch.share == 0.25
    assert watch.line() == "dataset: tokenizing 25.0 % | 1/4 shards | 3 documents, 30 tokens"
    assert watch.build_seconds() == 0


def test_before_anything_is_known_nothing_is_claimed() -> None:
    assert watched().line() == "starting"
    assert watched().share is None
    assert watched().build_seconds() is None
    empty = building(1, 0, "checking") | {"bytes": 0, "shards": 0, "documents": 0}
    assert watched(empty).line() == "dataset: checking"
    assert watched(started(10)).line() == "training | 0 documents, 0 tokens"
    assert watched(started(10), step(50, 1)).line() == "training | 1 document, 10 tokens | level 0 2"


def test_a_training_shows_rate_time_left_and_metrics() -> None:
    watch = watched(started(9), EXPECTED, step(10, 0), step(20, 50))

    assert watch.share == 0.5
    assert watch.line() == (
        "training 50.0 % | 50 documents, 500 tokens | 5 documents/s, 50 tokens/s | 10.0 s left | level 0 100"
    )


def test_a_continued_training_says_what_is_of_this_session_alone() -> None:
    resumed = {"time": 10, "event": "resumed", "position": [0, 4], "documents": 20, "tokens": 200}
    watch = watched(started(9), EXPECTED, resumed, step(10, 0), step(20, 50))

    assert watch.line() == (
        "training 70.0 % | 70 documents, 700 tokens | 5 documents/s, 50 tokens/s | 6.0 s left | "
        "in this session: level 0 100"
    )


def test_lines_come_every_few_seconds_and_at_every_turn() -> None:
    events = [building(1, 1), building(2, 2), building(4.5, 3), building(5, 4)]
    events += [started(10, workers=2), EXPECTED, step(11, 1), step(12, 1), step(14, 1), FINISHED]

    shown = lines(*events)

    assert [line.split(" |")[0] for line in shown] == [
        "dataset: tokenizing 1.5 %",
        "training demo-001 with 2 workers",
        "training 3.0 %",
        "training 3.0 %",
    ]


def test_notes_and_warnings_are_said_at_once() -> None:
    note = {"time": 1.0, "event": "note", "text": "continuing runs/demo-001"}
    warned = {"time": 1.0, "event": "warned", "text": "run.epochs changed"}

    assert lines(note, warned) == ["continuing runs/demo-001", "warning: run.epochs changed"]


@pytest.mark.parametrize("wrong", [BrokenPipeError(), OSError(28, "full"), ValueError("closed")])
def test_a_stream_that_takes_no_more_does_not_stop_the_training(wrong: Exception) -> None:
    class Gone(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            raise wrong

    stream = Gone()
    listener = Lines(stream)
    listener({"time": 1.0, "event": "note", "text": "one"})
    listener({"time": 1.0, "event": "note", "text": "two"})

    assert stream.writes == 1


def test_told_events_have_a_time_and_a_kind() -> None:
    heard: list[Event] = []

    tell([heard.append, heard.append], "note", {"text": "hello"})

    assert len(heard) == 2
    assert heard[0] | {"time": 0} == {"time": 0, "event": "note", "text": "hello"}


def test_a_notebook_gets_lines_a_script_without_a_terminal_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = types.ModuleType("IPython")
    notebook.get_ipython = object  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    in_script = usual_listeners()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    in_notebook = usual_listeners()

    assert in_script == ()
    assert isinstance(in_notebook[0], Lines)


def test_a_script_at_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)

    assert isinstance(usual_listeners()[0], Lines)
