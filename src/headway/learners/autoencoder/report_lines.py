"""A report as lines of text: a table that fits a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

from headway.learners.autoencoder.figures import Absent, Figure, Interval, Score, Side

if TYPE_CHECKING:
    from headway.learners.autoencoder.report import Report

_LABEL = 27
_WIDTH = 118


def written(report: Report) -> list[str]:
    """Everything measured, every baseline, every judgement."""
    parts = (_head, _scores, _checks, _documents, _apart, _code, _statements)
    return [line for part in parts for line in part(report)]


def _head(report: Report) -> Iterator[str]:
    subject, held, background = report.subject, report.held, report.background
    vectors = f"{subject.vectors}, {subject.dimensions} numbers each"
    window, longest = subject.dimensions * held.longest, held.longest
    yield _row("model", f"{subject.name}{' (bypass: no compression)' if subject.bypass else ''}")
    yield _row("code", f"{subject.code} numbers for up to {longest} vectors, 1 : {window / subject.code:.1f}")
    yield _row("vectors", f"{vectors}{' (made up)' if subject.made_up else ''}")
    yield _row("learned from", _side(report.trained_on))
    yield _row(f"evaluated ({background.side})", _side(held))
    yield _row("tokens", _tokens(held))
    yield _row("words with a vector", f"{_share(held.words_found, held.words)}, types {_types(held)}")
    yield _row("tokens in windows", f"{_figure(report.coverage, '.4%')}, each counted once")
    yield _row("split", _facts(background.split, "not described"))
    yield _row("search for leaks", _facts(background.checks, "not made"))
    yield from (_row("note", note) for note in background.notes)


def _scores(report: Report) -> Iterator[str]:
    yield ""
    yield f"{'':{_LABEL}}{'cosine':>8}{'skill':>9}"
    yield _score("from the code alone", report.free, _interval(report.interval))
    if isinstance(report.forced, Absent):
        yield _row("teacher-forced", f"not measured: {report.forced.why}")
    else:
        yield _score("teacher-forced", report.forced, "true previous words given")
    if isinstance(report.shuffle, Absent):
        yield _row("another window's code", f"not measured: {report.shuffle.why}")
    else:
        yield _score("another window's code", report.shuffle.score)
    yield from (_score(each.name, each.score, each.note) for each in report.baselines)


def _checks(report: Report) -> Iterator[str]:
    yield ""
    if not isinstance(report.shuffle, Absent):
        shuffle = report.shuffle
        windows = f"{shuffle.equal:,} windows of equal length, {shuffle.nearest:,} of the nearest"
        yield _row("gain of the own code", f"{shuffle.gain:+.4f}  {_interval(shuffle.interval)}, {windows}")
    found = report.accuracy
    floor = f"floor {found.floor:.4f} ({found.floor_word} everywhere)"
    of = f"{found.tokens:,} of {found.tokens_of:,} tokens, nearest of {found.candidates:,}"
    yield _row("token accuracy", f"{found.share:.4f}, {floor}; {of}")


def _documents(report: Report) -> Iterator[str]:
    spread = report.spread
    yield _row("by document", f"{'':8}{''.join(f'{percent:>7} %' for percent in spread.percents)}")
    yield _row("", f"{'cosine':8}{''.join(f'{value:9.4f}' for value in spread.cosine)}")
    if isinstance(spread.skill, Absent):
        yield _row("", f"{'skill':8}not measured: {spread.skill.why}")
    else:
        yield _row("", f"{'skill':8}{''.join(f'{value:9.4f}' for value in spread.skill)}")
    yield _row("", f"{spread.below_constant:,} of {spread.documents:,} documents are no better than the constant")


def _apart(report: Report) -> Iterator[str]:
    for number, each in enumerate(report.apart):
        yield _row("" if number else "scored apart", f"{each.name}, {each.tokens:,} tokens")
        beside = f"constant {_or_dash(each.constant)}, skill {_or_dash(each.skill)}, linear code {each.linear:.4f}"
        yield _row("", f"  cosine {each.cosine:.4f}, {beside}")


def _code(report: Report) -> Iterator[str]:
    code = report.code
    usual = f"mean {code.mean:.4f}, std {code.std:.4f}, length {code.length:.4f}, near zero {code.sparsity:.1%}"
    yield _row("code", usual)
    effective = f"{_figure(code.effective, '.1f')} effective dimensions of {report.subject.code}"
    yield _row("", f"{effective}, use {_figure(code.utilisation, '.1%')}, {code.dead} dead")
    yield _row("", f"outputs vary {_figure(code.variance_ratio)} times as much as targets")


def _statements(report: Report) -> Iterator[str]:
    yield ""
    for sentence in report.statements:
        yield from wrap(f"- {sentence}", width=_WIDTH, subsequent_indent="  ")


def _row(label: str, text: str) -> str:
    return f"{label:{_LABEL}}{text}".rstrip()


def _score(label: str, score: Score, note: str = "") -> str:
    if isinstance(score.skill, Absent):
        return f"{label:{_LABEL}}{score.cosine:8.4f}{'-':>9}  {score.skill.why}"
    return f"{label:{_LABEL}}{score.cosine:8.4f}{score.skill:9.4f}  {note}".rstrip()


def _interval(interval: Interval | Absent) -> str:
    if isinstance(interval, Absent):
        return f"no interval: {interval.why}"
    return f"95 % [{interval.low:+.4f}, {interval.high:+.4f}]"


def _figure(figure: Figure, form: str = ".4f") -> str:
    return f"not measured ({figure.why})" if isinstance(figure, Absent) else format(figure, form)


def _or_dash(figure: Figure) -> str:
    return "-" if isinstance(figure, Absent) else f"{figure:.4f}"


def _side(side: Side) -> str:
    context = f" and {side.context:,} of context" if side.context else ""
    return f"{side.documents:,} documents, {side.windows:,} windows, {side.tokens:,} tokens{context}"


def _tokens(side: Side) -> str:
    parts = f"{side.absent:,} words without a vector, {side.special:,} special, {side.nothing:,} without a direction"
    return f"{side.scored:,} scored; apart: {parts}"


def _types(side: Side) -> str:
    return _share(side.types_found, side.types)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} of {whole:,}" if whole else "none of 0"


def _facts(facts: Mapping[str, str | int | float], otherwise: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items()) or otherwise
