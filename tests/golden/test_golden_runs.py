"""Every recorded run of KATO, trained through the product at several numbers of workers, pattern by pattern."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.learners.patterns.memory import Memory

RUNS = ("samples_50", "corner_l579", "corner_l32", "corner_l13", "corner_l15x4", "corner_sent")


@pytest.fixture(scope="module")
def recorded(golden: Path) -> dict[str, dict[str, Any]]:
    """What was recorded, by the name of the run."""
    return json.loads((golden / "runs.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs and datasets of these tests lie; a dataset is built once for all numbers of workers."""
    return tmp_path_factory.mktemp("golden")


def plan(folder: Path, golden: Path, name: str, run: dict[str, Any]) -> Path:
    """The plan that does what a recorded run did, in batches far smaller than its corpus."""
    path = folder / f"{name}.toml"
    path.write_text(
        f'memory = "4GiB"\n[data]\nsources = ["{golden / run["samples"]}"]\ntokenizer = "gpt2"\n'
        f'split = "{run["segment_method"]}"\nmax_tokens = 2048\n'
        f'[learner]\nkind = "patterns"\nwidths = {run["levels"]}\nmode = "{run["mode"]}"\n'
        "[run]\nbatch_tokens = 1024\nsave_every = 0.02\n"
    )
    return path


def rows(memory: Memory, level: int) -> list[list[Any]]:
    return sorted([pattern.name, pattern.frequency, pattern.length] for pattern in memory.patterns(level))


def test_every_recorded_run_is_tested(recorded: dict[str, Any]) -> None:
    assert set(RUNS) == set(recorded)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_reproduced_exactly(
    golden: Path, recorded: dict[str, Any], folder: Path, name: str, workers: int
) -> None:
    run = recorded[name]

    result = headway.train(
        plan(folder, golden, name, run),
        overrides=[f"workers={workers}"],
        runs_dir=folder / f"runs-{workers}",
        datasets_dir=folder / "datasets",
        listeners=(),
    )

    assert result.documents == run["samples_processed"]
    # A worker is only started when there is a batch for it: several workers mean several batches.
    assert result.workers == workers
    with headway.open_memory(result.folder) as memory:
        levels = [rows(memory, level) for level in range(len(run["levels"]))]
    assert levels == [json.loads((golden / file).read_text()) for file in run["files"]]
    assert [sha256(json.dumps(level).encode()).hexdigest() for level in levels] == run["sha256"]
    assert [len(level) for level in levels] == run["distinct_patterns"]
    assert [sum(row[1] for row in level) for level in levels] == run["sum_of_frequencies"]
