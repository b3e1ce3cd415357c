import argparse
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from made_memory import trained

from headway.cli import train
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
CONTINUED = replace(RESULT, status="stopped", documents=5000, tokens=9_000_000)
AGAIN = ["headway", "train", "my plan.toml", "--set", "run.epochs=2"]
NOTHING_LEFT = replace(RESULT, seconds=None, start_seconds=None, build_seconds=None, workers=None, dataset=None)


def shown(result: RunResult) -> str:
    stream = io.StringIO()
    show(result, stream, again=AGAIN)
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


def test_the_last_line_of_a_continued_run_says_what_this_session_did() -> None:
    assert last_line(CONTINUED) == (
        "runs/my run-001 stopped: 5,000 documents, 9,000,000 tokens in all; "
        "this session 1,000 documents, 2,000,000 tokens; 2.0 s, 1 M tokens/s"
    )


def test_the_summary_of_a_continued_run_says_what_each_number_is_of() -> None:
    text = shown(CONTINUED)

    assert "documents   5,000 in all, 1,000 in this session\n" in text
    assert "tokens      9,000,000 in all, 2,000,000 in this session\n" in text
    assert "these times and speeds are of this session alone" in text
    assert "in all" not in shown(RESULT)


def test_what_to_do_after_a_stop_begins_with_the_command_that_continues() -> None:
    assert "next\n  headway train 'my plan.toml' --set run.epochs=2\n" in shown(CONTINUED)
    assert "headway train" not in shown(RESULT)


def test_one_document_is_one_document() -> None:
    one = replace(RESULT, documents=1, learned_documents=1)

    assert "finished: 1 document, 2,000,000 tokens;" in last_line(one)


@pytest.mark.parametrize(("status", "first"), [("stopped", "headway train"), ("finished", "headway memory")])
def test_there_are_three_commands_to_go_on_with(
    status: Literal["stopped", "finished"], first: str, tmp_path: Path
) -> None:
    result = replace(CONTINUED, status=status, folder=trained(tmp_path, ["aabb" * 9] * 3))

    commands = shown(result).split("next\n")[1].splitlines()

    assert len(commands) == 3
    assert commands[0].startswith(f"  {first}")


def test_the_command_that_continues_names_what_is_not_usual(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    train.arguments(parser)

    plain = train._again(parser.parse_args(["p.toml", "--new", "--datasets-dir", "datasets"]))
    given = ["p.toml", "--workers", "2", "--runs-dir", "r", "--set", "run.epochs=2", "--set", "name=x"]

    assert plain == ["headway", "train", "p.toml"]
    assert train._again(parser.parse_args(given)) == ["headway", "train", *given]


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


def test_the_summary_of_an_autoencoder_says_what_it_has_come_to(tmp_path: Path) -> None:
    plan = {
        "kind": "autoencoder",
        "model": {"encoder": "lstm", "code": 64, "attention": "none"},
        "split": {"valid": 0.2},
        "window": {"size": 50},
        "stop_at": None,
        "evaluate_every": 1,
    }
    (tmp_path / "plan.resolved.json").write_text(json.dumps({"learner": plan, "run": {"epochs": 2}}))
    metrics = {"skill": 0.012, "constant": 0.634, "linear_skill": 0.163, "since_best": 0}
    events = [
        {"time": 1, "event": "evaluated", "position": [2, 0], "metrics": metrics},
        {"time": 2, "event": "finished", "position": [2, 0], "reason": "complete"},
    ]
    (tmp_path / "record.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))

    text = shown(replace(RESULT, folder=tmp_path, totals={"model": "lstm 1 x 256", "vectors": "glove.txt"}))

    assert "model    lstm 1 x 256\n" in text
    assert "epochs   2 of 2\n" in text
    assert "skill    0.0120 over a constant (0.6340); PCA of 64 numbers: 0.1630: the line is better\n" in text
    assert text.split("next\n")[1].splitlines() == [
        f"  headway autoencoder evaluate {tmp_path}",
        f"  headway autoencoder generate {tmp_path}",
        f"  headway autoencoder curves {tmp_path} --output curves.svg",
    ]
