"""What one repetition does in a process of its own; prints its figures.

python -m benchmarks.macro.child VERB ARGUMENTS
"""

from __future__ import annotations

import json
import resource
import sys
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.macro import child_autoencoder


def train(given: dict[str, Any]) -> dict[str, Any]:
    """`headway.train` on a plan; the modules it needs are loaded before the clock starts."""
    import headway
    import headway.data.build
    import headway.learners.patterns.learner
    from headway.plan.load import plan_from
    from headway.run.train import plan_kinds

    plan = plan_from(given["plan"], folder=Path(), kinds=plan_kinds())
    began = perf_counter()
    if "dataset" in given:
        result = _on_dataset(plan, given)
    else:
        result = headway.train(plan, runs_dir=given["runs"], datasets_dir=given["datasets"], mode="new", listeners=())
    return {
        "call_seconds": perf_counter() - began,
        "build_seconds": result.build_seconds,
        "start_seconds": result.start_seconds,
        "train_seconds": result.seconds,
        "tokens": result.tokens,
        "documents": result.documents,
        "workers": result.workers,
        "run": str(result.folder),
        "levels": result.totals["levels"],
        **_sampled(result.folder),
    }


def _sampled(run: Path) -> dict[str, Any]:
    """What measuring the run took, as it measured itself; nothing of a run that was not measured."""
    from headway.record.record import read_record

    said = [event["usage"] for event in read_record(run / "record.jsonl") if event["event"] == "sampled"]
    if not said:
        return {}
    usage = said[-1]
    return {
        "sampler_cpu": usage["sums"]["sampler"],
        "sampled": usage["seconds"],
        "looks": usage["ticks"][1] - usage["ticks"][0] + 1,
        "missed": usage.get("missed", 0),
    }


def _on_dataset(plan: Any, given: dict[str, Any]) -> Any:
    """The second half of `headway.train`, for a Dataset that no plan describes."""
    from headway.data.dataset import open_dataset
    from headway.run.folders import create
    from headway.run.run import Run
    from headway.run.session import Beginning, session
    from headway.run.stop import Stop

    dataset = open_dataset(Path(given["dataset"]), verify=False)
    beginning = Beginning(plan_file=None, resumed=False, warnings=(), build_seconds=0.0)
    with Stop() as stop, Run(create(Path(given["runs"]), plan.name), plan, stop=stop) as run:
        return session(run, dataset, beginning=beginning, servant=None, listeners=())


def tiktoken(given: dict[str, Any]) -> dict[str, Any]:
    """`encode_ordinary_batch` over texts that are in memory already."""
    from benchmarks.macro.material import Corpus

    from baselines import tiktoken_rate

    rate = tiktoken_rate(list(Corpus(tuple(given["files"]), {}).texts()), threads=2)
    return {"seconds": rate.seconds, "tokens": rate.tokens}


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """The plain Python learner over token lists that are in memory already."""
    from baselines import plain_rate
    from headway.data.dataset import open_dataset

    dataset = open_dataset(Path(given["dataset"]), verify=False)
    ids, starts, *_ = dataset.read(slice(None))
    tokens, bounds = ids.tolist(), starts.tolist()
    documents = [tokens[low:high] for low, high in pairwise(bounds)]
    del ids, tokens
    rate = plain_rate(documents, dataset.vocabulary.symbols)
    return {"seconds": rate.seconds, "tokens": rate.tokens}


def prepare(given: dict[str, Any]) -> dict[str, Any]:
    """Load or compile the kernels."""
    began = perf_counter()
    from headway.learners.patterns.config import Section
    from headway.learners.patterns.learner import prepare as ready

    loaded = perf_counter()
    ready(Section(**given))
    return {"import_seconds": loaded - began, "prepare_seconds": perf_counter() - loaded}


def flushes(given: dict[str, Any]) -> dict[str, Any]:
    """Learn a Dataset with so many saves at even distances, one run file per level each."""
    from headway.data.dataset import open_dataset
    from headway.feed.feed import Feed
    from headway.feed.layouts import Whole
    from headway.learners.base import Setup
    from headway.learners.patterns.config import Section
    from headway.learners.patterns.learner import PatternLearner
    from headway.plan.values import Place, Position

    dataset = open_dataset(Path(given["dataset"]), verify=False)
    feed = Feed(Whole(dataset, 1 << 20))
    learner = PatternLearner(Setup(Section(compact_after=1000), dataset, Path(given["folder"]), Place(), 1 << 31))
    learner.restore(Path(given["folder"]))
    done, saved = 0, 0
    for batch, after in feed.batches(Position.START):
        learner.step(batch)
        done += batch.tokens
        if done >= (saved + 1) * dataset.tokens / given["runs"]:
            learner.save(Path(given["folder"]), after)
            saved += 1
    learner.close()
    return {"levels": learner.totals()["levels"]}


def compact(given: dict[str, Any]) -> dict[str, Any]:
    """Merge level-0 runs into one durable run."""
    from headway.durable import sync_folder
    from headway.learners.patterns.compact import compact as merge
    from headway.learners.patterns.manifest import RUNS, read_manifest

    folder = Path(given["folder"])
    manifest = read_manifest(folder)
    assert manifest is not None, "made by `flushes`"
    runs = manifest.level(0)[: given["runs"]]
    before = _peak()
    began = perf_counter()
    result = merge(folder / RUNS, runs, taken=manifest.files(), stop=lambda: False)
    sync_folder(folder / RUNS)
    seconds = perf_counter() - began
    (folder / RUNS / result.file).unlink()
    rows = sum(run.rows for run in runs)
    return {
        "seconds": seconds, "rows": rows, "unique": result.rows, "out_bytes": result.bytes, "start_rss_bytes": before,
    }  # fmt: skip


def duckdb(given: dict[str, Any]) -> dict[str, Any]:
    """The same sum by DuckDB, from the same files to one uncompressed Parquet file, not synced."""
    import duckdb as database
    from pyarrow.dataset import dataset
    from pyarrow.parquet import read_metadata as metadata

    from headway.learners.patterns.manifest import RUNS, read_manifest

    folder = Path(given["folder"])
    manifest = read_manifest(folder)
    assert manifest is not None, "made by `flushes`"
    files = [str(folder / RUNS / run.file) for run in manifest.level(0)[: given["runs"]]]
    target = folder / "duckdb.parquet"
    before = _peak()
    began = perf_counter()
    with database.connect() as link:
        link.execute(f"SET threads = 2; SET temp_directory = '{folder}/duckdb.tmp'")
        link.register("runs", dataset(files, format="ipc"))
        link.execute(
            f"COPY (SELECT key, sum(count)::UBIGINT AS count, any_value(symbols) AS symbols FROM runs "
            f"GROUP BY key ORDER BY key) TO '{target}' (FORMAT parquet, COMPRESSION uncompressed)"
        )
    seconds = perf_counter() - began
    size, unique = target.stat().st_size, metadata(target).num_rows
    target.unlink()
    return {"seconds": seconds, "unique": unique, "out_bytes": size, "start_rss_bytes": before}


def compacted(given: dict[str, Any]) -> dict[str, Any]:
    """Compact the memory of a run; what each level then holds, and a digest of every file by its name."""
    from headway.durable import checksum
    from headway.learners.patterns.maintain import compact_all
    from headway.learners.patterns.manifest import RUNS

    folder = Path(given["run"]) / "memory"
    began = perf_counter()
    manifest = compact_all(folder)
    seconds = perf_counter() - began
    files = {path.name: checksum(path) for path in sorted((folder / RUNS).iterdir())}
    levels = [
        {"level": run.level, "unique": run.rows, "observed": run.observed, "bytes": run.bytes} for run in manifest.runs
    ]
    return {"seconds": seconds, "levels": levels, "files": files}


def naive_vectors(given: dict[str, Any]) -> dict[str, Any]:
    """The loop everybody writes."""
    import numpy as np

    began = perf_counter()
    table: dict[str, Any] = {}
    with Path(given["file"]).open(encoding="utf-8") as file:
        for line in file:
            word, *numbers = line.split()
            table[word] = np.asarray(numbers, dtype=np.float32)
    return {"seconds": perf_counter() - began, "rows": len(table)}


def load_vectors(given: dict[str, Any]) -> dict[str, Any]:
    """`load_vectors`, converting or opening, and one vector."""
    from headway.data.vectors import convert

    wanted = None
    if given.get("wanted"):
        step = given["rows"] // given["wanted"]
        wanted = [f"w{i * step}" for i in range(given["wanted"])]
    if "rows" in given:
        # What is measured is loading, not the compiler's modules.
        import headway.data.vectors.rows  # noqa: F401
    before = _peak()
    began = perf_counter()
    asked = convert.Conversion(wanted=wanted)
    vectors = convert.load_vectors(Path(given["file"]), cache=Path(given["cache"]), asked=asked)
    one = vectors["w0"].copy()
    seconds = perf_counter() - began
    return {"seconds": seconds, "rows": len(vectors), "first": float(one[0]), "start_rss_bytes": before}


def modules(given: dict[str, Any]) -> dict[str, Any]:
    """What `headway --help` imports, third-party packages by name."""
    from contextlib import redirect_stdout, suppress
    from io import StringIO

    before = set(sys.modules)
    from headway.cli.main import main

    with redirect_stdout(StringIO()), suppress(SystemExit):
        main(["--help"])
    packages = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
    return {"packages": sorted(packages), "heavy": sorted(packages & set(given["heavy"]))}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_VERBS = (
    *(train, tiktoken, plain, prepare, flushes, compact, duckdb, compacted, modules),
    *(naive_vectors, load_vectors),
    *child_autoencoder.VERBS,
)

if __name__ == "__main__":
    verb = {each.__name__: each for each in _VERBS}[sys.argv[1]]
    figures = verb(json.loads(sys.argv[2]))
    print(json.dumps(figures | {"peak_rss_bytes": _peak()}))
