"""The table of what Headway promises, filled with what was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.macro.harness import Result, Spread, read_result, show

Row = tuple[str, str, str]


def rows(folder: Path) -> list[Row]:
    """Figure, target, measured: median (least to most); results that are not there leave no row."""
    found: list[Row] = [("figure", "target", "measured")]
    for name, fill in _ROWS.items():
        if (folder / f"{name}.json").exists():
            found += fill(read_result(folder / f"{name}.json"))
    return found


def show_table(folder: Path) -> None:
    """Print it."""
    show("median (least to most) over the repeats; a ratio is taken within each repeat", rows(folder))


def _speed(result: Result) -> list[Row]:
    tiktoken, plain, text = ("tiktoken", "seconds"), ("plain", "seconds"), "text to memory"
    one, two = ("1 worker", "train_seconds"), ("2 workers", "train_seconds")
    one_by_key, two_by_key = ("1 worker, keys", "train_seconds"), ("2 workers, keys", "train_seconds")
    compared = (
        ("text to memory / tiktoken, call of headway.train", ">= 2.5", (text, "call_seconds"), tiktoken),
        ("  interpreter and imports included", "", (text, "process_seconds"), tiktoken),
        ("training, 2 workers / tiktoken", ">= 3", two, tiktoken),
        ("  start of the workers included", "", ("2 workers", "call_seconds"), tiktoken),
        ("training, 2 workers / plain Python", ">= 5", two, plain),
        ("internal keys / KATO names, 1 worker", "reported", one_by_key, one),
        ("internal keys / KATO names, 2 workers", "reported", two_by_key, two),
        ("2 workers / 1", ">= 1.7", two, one),
    )
    rates = (tiktoken, plain, (text, "call_seconds"), one, two, one_by_key, two_by_key)
    return [
        *((figure, target, _times(result.speedup(fast, slow))) for figure, target, fast, slow in compared),
        *((f"tokens/s: {variant}", "", str(result.rate(variant, seconds))) for variant, seconds in rates),
    ]


def _tenfold(result: Result) -> list[Row]:
    speedup = result.speedup(("10x", "train_seconds"), ("1x", "train_seconds"))
    peaks = ", ".join(f"{name} {_mib(result.facts[name]['peak_pss_bytes'])}" for name in ("1x", "10x"))
    return [("tokens/s of 10x / 1x", ">= 0.9", _times(speedup)), ("peak PSS, memory = 1GiB", "<= 1024 MiB", peaks)]


def _compaction(result: Result) -> list[Row]:
    figure = f"compaction of 20 runs, {result.facts['level0']['rows']:,} rows / DuckDB"
    faster = _times(result.ratio(("duckdb", "seconds"), ("headway", "seconds")))
    variants = ("headway, 5 runs", "headway", "duckdb")
    peaks = ", ".join(f"{name} {_mib(result.figure(name, 'peak_rss_bytes').median)}" for name in variants)
    unlike = "" if result.facts["same"] else ", NOT THE SAME PATTERNS"
    return [(figure, ">= 5", faster + unlike), ("  peak RSS", "constant", peaks)]


def _size(result: Result) -> list[Row]:
    return [
        (
            f"bytes per unique pattern, level {level['level']}",
            "reported" if level["level"] else "<= 32",
            f"{level['bytes'] / level['unique']:.1f}",
        )
        for level in result.repetitions[0]["levels"]
    ]


def _resume(result: Result) -> list[Row]:
    return [
        (f"resume to first step, killed {when}", "<= 2 s", f"{result.figure(when, 'first_step_seconds')} s")
        for when in ("early", "late")
    ]


def _eight(result: Result) -> list[Row]:
    peak = result.figure("8 workers", "peak_pss_bytes")
    same = "the same files as 1 worker" if result.facts["same"] else "OTHER FILES THAN 1 WORKER"
    return [
        ("8 workers, memory = 1GiB: peak PSS", "<= 1024 MiB", f"{_mib(peak.median)} (most {_mib(peak.most)}), {same}")
    ]


def _help(result: Result) -> list[Row]:
    heavy = ", ".join(result.facts["heavy"]) or "none of the heavy ones"
    return [("headway --help", "<= 0.3 s", f"{result.figure('help', 'seconds')} s; imports {heavy}")]


def _first_use(result: Result) -> list[Row]:
    return [
        (f"kernels, cache {state}", "reported", f"{result.figure(state, 'prepare_seconds')} s")
        for state in ("empty", "full")
    ]


def _times(spread: Spread) -> str:
    return f"{spread.median:.2f} ({spread.least:.2f} to {spread.most:.2f})"


def _mib(size: float) -> str:
    return f"{size / (1 << 20):,.0f} MiB"


_ROWS: dict[str, Callable[[Result], list[Row]]] = {
    "speed": _speed,
    "tenfold": _tenfold,
    "compaction": _compaction,
    "size": _size,
    "resume": _resume,
    "eight": _eight,
    "help": _help,
    "first_use": _first_use,
}
