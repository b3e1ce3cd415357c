"""What every learner owes the loop; runs against each registered kind, and against the smallest honest one."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import counting
import pytest

from headway.data.build import build
from headway.data.config import DataSection
from headway.feed.feed import Feed
from headway.learners import registry
from headway.learners.base import Learner, MergeLearner, Setup
from headway.plan.values import Place, Position

BATCH_TOKENS = 1024
MEMORY = 512 << 20


@dataclass(frozen=True)
class Kind:
    """One kind of learner under test."""

    section: Any
    make: Callable[[Setup], Learner]
    outcome: Callable[[Path, Learner], Any]

    def learner(self, feed: Feed, folder: Path, place: Place | None = None) -> Learner:
        folder.mkdir(exist_ok=True)
        return self.make(Setup(self.section, feed.dataset, folder, place or Place(), MEMORY))


def pattern_outcome(folder: Path, learner: Learner) -> Any:
    """Every pattern of a memory with its frequency."""
    from headway.learners.patterns.memory import open_memory

    memory = open_memory(folder)
    return [
        sorted((pattern.name, pattern.frequency, tuple(pattern.symbols)) for pattern in memory.patterns(level=number))
        for number in range(len(memory.levels))
    ]


def told_outcome(folder: Path, learner: Learner) -> Any:
    """What a learner without a reader of its own says about its saved state."""
    return learner.totals()


OUTCOMES: dict[str, Callable[[Path, Learner], Any]] = {"patterns": pattern_outcome}
KINDS = {
    "counting": Kind(counting.Section(), counting.make, lambda folder, learner: counting.counts(folder)),
    **{
        name: Kind(section(), registry.make, OUTCOMES.get(name, told_outcome))
        for name, section in registry.kinds().items()
    },
}


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Feed:
    folder = tmp_path_factory.mktemp("contract")
    rng = random.Random(3)
    words = [f"w{number}" for number in range(12)]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 80))) for _ in range(200)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    section = DataSection(sources=("corpus.jsonl",), tokenizer="words")
    return Feed(build(section, folder=folder, cache=folder / "datasets"), BATCH_TOKENS)


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def merging(kind: Kind, feed: Feed, tmp_path: Path) -> Kind:
    """Only kinds whose parts add up."""
    learner = kind.learner(feed, tmp_path / "probe")
    parallel = learner.parallel
    learner.close()
    if parallel != "merge":
        pytest.skip(f"a {parallel} learner does not merge")
    assert isinstance(learner, MergeLearner)
    return kind


def uninterrupted(kind: Kind, feed: Feed, folder: Path) -> Any:
    learner = kind.learner(feed, folder)
    for batch, _ in feed.batches(Position.START):
        learner.step(batch)
    learner.finish()
    learner.save(folder, feed.end)
    return ended(kind, folder, learner)


def ended(kind: Kind, folder: Path, learner: Learner) -> Any:
    try:
        return kind.outcome(folder, learner)
    finally:
        learner.close()


def merge(learner: Learner) -> MergeLearner:
    assert isinstance(learner, MergeLearner)
    return learner


def test_it_is_a_learner(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)

    assert isinstance(learner, Learner)
    assert learner.parallel in ("merge", "lockstep", "single")
    learner.close()


def test_a_new_folder_has_nothing_to_restore(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)

    assert learner.restore(tmp_path) is None
    learner.close()


def test_what_was_saved_is_restored_with_its_position(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    learner.step(feed.at(Position(0, 0)))
    learner.save(tmp_path, Position(0, 1))
    learner.close()

    again = kind.learner(feed, tmp_path)

    assert again.restore(tmp_path) == Position(0, 1)
    again.close()


@pytest.mark.parametrize("crashes", [(1,), (2, 3), (1, 2, 3, 4)])
def test_a_crash_anywhere_equals_never_crashed(
    kind: Kind, feed: Feed, tmp_path: Path, crashes: tuple[int, ...]
) -> None:
    folder, learner = tmp_path / "crashed", kind.learner(feed, tmp_path / "crashed")
    for crash in (*crashes, None):
        for batch, after in feed.batches(learner.restore(folder) or Position.START):
            learner.step(batch)
            if batch.position.batch == crash:
                # Learned but neither saved nor finished: closing keeps nothing, as a kill would.
                learner.close()
                learner = kind.learner(feed, folder)
                break
            learner.save(folder, after)
    learner.finish()
    learner.save(folder, feed.end)

    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "whole")


def test_when_it_saves_changes_nothing(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    folder, learner = tmp_path / "often", kind.learner(feed, tmp_path / "often")
    for batch, after in feed.batches(Position.START):
        learner.step(batch)
        learner.save(folder, after)
    learner.finish()
    learner.save(folder, feed.end)

    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "once")


def test_finishing_and_saving_twice_is_harmless(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    folder, learner = tmp_path / "twice", kind.learner(feed, tmp_path / "twice")
    for batch, _ in feed.batches(Position.START):
        learner.step(batch)
    for _ in range(2):
        learner.finish()
        learner.save(folder, feed.end)

    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "once")


def test_closing_twice_is_harmless(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    learner.step(feed.at(Position(0, 0)))

    learner.close()
    learner.close()


def test_metrics_are_finite_numbers(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)

    metrics = learner.step(feed.at(Position(0, 0)))

    assert all(type(value) in (int, float) and math.isfinite(value) for value in metrics.values())
    learner.close()


def test_totals_are_json(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    learner.step(feed.at(Position(0, 0)))
    learner.save(tmp_path, Position(0, 1))

    totals = learner.totals()

    assert totals
    assert json.loads(json.dumps(totals, allow_nan=False)) == totals
    learner.close()


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_parts_of_any_number_of_workers_equal_one_pass(merging: Kind, feed: Feed, tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "merged"
    head = merge(merging.learner(feed, folder, Place(0, workers + 1)))
    others = [merge(merging.learner(feed, folder, Place(rank + 1, workers + 1))) for rank in range(workers)]
    rng = random.Random(workers)
    for number, (batch, after) in enumerate(feed.batches(Position.START)):
        rng.choice(others).step(batch)
        if number % 3 == 2:
            head.adopt([worker.flush() for worker in others])
            head.save(folder, after)
    head.adopt([json.loads(json.dumps(worker.flush())) for worker in reversed(others)])
    head.finish()
    head.save(folder, feed.end)
    for worker in others:
        worker.close()

    assert ended(merging, folder, head) == uninterrupted(merging, feed, tmp_path / "whole")


def test_parts_that_no_save_adopted_do_not_count(merging: Kind, feed: Feed, tmp_path: Path) -> None:
    folder = tmp_path / "orphans"
    lost = merge(merging.learner(feed, folder, Place(1, 2)))
    lost.step(feed.at(Position(0, 0)))
    lost.flush()
    lost.close()
    learner = merging.learner(feed, folder)
    for batch, _ in feed.batches(learner.restore(folder) or Position.START):
        learner.step(batch)
    learner.finish()
    learner.save(folder, feed.end)

    assert ended(merging, folder, learner) == uninterrupted(merging, feed, tmp_path / "whole")
