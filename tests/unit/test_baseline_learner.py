"""The plain learner is right: it decides what every faster path must answer."""

import gzip
import hashlib
import json
import re
from functools import cache
from pathlib import Path

import pytest

from plain_learner import PlainLearner, Sentences, chunks

RUNS = ["samples_50", "corner_l579", "corner_l32", "corner_l13", "corner_l15x4", "corner_sent"]


def name_of(text: str) -> str:
    return "PTRN|" + hashlib.sha1(text.encode()).hexdigest()


@cache
def tokens_of(golden: Path) -> dict[str, list[str]]:
    with gzip.open(golden / "tokens.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["text"]: row["tokens"] for row in map(json.loads, lines)}


def documents_of(golden: Path, samples: str) -> list[list[list[str]]]:
    tokens = tokens_of(golden)
    lines = (golden / samples).read_text(encoding="utf-8").split("\n")
    texts = [json.loads(line)["text"] for line in lines if line]
    split = ([part.strip() for part in re.split(r"\n\s*\n", text)] for text in texts if len(text.strip()) > 10)
    return [[tokens[part][:2048] for part in parts if len(part) >= 10] for parts in split]


def test_each_name_of_the_golden_naming_cases_with_one_symbol_an_event_is_exact(golden):
    cases = json.loads((golden / "naming_cases.json").read_text(encoding="utf-8"))["cases"]
    plain = [case for case in cases if all(len(event) == 1 for event in case["events"])]
    assert len(plain) >= 5

    for case in plain:
        symbols = sorted({event[0] for event in case["events"]})
        learner = PlainLearner(symbols, widths=[1000], sentences=Sentences(shortest=2))
        learner.learn([[symbols.index(event[0]) for event in case["events"]]])

        assert learner.rows() == [[(case["name"], 1, case["length"])]], case["case"]


@pytest.mark.parametrize("run", RUNS)
def test_a_golden_run_is_reproduced_exactly(golden, run):
    recorded = json.loads((golden / "runs.json").read_text(encoding="utf-8"))[run]
    documents = documents_of(golden, recorded["samples"])
    symbols = sorted({token for segments in documents for segment in segments for token in segment})
    index = {symbol: place for place, symbol in enumerate(symbols)}
    sentences = Sentences() if recorded["mode"] == "sentences" else None
    learner = PlainLearner(symbols, widths=recorded["levels"], sentences=sentences)

    for segments in documents:
        learner.learn([[index[token] for token in segment] for segment in segments])

    for rows, file in zip(learner.rows(), recorded["files"], strict=True):
        assert [list(row) for row in rows] == json.loads((golden / file).read_text())


def test_a_tiny_document_gives_the_names_and_frequencies_worked_out_by_hand():
    learner = PlainLearner(["a", "b", "it's"], widths=[3, 2])

    learner.learn([[0, 1, 2, 0, 1, 2], [0, 1, 2, 1]])

    abc = name_of("[['a'], ['b'], [\"it's\"]]")
    longer = name_of("[['a'], ['b'], [\"it's\"], ['b']]")
    twice = name_of(f"[['{abc}'], ['{abc}']]")
    assert learner.rows() == [sorted([(abc, 2, 3), (longer, 1, 4)]), [(twice, 1, 2)]]


def test_nothing_crosses_documents():
    learner = PlainLearner(["a", "b"], widths=[3, 2])

    learner.learn([[0, 1, 0]])
    learner.learn([[0, 1, 0]])

    assert [frequency for _, frequency, _ in learner.rows()[0]] == [2]
    assert learner.rows()[1] == []


def test_a_level_of_width_one_learns_nothing_and_hands_the_empty_name_upward():
    learner = PlainLearner(["a"], widths=[5, 1, 4])

    learner.learn([[0] * 30])

    four, two = name_of("[[''], [''], [''], ['']]"), name_of("[[''], ['']]")
    assert learner.rows()[1:] == [[], sorted([(four, 1, 4), (two, 1, 2)])]


@pytest.mark.parametrize("width", range(1, 9))
@pytest.mark.parametrize("size", range(40))
def test_chunks_equal_the_rule_followed_step_by_step(width, size):
    segment = list(range(size))
    expected: list[tuple[int, ...]] = []
    place = 0
    while size - place > width:
        end = place + width if size - place - width > 2 else size
        expected.append(tuple(segment[place:end]))
        place = end
    if size - place >= 3:
        expected.append(tuple(segment[place:]))

    assert chunks(segment, width) == [chunk for chunk in expected if len(chunk) > 1]


@pytest.mark.parametrize(
    ("rule", "starters"), [("gpt2", ["Ġa", "Âb"]), ("bert", ["a", "Q"]), ("other", [" a", "Ġa", "Âb", "Q"])]
)
def test_a_sentence_ends_only_before_what_the_family_of_the_tokenizer_starts_one_with(rule, starters):
    symbols = ["x", ".", "##y", *starters]
    learner = PlainLearner(symbols, widths=[5], sentences=Sentences(rule=rule))
    segment: list[int] = []
    for starter in range(3, len(symbols)):
        segment += [starter, 0, 1, 2, 1]

    learner.learn([[0, 0, 1, *segment]])

    assert list(learner.levels[0].index) == [(0, 0, 1), *((starter, 0, 1, 2, 1) for starter in range(3, len(symbols)))]


def test_the_rest_of_a_segment_shorter_than_a_sentence_is_dropped():
    learner = PlainLearner(["x", ".", "Ġa"], widths=[5], sentences=Sentences())

    learner.learn([[0, 0, 1, 2, 0], [0, 0, 0, 1]])

    assert list(learner.levels[0].index) == [(0, 0, 1), (0, 0, 0, 1)]
