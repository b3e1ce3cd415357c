import io
import json
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from headway.cli import console as module
from headway.cli.console import FullScreen, JsonLines, Memory, display, page
from headway.run.listeners import Lines

Event = dict[str, Any]
BUILD = {
    "time": 1.0,
    "event": "build",
    "stage": "tokenizing",
    "shards": 10,
    "shards_done": 4,
    "bytes": 10 << 20,
    "bytes_done": 4 << 20,
    "documents": 1200,
    "tokens": 345_678,
}
TRAINING: list[Event] = [
    {"time": 2.0, "event": "note", "text": "continuing runs/demo-001"},
    {"time": 2.0, "event": "run_started", "run": "demo-001", "workers": 2, "memory": 1 << 30},
    {"time": 2.0, "event": "expected", "documents": 1000, "tokens": 2_000_000},
    {"time": 2.0, "event": "step", "documents": 0, "tokens": 0, "metrics": {}, "steps": 1, "position": [0, 0]},
    {
        "time": 4.0,
        "event": "step",
        "documents": 100,
        "tokens": 200_000,
        "metrics": {"level0": 40_000.0},
        "steps": 1,
        "position": [0, 1],
    },
]


def screen(*events: Event, width: int = 80, height: int = 25) -> str:
    """What the full screen shows after these events."""
    shown = FullScreen(Console(file=io.StringIO(), width=width, height=height))
    for event in events:
        shown(event)
    paper = Console(file=io.StringIO(), width=width)
    paper.print(shown.render())
    assert isinstance(paper.file, io.StringIO)
    return paper.file.getvalue()


def test_the_screen_of_a_build_shows_how_far_it_is() -> None:
    shown = screen(BUILD)

    for said in ("40.0 %", "4 of 10", "4 MiB of 10 MiB", "346 k", "memory"):
        assert said in shown


def test_the_screen_of_a_training_shows_rates_levels_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_resident", lambda: 300 << 20)

    shown = screen(BUILD, *TRAINING)

    for said in (
        "demo-001",
        "10.0 %",
        "100 of 1,000",
        "50 documents/s",
        "100 k tokens/s",
        "18.0 s left",
        "level0  40,000",
        "300 MiB of 1 GiB allowed",
        "continuing runs/demo-001",
    ):
        assert said in shown


def test_the_screen_of_a_continued_training_says_what_is_of_this_session() -> None:
    resumed = {"time": 2.0, "event": "resumed", "position": [0, 4], "documents": 20, "tokens": 200}

    assert "in this session" in screen(*TRAINING[:3], resumed, *TRAINING[3:])
    assert "in this session" not in screen(*TRAINING)


def test_what_is_not_known_yet_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_resident", lambda: None)

    assert "starting" in screen()
    assert "%" not in screen()
    assert "- tokens/s" in screen(TRAINING[1])


@pytest.mark.parametrize("width", [24, 40, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(len(line) for line in screen(BUILD, *TRAINING, width=width).splitlines()) <= width


@pytest.mark.parametrize(("width", "height"), [(24, 10), (24, 8), (80, 12), (40, 5)])
def test_a_small_screen_keeps_what_is_left_to_do_and_how_to_leave(width: int, height: int) -> None:
    shown = screen(BUILD, *TRAINING, width=width, height=height)

    assert len(shown.splitlines()) <= height
    assert "left" in shown
    assert "10.0 %" in shown
    assert "Ctrl-C saves" in shown


LEARNING: list[Event] = [
    *TRAINING[:3],
    {
        "time": 4.0,
        "event": "step",
        "documents": 100,
        "tokens": 200_000,
        "metrics": {"loss": [52.3, 100.0], "rate": [0.0005, 2.0], "cosine": [1.0, 2.0], "sequences": 984},
        "steps": 20,
        "position": [1, 0],
    },
    {
        "time": 4.5,
        "event": "evaluated",
        "position": [1, 0],
        "metrics": {"skill": 0.012, "linear_skill": 0.163, "valid_loss": [5.0, 10.0], "since_best": 0},
    },
]


def test_the_screen_of_a_learner_by_gradients_names_what_it_shows() -> None:
    lines = [line.strip("│ ") for line in screen(*LEARNING).splitlines()]

    at = lines.index("loss           0.523")
    assert lines[at : at + 6] == [
        "loss           0.523",
        "learning rate  0.00025",
        "windows        984",
        "skill          0.0120 after epoch 1",
        "skill of PCA   0.1630",
        "valid loss     0.5",
    ]


def test_a_small_screen_keeps_the_skill_and_leaves_out_the_details() -> None:
    shown = screen(*LEARNING, height=15)

    assert len(shown.splitlines()) <= 15
    assert "skill         0.0120 after epoch 1" in shown
    assert "learning rate" not in shown


class Stream(io.StringIO):
    """Takes what it is given until something is wrong."""

    wrong: Exception | None = None

    def write(self, text: str) -> int:
        if self.wrong is not None:
            raise self.wrong
        return super().write(text)


@pytest.mark.parametrize("wrong", [BrokenPipeError(), OSError(28, "No space left on device"), ValueError("closed")])
def test_a_display_falls_silent_where_nothing_can_be_written(wrong: Exception) -> None:
    stream = Stream()
    listener = display(quiet=False, json=True, stream=stream).listeners[0]
    listener({"event": "note", "text": "Grüße"})
    stream.wrong = wrong
    listener({"event": "note", "text": "lost"})
    stream.wrong = None
    listener({"event": "note", "text": "not tried again"})

    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [{"event": "note", "text": "Grüße"}]


def test_a_terminal_that_goes_away_ends_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(Stream):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with display(quiet=False, json=False, stream=terminal) as shown:
        terminal.wrong = OSError(5, "Input/output error")
        for event in [BUILD, *TRAINING]:
            shown.listeners[0](event)

    assert isinstance(shown.screen, FullScreen)


def test_memory_is_looked_up_once_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, looked = [100.0], [0]

    def resident() -> int:
        looked[0] += 1
        return 5 << 20

    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module, "_resident", resident)
    memory = Memory()
    said = [memory.said(), memory.said()]
    clock[0] += 1.5
    said.append(memory.said())

    assert said == ["5 MiB resident"] * 3
    assert looked == [2]


def test_memory_that_cannot_be_measured_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_resident", lambda: None)

    assert Memory().said() is None


def test_this_process_and_its_children_are_measured() -> None:
    held = Memory().bytes()

    assert held is None or held > 1 << 20


def test_every_stream_gets_the_display_that_fits() -> None:
    stream = io.StringIO()

    assert display(quiet=True, json=False, stream=stream).listeners == ()
    assert isinstance(display(quiet=False, json=True, stream=stream).listeners[0], JsonLines)
    assert isinstance(display(quiet=False, json=False, stream=stream).listeners[0], Lines)


def test_a_terminal_gets_a_screen_that_is_left_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with pytest.raises(ZeroDivisionError), display(quiet=False, json=False, stream=terminal) as shown:
        shown.listeners[0](BUILD)
        raise ZeroDivisionError

    assert terminal.getvalue().count("\x1b[?1049h") == terminal.getvalue().count("\x1b[?1049l") == 1


def test_tables_into_a_file_have_no_trailing_spaces() -> None:
    stream = io.StringIO()
    table = Table.grid(padding=(0, 2))
    table.add_row("a", "short")
    table.add_row("b", "a longer one")

    page(stream).print(table)

    assert stream.getvalue() == "a  short\nb  a longer one\n"


def test_lines_into_a_file_stay_whole() -> None:
    stream = io.StringIO()

    page(stream).print("x" * 500)

    assert stream.getvalue() == "x" * 500 + "\n"
