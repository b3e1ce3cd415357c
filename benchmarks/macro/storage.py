"""Compaction against DuckDB, and what a pattern takes on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import Corpus, copies, dataset, plan

_RUNS = 20
_ROWS = 15_000_000


def compaction(conditions: Conditions, material: Corpus) -> Result:
    """Row 7: twenty runs of level 0 summed into one."""
    once = dataset(material, conditions.scratch / "datasets")
    home, folder = conditions.scratch / "copies", conditions.scratch / "runs-to-merge"
    # About 0.19 rows a token are left when a run of a million rows is written.
    wanted = _ROWS if conditions.megabytes is None else _ROWS // 10
    copies(once, home, number=max(1, round(wanted / 0.19 / once.tokens)))
    made = child("flushes", {"dataset": str(home), "folder": str(folder), "runs": _RUNS})
    memory = str(folder / "memory")

    def merged(verb: str, runs: int) -> Figures:
        return child(verb, {"folder": memory, "runs": runs})

    says = (
        "level-0 runs as the learner wrote them; headway: checksums of inputs checked, one thread, result synced; "
        "duckdb: 2 threads, same files through pyarrow's dataset, uncompressed Parquet, not synced"
    )
    variants = {
        "headway": lambda: merged("compact", _RUNS),
        "headway, 5 runs": lambda: merged("compact", _RUNS // 4),
        "duckdb": lambda: merged("duckdb", _RUNS),
    }
    result = measure("compaction", says, variants, conditions)
    unique = {one["unique"] for one in result.repetitions if one["variant"] != "headway, 5 runs"}
    result.facts = {"level0": made["levels"][0], "same": len(unique) == 1}
    shutil.rmtree(home)
    shutil.rmtree(folder)
    return result


def size(conditions: Conditions, material: Corpus) -> Result:
    """Row 8: bytes per unique pattern and level, names recoverable from the sequences."""
    home, runs = dataset(material, conditions.scratch / "datasets").folder, conditions.scratch / "sized"

    def sized() -> Figures:
        given = plan(material) | {"workers": 2}
        try:
            trained = child("train", {"plan": given, "runs": str(runs), "datasets": "", "dataset": str(home)})
            return child("compacted", {"run": str(Path(trained["run"]))})
        finally:
            shutil.rmtree(runs)

    return measure(
        "size", "after compaction of the whole corpus; exact, so once is enough", {"size": sized}, conditions, repeats=1
    )
