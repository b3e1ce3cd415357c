"""What the figures of a report say, in sentences made of measured numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.learners.autoencoder.figures import Absent, Interval

if TYPE_CHECKING:
    from headway.learners.autoencoder.report import Report

# What the programs before this one aimed at, with 16 to 64 numbers a window.
AIM = (0.85, 0.95)
# The linear code, looked at as a model, is itself: apart by rounding alone.
_ROUNDING = 1e-6


def sentences(report: Report) -> tuple[str, ...]:
    """Every judgement a report makes, the unwelcome ones included."""
    return (*_warnings(report), _about_constant(report), _about_code(report), _about_linear(report), _about_aim(report))


def _warnings(report: Report) -> Iterator[str]:
    subject, linear, shuffle = report.subject, report.linear, report.shuffle
    if subject.made_up:
        yield "the vectors are made up: no figure here says anything about language"
    if subject.bypass:
        yield "the decoder sees more than the code: this is no compression, and no figure compares with one that is"
    if not isinstance(report.coverage, Absent) and report.coverage != 1:
        yield f"windows own {report.coverage:.4%} of the documents' tokens: they must own each exactly once"
    if linear.code < subject.code:
        yield (
            f"the linear code has {linear.code} numbers, not {subject.code}: "
            f"{linear.windows:,} windows of the training side give no more"
        )
    if linear.windows < linear.windows_of:
        yield f"the linear code was fitted on {linear.windows:,} of {linear.windows_of:,} windows, drawn by the seed"
    if not isinstance(shuffle, Absent) and shuffle.nearest:
        yield f"windows alone in their length, which got the code of one of the nearest length: {shuffle.nearest:,}"


def _about_constant(report: Report) -> str:
    if isinstance(report.free.skill, Absent):
        return f"no skill can be told: {report.free.skill.why}"
    said = f"skill {report.free.skill:.4f} over a constant"
    if isinstance(report.interval, Absent):
        return f"{said}; without an interval: {report.interval.why}"
    if report.interval.low > 0:
        return f"{said}: better than a constant"
    return f"{said}: not better than a constant" if report.free.skill <= 0 else f"{said}: not shown to be better"


def _about_code(report: Report) -> str:
    shuffle = report.shuffle
    if isinstance(shuffle, Absent):
        return f"whether the code is used was not tested: {shuffle.why}"
    gain = f"own code against another window's: {shuffle.gain:+.4f}{_within(shuffle.interval)}"
    if isinstance(shuffle.used, Absent):
        return f"{gain}; whether the code is used cannot be told: {shuffle.used.why}"
    return f"{gain}: the code is used" if shuffle.used else f"{gain}: the code is not used"


def _about_linear(report: Report) -> str:
    linear = report.linear
    verb = "reaches" if linear.difference >= -_ROUNDING else "does not reach"
    weak = not isinstance(linear.score.skill, Absent) and linear.score.skill <= 0
    return (
        f"the model {verb} PCA-{linear.code}: {report.free.cosine:.4f} against {linear.score.cosine:.4f}, "
        f"{linear.difference:+.4f}{_within(linear.interval)}"
        f"{'; it is itself no better than a constant' if weak else ''}"
    )


def _about_aim(report: Report) -> str:
    low, high = AIM
    free, linear = report.free.cosine, report.linear
    met = "reached" if free >= low else "not reached"
    return (
        f"the aim of {low} to {high} is {met}: {report.subject.code} numbers a window give {free:.4f} here, "
        f"{linear.code} numbers reach {linear.score.cosine:.4f} linearly, a constant {report.constant:.4f}"
        f"{_about_more(report, low)}"
    )


def _about_more(report: Report, aim: float) -> str:
    """What the aim would cost a linear code, or what the largest that was looked at reaches."""
    found = {size: score.cosine for size, score in report.linear_codes.items()}
    enough = [size for size, cosine in found.items() if cosine >= aim]
    if enough:
        return f"; a linear code reaches {aim} with {min(enough)} numbers"
    largest = max(found)
    return f"; even {largest} numbers reach {found[largest]:.4f}" if largest > report.subject.code else ""


def _within(interval: Interval | Absent) -> str:
    return "" if isinstance(interval, Absent) else f" [{interval.low:+.4f}, {interval.high:+.4f}]"
