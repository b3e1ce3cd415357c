"""Text to memory, training alone, names against keys, two workers against one; baselines in the same repeats."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import Corpus, dataset, plan


def speed(conditions: Conditions, material: Corpus) -> Result:
    """Rows 1 to 4 and 6 of the table, from the same repeats."""
    cache = conditions.scratch / "datasets"
    home = dataset(material, cache).folder

    def trained(workers: int, names: str = "kato") -> Figures:
        return run(plan(material, names=names) | {"workers": workers}, conditions.scratch, cache)

    variants = {
        "tiktoken": lambda: child("tiktoken", {"files": material.files}),
        "plain": lambda: child("plain", {"dataset": str(home)}),
        "text to memory": lambda: _from_text(material, conditions.scratch),
        "2 workers": lambda: trained(2),
        "1 worker": lambda: trained(1),
        "2 workers, keys": lambda: trained(2, "internal"),
        "1 worker, keys": lambda: trained(1, "internal"),
    }
    says = (
        "tiktoken: encode_ordinary_batch, 2 threads, texts in memory before the clock starts (generous to it). plain: "
        "PlainLearner, token lists in memory, one process, nothing stored. text to memory: headway.train with an empty "
        "dataset folder and default workers. Others: headway.train on the built Dataset, committed durably. "
        "process_seconds is a whole process with interpreter and imports, call_seconds the call of headway.train, "
        "train_seconds first step to last save. The files lie in the page cache."
    )
    return measure("speed", says, variants, conditions)


def run(given: dict[str, Any], scratch: Path, cache: Path, **more: Any) -> Figures:
    """One training in a fresh process; its run folder is removed."""
    runs = scratch / "runs"
    try:
        return child("train", {"plan": given, "runs": str(runs), "datasets": str(cache), **more})
    finally:
        shutil.rmtree(runs, ignore_errors=True)


def _from_text(material: Corpus, scratch: Path) -> Figures:
    fresh = scratch / "fresh"
    try:
        return run(plan(material), scratch, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
