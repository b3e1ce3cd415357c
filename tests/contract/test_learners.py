"""What every learner owes the loop; runs against each registered kind, and against the smallest honest one."""

import json
import math
import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from kinds import KINDS, Kind

from headway.data.build import build
from headway.data.config import DataSection
from headway.data.dataset import Dataset
from headway.feed.batch import Batch
from headway.feed.feed import Feed
from headway.learners import registry
from headway.learners.base import Evaluator, Learner, MergeLearner
from headway.plan.values import Mean, Place, Position

# Processes are forked here: threads that waited for work in this one would be waited for in vain there.
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Dataset]:
    """The same texts by any tokenizer."""
    folder = tmp_path_factory.mktemp("contract")
    rng = random.Random(3)
    words = [f"w{number}" for number in range(12)]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 80))) for _ in range(200)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    def built(tokenizer: str) -> Dataset:
        section = DataSection(sources=("corpus.jsonl",), tokenizer=tokenizer)
        return build(section, folder=folder, cache=folder / "datasets")

    return built


@pytest.fixture
def feed(kind: Kind, datasets: Callable[[str], Dataset]) -> Feed:
    return kind.feed(datasets(kind.tokenizer))


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


def learn(learner: Learner, batch: Batch, after: Position) -> None:
    """One step, and what the loop asks for at the end of an epoch."""
    learner.step(batch)
    if after.epoch > batch.position.epoch and isinstance(learner, Evaluator):
        learner.evaluate(after)


def uninterrupted(kind: Kind, feed: Feed, folder: Path) -> Any:
    learner = kind.learner(feed, folder)
    for batch, after in feed.batches(Position.START):
        learn(learner, batch, after)
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


def test_every_registered_kind_is_here() -> None:
    assert {kind.section.kind for kind in KINDS.values()} == {"counting", *registry.kinds()}


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
            learn(learner, batch, after)
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
        learn(learner, batch, after)
        learner.save(folder, after)
    learner.finish()
    learner.save(folder, feed.end)

    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "once")


def test_finishing_and_saving_twice_is_harmless(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    folder, learner = tmp_path / "twice", kind.learner(feed, tmp_path / "twice")
    for batch, after in feed.batches(Position.START):
        learn(learner, batch, after)
    for _ in range(2):
        learner.finish()
        learner.save(folder, feed.end)

    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "once")


def test_closing_twice_is_harmless(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    learner.step(feed.at(Position(0, 0)))

    learner.close()
    learner.close()


def test_metrics_are_finite_or_absent(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)

    metrics = [learner.step(batch) for batch, _ in feed.batches(Position.START)]

    assert all(is_finite(value) for each in metrics for value in each.values())
    learner.close()


def is_finite(value: float | Mean) -> bool:
    """A number, or a total over a weight that is not nothing."""
    if isinstance(value, Mean):
        return math.isfinite(value.total) and math.isfinite(value.weight) and value.weight > 0
    return type(value) in (int, float) and math.isfinite(value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_what_a_save_says_is_durable_outlives_a_kill_and_nothing_else_is_claimed(
    kind: Kind, feed: Feed, tmp_path: Path, steps: int
) -> None:
    folder = tmp_path / "killed"
    told = killed(kind, feed, folder, steps=steps)
    learner = kind.learner(feed, folder)
    found = learner.restore(folder)
    positions = [after for _, after in feed.batches(Position.START)]

    # Less than was saved, if the kill came before it was written; never less than the last save said.
    assert (found or Position.START) >= told
    assert found is None or found in positions[:steps]
    for batch, after in feed.batches(found or Position.START):
        learn(learner, batch, after)
    learner.finish()
    learner.save(folder, feed.end)
    assert ended(kind, folder, learner) == uninterrupted(kind, feed, tmp_path / "whole")


def killed(kind: Kind, feed: Feed, folder: Path, *, steps: int) -> Position:
    """The last position that a save returned, of a process that was killed right after so many of them."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        try:
            learner = kind.learner(feed, folder)
            for _, (batch, after) in zip(range(steps), feed.batches(Position.START), strict=False):
                learn(learner, batch, after)
                durable = learner.save(folder, after) or Position.START
                os.write(writing, f"{durable.epoch} {durable.batch}\n".encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        lines = file.read().splitlines()
    assert len(lines) == steps
    return Position(*map(int, lines[-1].split()))


def test_settling_makes_every_save_durable(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    for batch, after in feed.batches(Position.START):
        learn(learner, batch, after)
        learner.save(tmp_path, after)
    learner.settle()

    # Another one looks while the first is still at work: nothing is left to its end.
    saved = kind.outcome(tmp_path, learner)

    assert learner.save(tmp_path, feed.end) == feed.end
    learner.close()
    again = kind.learner(feed, tmp_path)
    assert again.restore(tmp_path) == feed.end
    assert ended(kind, tmp_path, again) == saved


def test_settling_without_a_save_is_harmless(kind: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = kind.learner(feed, tmp_path)
    learner.step(feed.at(Position(0, 0)))

    learner.settle()

    assert learner.restore(tmp_path) is None
    learner.close()


@pytest.fixture
def judging(kind: Kind) -> Kind:
    """Only kinds that can tell how good they are."""
    if kind.satisfied is None:
        pytest.skip("this kind does not tell how good it is")
    return kind


def test_what_a_learner_says_of_itself_is_finite_or_absent(judging: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = evaluator(judging.learner(feed, tmp_path))
    for batch, _ in feed.batches(Position.START):
        learner.step(batch)

    metrics = learner.evaluate(feed.end)

    assert metrics
    assert all(is_finite(value) for value in metrics.values())
    learner.close()


def test_evaluating_leaves_what_is_learned_alone(judging: Kind, feed: Feed, tmp_path: Path) -> None:
    asked, left = (evaluator(judging.learner(feed, tmp_path / name)) for name in ("asked", "left"))
    for batch, _ in feed.batches(Position.START):
        for learner in (asked, left):
            learner.step(batch)
        if batch.position == Position(0, 2):
            # As if an epoch ended here: what an evaluation decides (rates, an end) takes more than one.
            asked.evaluate(Position(1, 0))
    for name, learner in (("asked", asked), ("left", left)):
        learner.save(tmp_path / name, feed.end)

    assert ended(judging, tmp_path / "asked", asked)[-1] == ended(judging, tmp_path / "left", left)[-1]


def test_one_that_has_enough_still_has_after_a_crash(judging: Kind, feed: Feed, tmp_path: Path) -> None:
    kind = replace(judging, section=judging.satisfied)
    learner = evaluator(kind.learner(feed, tmp_path))
    for batch, after in feed.batches(Position.START):
        assert not learner.enough
        learn(learner, batch, after)
        if after == Position(1, 0):
            break
    assert learner.enough
    learner.save(tmp_path, Position(1, 0))
    learner.close()

    again = evaluator(kind.learner(feed, tmp_path))

    assert again.restore(tmp_path) == Position(1, 0)
    assert again.enough
    again.close()


def test_what_was_told_of_a_saved_state_is_told_of_it_when_restored(judging: Kind, feed: Feed, tmp_path: Path) -> None:
    learner = evaluator(judging.learner(feed, tmp_path))
    for batch, after in feed.batches(Position.START):
        learn(learner, batch, after)
    learner.save(tmp_path, feed.end)
    learner.settle()
    before = learner.totals()
    learner.close()

    again = judging.learner(feed, tmp_path)
    again.restore(tmp_path)

    assert again.totals()["evaluation"] == before["evaluation"]
    again.close()


def evaluator(learner: Learner) -> Any:
    """The same, known to be an Evaluator as well."""
    assert isinstance(learner, Evaluator)
    return learner


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
