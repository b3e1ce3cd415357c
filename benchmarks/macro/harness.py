"""Repeat, interleave, keep everything: the variants of an experiment in random order within each repeat.

A repetition runs in a process of its own. What is compared is compared within a repeat, so that a machine that is slow
for a minute is slow for both sides; a ratio is the median of the ratios per repeat.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from headway.machine.describe import describe

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
LEAST_REPEATS = 5
_LIBRARIES = (
    "headway",
    "numpy",
    "numba",
    "llvmlite",
    "pyarrow",
    "gigatoken",
    "tokenizers",
    "tiktoken",
    "duckdb",
    "xxhash",
    "torch",
    "safetensors",
)
_CHILD = [sys.executable, "-m", "benchmarks.macro.child"]

Figures = dict[str, Any]
Variants = Mapping[str, Callable[[], Figures]]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What holds for every experiment of a session."""

    scratch: Path
    results: Path
    repeats: int
    seed: int
    megabytes: int | None
    corpus: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and most of what was measured."""

    median: float
    least: float
    most: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values), tuple(values))

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.least)} to {_short(self.most)})"


@dataclass(slots=True)
class Result:
    """An experiment with all its repetitions."""

    name: str
    says: str
    conditions: dict[str, Any]
    repetitions: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def figure(self, variant: str, figure: str) -> Spread:
        """One figure of one variant over all repeats."""
        return Spread.of([one[figure] for one in self.repetitions if one["variant"] == variant])

    def rate(self, variant: str, seconds: str) -> Spread:
        """Tokens per second of one variant."""
        return Spread.of([one["tokens"] / one[seconds] for one in self.repetitions if one["variant"] == variant])

    def ratio(self, above: tuple[str, str], below: tuple[str, str]) -> Spread:
        """How many times one (variant, figure) is another, repeat by repeat."""
        pairs = zip(self._by_repeat(*above), self._by_repeat(*below), strict=True)
        return Spread.of([a / b for a, b in pairs])

    def speedup(self, fast: tuple[str, str], slow: tuple[str, str]) -> Spread:
        """How many times the tokens per second of `fast` are those of `slow`; each is (variant, its seconds)."""
        of_fast, of_slow = self._rates(*fast), self._rates(*slow)
        return Spread.of([a / b for a, b in zip(of_fast, of_slow, strict=True)])

    def _by_repeat(self, variant: str, figure: str) -> list[float]:
        return [one[figure] for one in self.repetitions if one["variant"] == variant]

    def _rates(self, variant: str, seconds: str) -> list[float]:
        return [one["tokens"] / one[seconds] for one in self.repetitions if one["variant"] == variant]

    def write(self, folder: Path) -> Path:
        """Keep every repetition, but not where on this machine it was made."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        text = re.sub(r'"/[^"]*/macro-[^/"]+/', '"', json.dumps(asdict(self), indent=1))
        path.write_text(text + "\n", encoding="utf-8")
        return path


def read_result(path: Path) -> Result:
    """A result as it was written."""
    return Result(**json.loads(path.read_text(encoding="utf-8")))


def measure(name: str, says: str, variants: Variants, conditions: Conditions, *, repeats: int | None = None) -> Result:
    """Run every variant once per repeat, in random order, and keep what each returned."""
    result = Result(name, says, _described(conditions))
    chance = random.Random(f"{name}-{conditions.seed}")
    for repeat in range(repeats or conditions.repeats):
        order = list(variants)
        chance.shuffle(order)
        for place, variant in enumerate(order):
            # What the one before left to be written must not be written in the time of the next.
            os.sync()
            before = {
                "repeat": repeat,
                "place": place,
                "variant": variant,
                "load": os.getloadavg(),
                "time": time.time(),
            }
            result.repetitions.append(before | variants[variant]())
            _tell(result.repetitions[-1])
    return result


def child(verb: str, arguments: Mapping[str, Any], *, environment: Mapping[str, str] | None = None) -> Figures:
    """Run one verb of `child.py` in a fresh process; its figures, and the whole life of that process in seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        [*_CHILD, verb, json.dumps(dict(arguments))],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return last_line(done.stdout) | {"process_seconds": time.perf_counter() - began}


def start_child(verb: str, arguments: Mapping[str, Any]) -> subprocess.Popen[str]:
    """The same, to be watched while it runs."""
    return subprocess.Popen([*_CHILD, verb, json.dumps(dict(arguments))], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def last_line(text: str) -> Figures:
    """The figures a child printed."""
    return json.loads(text.strip().splitlines()[-1])


def show(title: str, rows: Sequence[Sequence[str]]) -> None:
    """A table; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _described(conditions: Conditions) -> dict[str, Any]:
    return {
        "machine": describe(),
        "versions": _versions(),
        "commit": _git("rev-parse", "HEAD"),
        "changed_since_commit": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "corpus": dict(conditions.corpus),
        "seed": conditions.seed,
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _tell(one: Mapping[str, Any]) -> None:
    figures = ", ".join(f"{key} {_short(value)}" for key, value in one.items() if key.endswith(("seconds", "bytes")))
    print(f"    {one['repeat'] + 1}. {one['variant']}: {figures}, load {one['load'][0]:.1f}", flush=True)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"
