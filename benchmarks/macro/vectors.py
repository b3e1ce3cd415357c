"""Loading word vectors: the first time, filtered and whole, and again, against the loop everybody writes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import Corpus

ROWS, WIDTH, WORDS = 400_000, 300, 5_000
_BATCH = 4_000


def vectors(conditions: Conditions, material: Corpus) -> Result:
    """First load with 5,000 words, first load of all, and a load of what was converted before."""
    del material
    rows = ROWS if conditions.megabytes is None else max(1, conditions.megabytes * ROWS // 1000)
    path = conditions.scratch / "glove.txt"
    made = make_file(path, rows)
    warm, cold = conditions.scratch / "warm", conditions.scratch / "cold"
    child("load_vectors", {"file": str(path), "cache": str(warm)})

    def first(wanted: int | None) -> Figures:
        try:
            return child("load_vectors", {"file": str(path), "cache": str(cold), "rows": rows, "wanted": wanted})
        finally:
            shutil.rmtree(cold, ignore_errors=True)

    variants = {
        "naive": lambda: child("naive_vectors", {"file": str(path)}),
        "first, filtered": lambda: first(WORDS),
        "first, whole": lambda: first(None),
        "repeat": lambda: child("load_vectors", {"file": str(path), "cache": str(warm)}),
    }
    says = (
        f"{rows:,} rows of {WIDTH} numbers with five digits, words w0, w1, ...; naive: open, split every line, one "
        "float32 array a word, a dict. First loads write a durable table into an empty cache; the kernels are compiled "
        "before. seconds is the call and one vector, with modules loaded; kernels are loaded within. Page cache warm."
    )
    result = measure("vectors", says, variants, conditions)
    result.facts = {"file_bytes": made, "table_bytes": rows * WIDTH * 4}
    shutil.rmtree(warm)
    path.unlink()
    return result


def make_file(path: Path, rows: int) -> int:
    """A file as GloVe's are, from one seed; its size."""
    draw = np.random.default_rng(0)
    with path.open("w") as file:
        for start in range(0, rows, _BATCH):
            for i, row in enumerate(draw.normal(0, 0.4, (min(_BATCH, rows - start), WIDTH)).tolist()):
                file.write(f"w{start + i} " + " ".join([f"{number:.5g}" for number in row]) + "\n")
    return path.stat().st_size
