"""The trainers of the seeds give what the original's trainers gave."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from headway.tools import (
    HierarchicalConceptLearner,
    HierarchicalNode,
    train_from_streaming_dataset,
    train_from_streaming_dataset_parallel,
)
from plain_learner import PlainLearner

RUNS = ["samples_50", "corner_l579", "corner_l32", "corner_l13", "corner_l15x4", "corner_sent"]
SEVERAL_BATCHES = 5


def learner_of(widths: list[int], mode: Any = "chunking") -> HierarchicalConceptLearner:
    nodes = [HierarchicalNode(f"node{i}", chunk_size=width, mode=mode) for i, width in enumerate(widths)]
    return HierarchicalConceptLearner(nodes=nodes, tokenizer_name="gpt2", node0_batch_size=50, verbose_init=False)


def rows_of(learner: HierarchicalConceptLearner, level: int) -> list[list[Any]]:
    return sorted([each.name, each.frequency, each.length] for each in learner.memory.patterns(level=level))


def check(golden: Path, run: dict[str, Any], learner: HierarchicalConceptLearner) -> None:
    for level, (file, digest) in enumerate(zip(run["files"], run["sha256"], strict=True)):
        rows = rows_of(learner, level)
        assert rows == json.loads((golden / file).read_text())
        assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == digest


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_recorded_run_is_reproduced_exactly(golden: Path, name: str, workers: int) -> None:
    run = json.loads((golden / "runs.json").read_text())[name]
    learner = learner_of(run["levels"], run["mode"])

    stats = train_from_streaming_dataset_parallel(
        dataset_key=str(golden / run["samples"]),
        max_samples=None,
        learner=learner,
        num_levels=len(run["levels"]),
        segment_method=run["segment_method"],
        num_workers=workers,
        checkpoint_interval=SEVERAL_BATCHES,
        verbose=False,
    )

    check(golden, run, learner)
    assert (stats["samples_processed"], stats["errors"]) == (run["samples_processed"], run["samples_with_error"])
    assert [stats[f"node{i}_patterns"] for i in range(len(run["levels"]))] == run["sum_of_frequencies"]
    assert stats["num_workers"] == workers
    if name == "samples_50":
        assert stats["workers_used"] == workers


def test_the_sequential_trainer_gives_the_same(golden: Path) -> None:
    run = json.loads((golden / "runs.json").read_text())["samples_50"]
    learner = learner_of(run["levels"])

    train_from_streaming_dataset(str(golden / run["samples"]), 50, learner, num_levels=3, verbose=False)

    check(golden, run, learner)


def test_a_middle_level_of_width_one_hands_the_empty_name_upward_as_the_plain_learner_does(golden: Path) -> None:
    learner = learner_of([5, 1, 4])
    train_from_streaming_dataset(str(golden / "samples_50.jsonl"), None, learner, num_levels=3, verbose=False)
    with gzip.open(golden / "tokens.jsonl.gz", "rt", encoding="utf-8") as lines:
        tokens = {row["text"]: row["tokens"] for row in map(json.loads, lines)}
    symbols = sorted({token for paragraph in tokens.values() for token in paragraph})
    number = {symbol: place for place, symbol in enumerate(symbols)}
    plain = PlainLearner(symbols, widths=[5, 1, 4])

    from headway.data.segment import segments

    for line in (golden / "samples_50.jsonl").read_text(encoding="utf-8").splitlines():
        paragraphs = segments(json.loads(line)["text"], "simple")
        plain.learn([[number[token] for token in tokens[text][:2048]] for text in paragraphs])

    for level, expected in enumerate(plain.rows()):
        assert rows_of(learner, level) == [list(row) for row in expected]
    assert [pattern.symbols for pattern in learner.memory.top(1, level=2)] == [("",) * 4]
