from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.machine import describe
from headway.run import team
from headway.run.launch.messages import Refused
from headway.run.team import Means, fitted, means, merging


class Learner:
    """A learner that works alone."""

    parallel = "single"
    closed = False

    def step(self, batch: object) -> dict[str, float]:
        return {}

    def save(self, folder: Path, position: object) -> None: ...
    def restore(self, folder: Path) -> None: ...
    def finish(self) -> None: ...
    def totals(self) -> dict[str, object]:
        return {}

    def close(self) -> None:
        self.closed = True


def test_what_a_plan_says_is_taken() -> None:
    assert means(3, 1000) == Means(3, 1000)


def test_what_it_leaves_open_is_decided_by_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "usable_cores", lambda: 6)
    monkeypatch.setattr(team, "free_memory", lambda: 4000)

    assert means(None, None) == Means(6, 1000)
    assert describe.usable_cores() >= 1


@pytest.mark.parametrize(("batches", "workers"), [(0, 1), (1, 1), (3, 3), (100, 8)])
def test_workers_are_fitted_to_batches(batches: int, workers: int) -> None:
    class Feed:
        total_batches = batches

    feed: Any = Feed()

    assert fitted(Means(8, 1), feed).workers == workers


def test_a_learner_that_works_alone_is_refused_several_workers() -> None:
    learner: Any = Learner()

    with pytest.raises(RunError, match="set workers = 1"):
        merging(learner)
    assert learner.closed


def test_an_error_travels_with_type_message_and_attributes() -> None:
    from headway.errors import PlanError

    error = Refused.of(PlanError("demo.toml", ["a: wrong", "b: wrong"])).error()

    assert isinstance(error, PlanError)
    assert str(error) == str(PlanError("demo.toml", ["a: wrong", "b: wrong"]))
    assert (error.where, error.problems) == ("demo.toml", ["a: wrong", "b: wrong"])
