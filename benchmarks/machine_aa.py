"""How often the bench finds a machine different from itself: python benchmarks/machine_aa.py [--suites 22].

Whole suites run one after another, each in a process of its own, as `headway machine bench --again` does; each is
compared with the one before it and with the one before that. Then the same comparisons with one figure of the later
suite made worse by a known factor say what the bench would have found. Suites are kept in a folder, and a later call
goes on where one was interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.machine.compare import compare
from headway.machine.figure import Figure
from headway.machine.result import BenchResult, result_from

ROOT = Path(__file__).resolve().parents[1]
SUITES = 22
FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0)


def main() -> None:
    """Measure what is missing, then count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=SUITES)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "machine-aa", help="where suites are kept")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--at-most", type=int, help="how many suites this call measures; all that are missing")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    missing = [number for number in range(options.suites) if not _path(options.work, number).exists()]
    for number in missing[: options.at_most]:
        measure(_path(options.work, number))
    suites = [_path(options.work, number) for number in range(options.suites)]
    if not all(path.exists() for path in suites):
        return
    found = summary([result_from(json.loads(path.read_text()), str(path)) for path in suites])
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "machine_aa.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("comparisons", "verdicts", "figures", "seconds", "found")}))


def _path(work: Path, number: int) -> Path:
    return work / f"suite-{number:03d}.json"


def measure(path: Path) -> None:
    """One suite in a process of its own."""
    command = [sys.executable, "-m", "headway.cli.main", "machine", "bench", "--again", "--json"]
    places = ["--cache-dir", str(path.parent / "cache"), "--folder", str(path.parent)]
    load = os.getloadavg()[0]
    done = subprocess.run([*command, *places], stdout=subprocess.PIPE, check=True, text=True)
    path.write_text(done.stdout)
    known = json.loads(done.stdout)
    busy = sum(not figure["quiet"] for figure in known["figures"])
    print(f"{path.name}: {known['seconds']:.1f} s, load {load:.1f} before, {busy} figures disturbed", flush=True)


def summary(results: Sequence[BenchResult]) -> dict[str, Any]:
    """Verdicts on every suite and the one before it, and what known differences would have been found."""
    numbered = [(later - back, later) for back in (1, 2) for later in range(back, len(results))]
    pairs = [(results[earlier], results[later]) for earlier, later in numbered]
    comparisons = [compare(first.figures, second.figures) for first, second in pairs]
    every = [each for comparison in comparisons for each in comparison.differences]
    seconds = [result.seconds for result in results]
    return {
        "says": "verdicts on a machine compared with itself: every suite with the two before it",
        "machine": _anonymous(results[0]),
        "comparisons": len(pairs),
        "verdicts": dict(Counter(comparison.verdict for comparison in comparisons)),
        "figures": dict(Counter(each.verdict for each in every if each.ratio is not None)),
        "falsely_different": [
            {"suites": suites, "figure": each.name, "ratio": each.ratio, "low": each.low, "high": each.high}
            for suites, comparison in zip(numbered, comparisons, strict=True)
            for each in comparison.differences
            if each.verdict == "different"
        ],
        "seconds": {"median": sorted(seconds)[len(seconds) // 2], "most": max(seconds)},
        "found": {str(factor): found_share(pairs, factor) for factor in FACTORS},
        "suites": [
            {
                "began": result.began,
                "seconds": result.seconds,
                "figures": {
                    figure.name: {"values": figure.values, "disturbed": figure.disturbed, "quiet": figure.quiet}
                    for figure in result.figures
                    if figure.values
                },
            }
            for result in results
        ],
    }


def found_share(pairs: Sequence[tuple[BenchResult, BenchResult]], factor: float) -> dict[str, float]:
    """By figure, the share of comparisons that call a figure different once it is `factor` times worse."""
    shares: dict[str, list[bool]] = {}
    for first, second in pairs:
        for figure in second.figures:
            if not figure.values or figure.margin is None or 1 + figure.margin >= factor:
                continue
            others = [_worse(each, factor) if each is figure else each for each in second.figures]
            verdicts = {each.name: each.verdict for each in compare(first.figures, others).differences}
            shares.setdefault(figure.name, []).append(verdicts[figure.name] == "different")
    return {name: sum(found) / len(found) for name, found in shares.items()}


def _worse(figure: Figure, factor: float) -> Figure:
    scale = factor if figure.better == "less" else 1 / factor
    return replace(figure, values=tuple(value * scale for value in figure.values))


def _anonymous(result: BenchResult) -> dict[str, Any]:
    """The machine, but not where on it things lie."""
    hardware = result.hardware
    return {name: hardware[name] for name in ("fingerprint", "processor", "memory", "system")}


if __name__ == "__main__":
    main()
