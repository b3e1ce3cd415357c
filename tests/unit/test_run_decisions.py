"""What a run decides for itself is kept with its reason."""

from pathlib import Path

import pytest

from headway.data.config import DataSection
from headway.data.report import BuildReport
from headway.plan.plan import Plan
from headway.run import decisions as module
from headway.run.decisions import decisions, kept
from headway.run.team import Means

GIB = 1 << 30


def plan(workers: int | None = None, memory: int | None = None) -> Plan:
    data = DataSection(sources=("a.txt",))
    return Plan(name="p", data=data, learner=object(), workers=workers, memory=memory, folder=Path("/p"))


@pytest.fixture(autouse=True)
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: 4)


@pytest.mark.parametrize(
    ("wanted", "workers", "batches", "why"),
    [
        (None, 4, None, "one for each of 4 usable cores"),
        (None, 4, 100, "one for each of 4 usable cores"),
        (None, 3, 3, "there are no more batches than that for 4 workers"),
        (8, 3, 3, "there are no more batches than that for 8 workers"),
        (None, 1, 0, "there are no more batches than that for 4 workers"),
        (None, 1, 100, "a learner of this kind works alone"),
    ],
)
def test_the_number_of_workers_has_a_reason(wanted: int | None, workers: int, batches: int | None, why: str) -> None:
    made = decisions(plan(wanted), Means(workers, GIB), batches=batches)

    assert made["workers"] == {"value": workers, "why": why}


def test_memory_that_the_plan_leaves_open_is_a_quarter_of_what_was_free() -> None:
    assert decisions(plan(), Means(4, GIB))["memory"] == {"value": GIB, "why": "a quarter of the 4 GiB that were free"}


def test_what_the_plan_says_is_no_decision() -> None:
    assert decisions(plan(2, GIB), Means(2, GIB)).keys() == {"data.engine"}


@pytest.mark.parametrize(
    ("report", "value", "why"),
    [
        (None, None, "decided by the build"),
        (BuildReport(reused=True), None, "nothing had to be tokenised"),
        (BuildReport(reused=False, engine="python"), "python", "no other"),
        (BuildReport(reused=False, engine="gigatoken"), "gigatoken", "the fastest"),
    ],
)
def test_the_engine_is_the_builds_decision(report: BuildReport | None, value: str | None, why: str) -> None:
    made = decisions(plan(), Means(4, GIB), report=report)["data.engine"]

    assert made["value"] == value
    assert why in made["why"]


def test_a_run_that_goes_on_keeps_the_engine_its_dataset_was_built_with() -> None:
    built = decisions(plan(), Means(4, GIB), report=BuildReport(reused=False, engine="gigatoken"))
    found = decisions(plan(), Means(2, GIB), batches=2, report=BuildReport(reused=True))

    assert kept(found, built) == {**found, "data.engine": built["data.engine"]}
    assert kept(built, found) == built
    assert kept(found, {}) == found
