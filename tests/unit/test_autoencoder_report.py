"""What a report says: every baseline and judgement, nothing that was not measured."""

import json
from dataclasses import replace

import pytest
from made_codecs import Perfect, Same, corpus, documents, table

from headway.learners.autoencoder.baselines import Baselines
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.evaluate import evaluate
from headway.learners.autoencoder.figures import Absent, Accuracy, Background, Interval, Score, Shuffle
from headway.learners.autoencoder.report import Report
from headway.learners.autoencoder.words import Kind

WORDS = table()
TRAIN = corpus(documents(40, seed=1))
HELD = corpus(documents(15, seed=2))
BASELINES = Baselines.fit(TRAIN, WORDS, code=3, seed=0, also=(6, 40))


def made(held: Corpus = HELD, *, background: Background | None = None) -> Report:
    codec = Perfect(held, WORDS, noise=0.7, name="made up")
    return evaluate(codec, train=BASELINES, held=held, table=WORDS, seed=0, background=background)


def said(report: Report) -> str:
    return "\n".join(report.lines())


def test_every_figure_that_has_to_stand_beside_a_cosine_is_printed() -> None:
    background = Background(
        side="validation",
        split={"seed": 7, "groups": 12},
        checks={"documents on two sides": 0, "shared tokens": 3},
        document_tokens=HELD.owned.sum(),
        notes=("a note",),
    )

    text = said(made(background=background))

    for name in ("constant direction", "constant of each position", "most frequent word", "window mean (oracle)"):
        assert name in text
    for name in ("PCA-3", "PCA-6", "PCA-40", "another window's code", "teacher-forced", "from the code alone"):
        assert name in text
    for name in ("evaluated (validation)", "seed 7, groups 12", "documents on two sides 0, shared tokens 3", "a note"):
        assert name in text
    for name in (
        "token accuracy",
        "floor",
        "by document",
        "special tokens",
        "words without a vector",
        "effective dimensions",
    ):
        assert name in text
    assert "100.0000%" in text
    assert max(map(len, text.splitlines())) <= 120


def test_every_statement_is_printed_and_written() -> None:
    report = made()

    joined = said(report).replace("\n  ", " ")
    assert all(f"- {sentence}" in joined for sentence in report.statements)
    assert report.to_json()["statements"] == list(report.statements)


def test_a_report_is_strict_json() -> None:
    value = made().to_json()

    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert value["format"] == "headway-autoencoder-report"
    assert value["free"]["cosine"] == made().free.cosine


def test_what_was_not_measured_is_null_with_its_reason_and_never_a_number() -> None:
    report = made(HELD.part(slice(0, 1)))

    value = report.to_json()

    assert value["shuffle"] is None
    assert value["coverage"] is None
    assert value["interval"] is None
    assert value["absent"]["shuffle"] == "there is one window only"
    assert value["absent"]["linear.interval"] == "one document has no spread"
    assert "not measured: there is one window only" in said(report)
    assert "no interval: one document has no spread" in said(report)


def test_a_figure_that_is_not_finite_is_no_report() -> None:
    report = replace(made(), free=Score(float("nan"), 0.0))

    with pytest.raises(ValueError, match="not finite"):
        report.to_json()


def test_searches_that_were_not_made_are_said_to_be_missing() -> None:
    text = said(made())

    assert "search for leaks           not made" in text
    assert "split                      not described" in text


def test_made_up_vectors_and_a_bypass_are_said_in_every_report() -> None:
    report = made()
    doubtful = replace(report, subject=replace(report.subject, made_up=True, bypass=True))

    assert "the vectors are made up" in said(doubtful)
    assert "(made up)" in said(doubtful)
    assert "(bypass: no compression)" in said(doubtful)
    assert "made up:" not in said(report)


def test_coverage_that_is_not_whole_is_a_fault_that_is_said() -> None:
    assert any("99.0000%" in sentence for sentence in replace(made(), coverage=0.99).statements)


def test_a_linear_code_that_had_less_to_learn_from_says_so() -> None:
    report = made()
    short = replace(report, linear=replace(report.linear, code=2, windows=10, windows_of=50))

    assert any("has 2 numbers, not 3" in sentence for sentence in short.statements)
    assert any("10 of 50 windows" in sentence for sentence in short.statements)
    assert not any("of 50 windows" in sentence for sentence in report.statements)


@pytest.mark.parametrize(
    ("low", "high", "used"), [(0.01, 0.02, True), (0.0, 0.02, False), (-0.01, 0.01, False), (-0.02, -0.01, False)]
)
def test_an_interval_that_touches_zero_says_that_the_code_is_not_used(low: float, high: float, used: bool) -> None:
    report = made()
    assert isinstance(report.shuffle, Shuffle)

    found = replace(report, shuffle=replace(report.shuffle, interval=Interval(low, high)))

    assert any("the code is not used" in sentence for sentence in found.statements) is not used
    assert any("the code is used" in sentence for sentence in found.statements) is used


@pytest.mark.parametrize(
    ("skill", "interval", "words"),
    [
        (0.1, Interval(0.05, 0.15), "better than a constant"),
        (0.1, Interval(-0.05, 0.15), "not shown to be better"),
        (-0.1, Interval(-0.2, -0.05), "not better than a constant"),
        (0.1, Absent("one document"), "without an interval: one document"),
    ],
)
def test_a_skill_is_worth_what_its_interval_says(skill: float, interval: Interval | Absent, words: str) -> None:
    report = replace(made(), free=Score(0.5, skill), interval=interval)

    assert any(words in sentence for sentence in report.statements)


def test_a_linear_code_that_is_worse_than_a_constant_is_no_praise_to_reach() -> None:
    report = made()
    weak = replace(report, linear=replace(report.linear, difference=0.01, score=Score(0.4, -0.01)))

    assert any("reaches PCA-3" in each and "no better than a constant" in each for each in weak.statements)
    assert not any("itself" in sentence for sentence in report.statements)


def test_the_aim_stands_beside_what_linear_codes_and_a_constant_reach() -> None:
    report = made()
    low = replace(report, baselines=tuple(replace(each, score=Score(0.5, 0.0)) for each in report.baselines))
    own = replace(low, baselines=tuple(each for each in low.baselines if each.name in ("PCA-3", "constant direction")))

    aim = report.statements[-1]

    assert "the aim of 0.85 to 0.95 is not reached" in aim
    assert f"{report.linear.score.cosine:.4f} linearly, a constant {report.constant:.4f}" in aim
    assert aim.endswith("; a linear code reaches 0.85 with 40 numbers")
    assert low.statements[-1].endswith("; even 40 numbers reach 0.5000")
    assert own.statements[-1].endswith(f"a constant {report.constant:.4f}")
    assert "is reached" in replace(report, free=Score(0.9, 0.5)).statements[-1]


def test_the_floor_word_and_the_sample_are_named() -> None:
    report = made()
    accuracy = Accuracy(share=0.2, floor=0.1, floor_word="','", tokens=10, tokens_of=20, candidates=5)

    text = said(replace(report, accuracy=accuracy))

    assert "0.2000, floor 0.1000 (',' everywhere); 10 of 20 tokens, nearest of 5" in text


def test_a_skill_that_cannot_be_told_is_a_dash() -> None:
    report = made()
    spread = replace(report.spread, skill=Absent("a constant is perfect on a document"))

    text = said(replace(report, free=Score(1.0, Absent("a constant is perfect here")), spread=spread))

    assert "1.0000        -  a constant is perfect here" in text
    assert "not measured: a constant is perfect on a document" in text


def test_a_side_without_a_word_says_none() -> None:
    report = made()
    empty = replace(report.held, words=0, words_found=0, types=0, types_found=0)

    assert "none of 0, types none of 0" in said(replace(report, held=empty))


def test_a_decoder_without_previous_words_has_no_teacher_forced_figure() -> None:
    codec = Same(BASELINES.constants[Kind.SCORED])

    report = evaluate(codec, train=BASELINES, held=HELD, table=WORDS, seed=0)

    assert "teacher-forced             not measured: this decoder reads no previous words" in said(report)
    assert report.to_json()["forced"] is None
