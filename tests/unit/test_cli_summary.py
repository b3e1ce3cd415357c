import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from headway.cli.summary import as_json, last_line, shortened, show
from headway.run.result import RunResult

RESULT = RunResult(
    folder=Path("runs/my run-001"),
    status="finished",
    resumed=False,
    signal=None,
    documents=1000,
    tokens=2_000_000,
    learned_documents=1000,
    learned_tokens=2_000_000,
    seconds=2.0,
    start_seconds=1.0,
    build_seconds=1.0,
    workers=2,
    dataset="datasets/abc",
    totals={},
)
NOTHING_LEFT = replace(RESULT, seconds=None, start_seconds=None, build_seconds=None, workers=None, dataset=None)


def shown(result: RunResult) -> str:
    stream = io.StringIO()
    show(result, stream)
    return stream.getvalue()


def test_speeds_are_shown_for_training_and_end_to_end() -> None:
    text = shown(RESULT)

    assert "500 documents/s, 1 M tokens/s" in text
    assert "250 documents/s, 500 k tokens/s" in text
    assert "2.0 s with 2 workers" in text


def test_the_next_command_can_be_copied() -> None:
    assert "  headway runs show 'runs/my run-001'\n" in shown(RESULT)


def test_what_was_not_measured_is_not_shown() -> None:
    text = shown(NOTHING_LEFT)

    assert "nothing left to do" in text
    assert "/s" not in text


def test_the_last_line_says_what_where_and_how_fast() -> None:
    assert last_line(RESULT) == "runs/my run-001 finished: 1,000 documents, 2,000,000 tokens; 2.0 s, 1 M tokens/s"


def test_the_result_as_json_has_every_field_and_rate() -> None:
    values = json.loads(as_json(RESULT))

    assert values["event"] == "result"
    assert values["tokens_per_second"] == 1_000_000
    assert values["tokens_per_second_end_to_end"] == 500_000
    assert values["seconds"] == 2.0
    assert json.loads(as_json(NOTHING_LEFT))["tokens_per_second"] is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the cat", "“the cat”"),
        ("a\nb\x1b[31m", "“a\\nb\\x1b[31m”"),
        ("0123456789" * 3, "“01234567 … 23456789”"),
    ],
)
def test_a_pattern_is_one_printable_line(text: str, line: str) -> None:
    assert shortened(text, 20) == line
