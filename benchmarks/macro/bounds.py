"""Ten times the corpus, and eight workers in little memory: does the plan's bound hold, is the result the same?"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import Corpus, copies, dataset, plan
from benchmarks.macro.speed import run
from benchmarks.macro.watch import watched

_TEN = 10
_MEMORY = "1GiB"


def tenfold(conditions: Conditions, material: Corpus) -> Result:
    """Rows 5 and 6: speed and memory of the corpus and of ten exchanged copies of it, and two workers against one."""
    once = dataset(material, conditions.scratch / "datasets")
    folder = conditions.scratch / "tenfold"
    copies(once, folder, number=_TEN)
    given = plan(material) | {"workers": 2, "memory": _MEMORY}

    def timed(home: Path, workers: int = 2) -> Figures:
        return run(given | {"workers": workers}, conditions.scratch, conditions.scratch, dataset=str(home))

    says = (
        f"2 workers where nothing else is said, memory = {_MEMORY}; 10x is ten copies of the Dataset, each with its "
        "token ids exchanged"
    )
    variants = {
        "1x": lambda: timed(once.folder),
        "10x": lambda: timed(folder),
        "10x, 1 worker": lambda: timed(folder, 1),
    }
    result = measure("tenfold", says, variants, conditions)
    # Looking at memory costs time, so it is done apart from the timed repetitions.
    result.facts = {
        name: _watched_training(given, conditions.scratch, home)
        for name, home in (("1x", once.folder), ("10x", folder))
    }
    shutil.rmtree(folder)
    return result


def eight(conditions: Conditions, material: Corpus) -> Result:
    """Row 10: eight workers under one gibibyte, and the memory of one worker byte for byte."""
    cache = conditions.scratch / "datasets"
    home = dataset(material, cache).folder

    def trained(workers: int) -> Figures:
        given = plan(material) | {"workers": workers, "memory": _MEMORY}
        return _watched_training(given, conditions.scratch, home, compare=True)

    says = (
        f"memory = {_MEMORY}; PSS of all processes summed, sampled every 20 ms; files are those of the compacted memory"
    )
    variants = {"8 workers": lambda: trained(8), "1 worker": lambda: trained(1)}
    result = measure("eight", says, variants, conditions, repeats=min(conditions.repeats, 3))
    result.facts = {"same": len({str(one["files"]) for one in result.repetitions}) == 1}
    return result


def _watched_training(given: dict[str, Any], scratch: Path, home: Path, *, compare: bool = False) -> Figures:
    runs = scratch / "watched"
    try:
        figures = watched("train", {"plan": given, "runs": str(runs), "datasets": str(scratch), "dataset": str(home)})
        if compare:
            figures["files"] = child("compacted", {"run": figures["run"]})["files"]
        return figures
    finally:
        shutil.rmtree(runs, ignore_errors=True)
