"""Run experiments by name, all without one, then print the table."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.macro.autoencoder import autoencoder_memory, autoencoder_quality, autoencoder_speed, checkpoint_stall
from benchmarks.macro.bounds import eight, tenfold
from benchmarks.macro.harness import LEAST_REPEATS, RESULTS, ROOT, Conditions, Result
from benchmarks.macro.history import history
from benchmarks.macro.material import Corpus, corpus, nothing, verse
from benchmarks.macro.sampling import sampling
from benchmarks.macro.speed import speed
from benchmarks.macro.starts import first_use, help_time, resume
from benchmarks.macro.storage import compaction, size
from benchmarks.macro.table import show_table
from benchmarks.macro.vectors import vectors

Experiment = Callable[[Conditions, Corpus], Result]
Material = Callable[[Path, int | None], Corpus]

_OF_PROSE: dict[str, Experiment] = {
    "speed": speed,
    "tenfold": tenfold,
    "compaction": compaction,
    "size": size,
    "resume": resume,
    "eight": eight,
    "help": help_time,
    "first_use": first_use,
    "sampling": sampling,
}
_OF_VERSE: dict[str, Experiment] = {
    "autoencoder_speed": autoencoder_speed,
    "autoencoder_quality": autoencoder_quality,
    "autoencoder_memory": autoencoder_memory,
    "checkpoint_stall": checkpoint_stall,
}
EXPERIMENTS: dict[str, tuple[Experiment, Material]] = {
    **{name: (experiment, corpus) for name, experiment in _OF_PROSE.items()},
    "vectors": (vectors, nothing),
    "history": (history, nothing),
    **{name: (experiment, verse) for name, experiment in _OF_VERSE.items()},
}


def main() -> None:
    """Run them one after another; each result is written as soon as it is there."""
    options = _options()
    # A trial never stands in the place of a result.
    results = options.results or (RESULTS if options.megabytes is None else ROOT / "build" / "macro-trial")
    (ROOT / "build").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="macro-", dir=options.scratch or ROOT / "build"))
    try:
        loaded: dict[Material, Corpus] = {}
        for name in options.names or EXPERIMENTS:
            print(f"{name}", flush=True)
            experiment, load = EXPERIMENTS[name]
            material = loaded[load] if load in loaded else loaded.setdefault(load, load(scratch, options.megabytes))
            conditions = Conditions(
                scratch, results, options.repeats, options.seed, options.megabytes, material.manifest
            )
            experiment(conditions, material).write(results)
    finally:
        shutil.rmtree(scratch)
    show_table(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.macro", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(EXPERIMENTS)}")
    parser.add_argument(
        "--megabytes", type=int, help="only the first part of the corpus, for trying; all of it by default"
    )
    parser.add_argument("--repeats", type=int, default=LEAST_REPEATS, help="of every experiment (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the order within repeats")
    parser.add_argument("--scratch", type=Path, help="a folder on the disk to measure; build/ by default")
    parser.add_argument("--results", type=Path, help="where results go")
    options = parser.parse_args()
    for name in options.names:
        if name not in EXPERIMENTS:
            parser.error(f"there is no experiment {name!r}; known: {', '.join(EXPERIMENTS)}")
    return options


if __name__ == "__main__":
    main()
