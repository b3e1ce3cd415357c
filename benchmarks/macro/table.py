"""The table of what Headway promises, filled with what was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.macro.harness import Result, Spread, read_result, show
from benchmarks.macro.sampling import FULL, LIGHT, OFF, OFF_AGAIN, cost

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
        ("2 workers / 1, a run of a second", "reported", two, one),
    )
    rates = (tiktoken, plain, (text, "call_seconds"), one, two, one_by_key, two_by_key)
    return [
        *((figure, target, _times(result.speedup(fast, slow))) for figure, target, fast, slow in compared),
        *((f"tokens/s: {variant}", "", str(result.rate(variant, seconds))) for variant, seconds in rates),
    ]


def _tenfold(result: Result) -> list[Row]:
    speedup = result.speedup(("10x", "train_seconds"), ("1x", "train_seconds"))
    peaks = ", ".join(f"{name} {_mib(result.facts[name]['peak_pss_bytes'])}" for name in ("1x", "10x"))
    workers = result.speedup(("10x", "train_seconds"), ("10x, 1 worker", "train_seconds"))
    return [
        ("tokens/s of 10x / 1x", ">= 0.9", _times(speedup)),
        ("2 workers / 1, 10x", ">= 1.7", _times(workers)),
        ("peak PSS, memory = 1GiB", "<= 1024 MiB", peaks),
    ]


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


def _sampling(result: Result) -> list[Row]:
    pairs = sum(one["variant"] == OFF for one in result.repetitions)
    target = f"<= 0.5 %, {pairs} pairs"
    own = [one["sampler_cpu"] / one["sampled"] for one in result.repetitions if one["variant"] == LIGHT]
    return [
        ("tokens/s lost by sampling each second (95 %)", target, str(cost(result, LIGHT))),
        ("  ten times a second, closely", "reported", str(cost(result, FULL))),
        ("  nothing against nothing", "around 0", str(cost(result, OFF_AGAIN))),
        ("  processor time of the sampler, share of a core", "reported", f"{100 * Spread.of(own).median:.3f} %"),
    ]


def _vectors(result: Result) -> list[Row]:
    def faster(variant: str) -> str:
        return _times(result.ratio(("naive", "seconds"), (variant, "seconds")))

    held = (
        result.figure("first, whole", "peak_rss_bytes").median - result.figure("first, whole", "start_rss_bytes").median
    )
    table = _mib(result.facts["table_bytes"])
    return [
        ("vectors, first load of 5,000 words / naive loop", ">= 40", faster("first, filtered")),
        ("vectors, first load of all / naive loop", ">= 6", faster("first, whole")),
        ("  peak RSS beside modules", "<= table + 200 MiB", f"{_mib(held)}, the table is {table}"),
        ("vectors, loaded again / naive loop", ">= 1,000", faster("repeat")),
        ("  to the first vector", "<= 50 ms", f"{result.figure('repeat', 'seconds')} s"),
    ]


def _history(result: Result) -> list[Row]:
    runs = f"{result.facts['runs']:,} runs"
    return [
        (f"runs list, {runs}", "<= 0.3 s", f"{result.figure('list', 'seconds')} s"),
        ("  one of them changed", "reported", f"{result.figure('changed', 'seconds')} s"),
        (f"runs list without an index, {runs}", "<= 30 s", f"{result.figure('rebuild', 'seconds')} s"),
    ]


def _autoencoder_speed(result: Result) -> list[Row]:
    found: list[Row] = []
    for lengths, least in (("B", {"fp32": ">= 4.5", "bf16": ">= 7.5"}), ("A", {"fp32": ">= 2.5", "bf16": ">= 4"})):
        naive = f"{lengths}: naive"
        for precision, target in least.items():
            variant = f"{lengths}: {precision}"
            faster = _times(_sequences(result, variant, over=naive))
            found.append((f"sequences/s, lengths {variant} / naive", target, faster))
        found.append((f"  sequences/s: {naive}", "", str(_sequences(result, naive))))
    for precision in ("fp32", "bf16"):
        share = _times(_sequences(result, f"B: {precision}, two passes", over=f"B: {precision}"))
        found.append((f"  two passes / one, {precision}", ">= 0.7", share))
    title = f"skill on held-out windows of B after {result.facts['epochs']['B']} epochs"
    for variant in ("naive", "fp32", "bf16"):
        target = "" if variant == "naive" else ">= naive"
        found.append((f"{title}: {variant}", target, str(result.figure(f"B: {variant}", "skill"))))
    return found


def _autoencoder_quality(result: Result) -> list[Row]:
    title, found = f"skill on held-out verse after {result.facts['epochs']} epochs", list[Row]()
    for variant in sorted({one["variant"] for one in result.repetitions}):
        reached, line = result.figure(variant, "skill"), result.figure(variant, "linear_skill")
        cosine, constant = (result.figure(variant, name).median for name in ("cosine", "constant"))
        said = f"{reached}; PCA {line.median:.3f}; cosine {cosine:.3f}, constant {constant:.3f}"
        found.append((f"{title}: {variant}", "PCA's or more", said))
    return found


def _autoencoder_memory(result: Result) -> list[Row]:
    peak, found = "train_peak_rss_bytes", list[Row]()
    for numbers in (300, 100):
        ours, naive = f"headway, {numbers} numbers", f"naive, {numbers} numbers"
        share = _times(result.ratio((ours, peak), (naive, peak)))
        peaks = ", ".join(
            f"{name} {_mib(result.figure(name, peak).median)}" for name in (ours, naive, f"{naive}, words at hand")
        )
        found += [
            (f"peak RSS of a training, vectors of {numbers} numbers / naive", "<= 0.5", share),
            ("  peak RSS, modules included", "", peaks),
        ]
    return found


def _checkpoint_stall(result: Result) -> list[Row]:
    rate = "steady_sequences_per_second"
    often = result.ratio(("each 5 s", rate), ("none", rate))
    scaled = Spread.of([1 - (1 - share) * 5 / 60 for share in often.values])
    return [
        ("a save blocks, per 100 MB of state", "<= 20 ms", f"{_stall(result, 'each 5 s')} ms"),
        ("  the longest of a run", "reported", f"{_stall(result, 'each 5 s', longest=True)} ms"),
        ("  written before it returns (sync)", "reported", f"{_stall(result, 'each 5 s, sync')} ms"),
        ("sequences/s with a checkpoint each 5 s / none", "reported", _times(often, digits=4)),
        ("  that, at one a minute", ">= 0.99", _times(scaled, digits=4)),
    ]


def _stall(result: Result, variant: str, *, longest: bool = False) -> Spread:
    """Milliseconds that saves held up the loop, for each 100 MB of what was saved."""
    saves = [(one["spans"]["save"], one["state_bytes"]) for one in result.repetitions if one["variant"] == variant]
    seconds = ((save["max"] if longest else save["seconds"] / save["count"], size) for save, size in saves)
    return Spread.of([1e3 * each / (size / 1e8) for each, size in seconds])


def _sequences(result: Result, variant: str, *, over: str | None = None) -> Spread:
    """Sequences a second, or how many times those of another variant, repeat by repeat."""

    def rates(name: str) -> list[float]:
        return [one["sequences"] / one["train_seconds"] for one in result.repetitions if one["variant"] == name]

    if over is None:
        return Spread.of(rates(variant))
    return Spread.of([a / b for a, b in zip(rates(variant), rates(over), strict=True)])


def _times(spread: Spread, *, digits: int = 2) -> str:
    return f"{spread.median:.{digits}f} ({spread.least:.{digits}f} to {spread.most:.{digits}f})"


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
    "sampling": _sampling,
    "vectors": _vectors,
    "history": _history,
    "autoencoder_speed": _autoencoder_speed,
    "autoencoder_quality": _autoencoder_quality,
    "autoencoder_memory": _autoencoder_memory,
    "checkpoint_stall": _checkpoint_stall,
}
