"""Which plans may continue each other's runs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from headway.errors import PlanError
from headway.plan.fingerprint import check_resume, differences, fingerprint, resolved
from headway.plan.load import Kinds, plan_from
from headway.plan.plan import Plan
from headway.plan.section import CAREFUL, FREE, GROWING, Strings


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    rows: int = 10
    threads: Annotated[int, FREE] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    sources: Strings
    engine: Annotated[str, FREE] = "auto"
    cache: Cache = Cache()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    kind: Literal["counter"]
    widths: tuple[int, ...] = (5, 7)
    patience: Annotated[int, CAREFUL] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Echo:
    kind: Literal["echo"]
    loud: bool = False
    steps: Annotated[tuple[int, ...], GROWING] = ()


KINDS = Kinds(data=Data, learners={"counter": Counter, "echo": Echo})


def made(folder: str = "/plans", **changes: Any) -> Plan:
    mapping = {"data": {"sources": "a"}, "learner": {"kind": "counter"}, **changes}
    return plan_from(mapping, folder=Path(folder), kinds=KINDS)


def test_a_resolved_plan_holds_every_value_and_makes_the_same_plan() -> None:
    plan = made(memory="1GiB", learner={"kind": "counter", "widths": [2, 3]})

    values = json.loads(json.dumps(resolved(plan)))

    assert values["memory"] == 1 << 30
    assert values["data"] == {"sources": ["a"], "engine": "auto", "cache": {"rows": 10, "threads": 1}}
    assert plan_from(values, folder=plan.folder, kinds=KINDS) == plan


@pytest.mark.parametrize(
    "change",
    [
        {"workers": 3},
        {"name": "other"},
        {"run": {"save_every": 1, "epochs": 4, "documents": 9}},
        {"data": {"sources": "a", "engine": "slow", "cache": {"threads": 9}}},
        {"folder": "/elsewhere"},
    ],
)
def test_what_may_change_is_not_in_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint(made(**change)) == fingerprint(made())


@pytest.mark.parametrize(
    "change",
    [
        {"run": {"seed": 1}},
        {"run": {"batch_tokens": 2048}},
        {"data": {"sources": "b"}},
        {"data": {"sources": "a", "cache": {"rows": 11}}},
        {"learner": {"kind": "counter", "widths": [5]}},
        {"learner": {"kind": "echo"}},
    ],
)
def test_a_fixed_setting_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert fingerprint(made(**change)) != fingerprint(made())


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert fingerprint(made()) == "1dbe0cf274e0efca5d56cd82f00c341c"


def stepping(*steps: int) -> Plan:
    return made(learner={"kind": "echo", "steps": list(steps)})


@pytest.mark.parametrize(("before", "after"), [((1, 2), (1, 2, 3)), ((1,), (1, 5, 6)), ((1, 2, 3), (1, 2))])
def test_a_growing_list_may_change_at_its_end_with_a_warning(before: tuple[int], after: tuple[int]) -> None:
    found = check_resume(resolved(stepping(*before)), resolved(stepping(*after)), KINDS)

    assert [difference.path for difference in found] == ["learner.steps"]
    assert fingerprint(stepping(*before)) == fingerprint(stepping(*after))


@pytest.mark.parametrize(("before", "after"), [((1, 2), (1, 3, 3)), ((1,), (2, 1)), ((), (1,)), ((1,), ())])
def test_what_a_growing_list_has_begun_with_is_fixed(before: tuple[int], after: tuple[int]) -> None:
    with pytest.raises(PlanError, match=r"learner\.steps: "):
        check_resume(resolved(stepping(*before)), resolved(stepping(*after)), KINDS)


def test_equal_plans_have_no_differences() -> None:
    assert differences(resolved(made()), resolved(made()), KINDS) == []


def test_differences_say_where_from_what_to_what() -> None:
    new = made(workers=2, data={"sources": "a", "cache": {"rows": 11}}, run={"epochs": 2})

    found = [str(difference) for difference in differences(resolved(made()), resolved(new), KINDS)]

    assert found == [
        "data.cache.rows: 10 when the run began, 11 now",
        "run.epochs: 1 when the run began, 2 now",
        "workers: not set when the run began, 2 now",
    ]


def test_another_kind_of_learner_is_one_difference() -> None:
    new = made(learner={"kind": "echo", "loud": True})

    found = [str(difference) for difference in differences(resolved(made()), resolved(new), KINDS)]

    assert found == ['learner.kind: "counter" when the run began, "echo" now']


def test_a_setting_newer_than_the_saved_plan_had_its_default() -> None:
    old = resolved(made())
    del old["run"]["seed"], old["data"]["cache"]

    assert differences(old, resolved(made()), KINDS) == []
    assert [d.path for d in differences(old, resolved(made(run={"seed": 4})), KINDS)] == ["run.seed"]


def test_what_a_run_decided_is_no_difference() -> None:
    old = resolved(made()) | {"decided": {"workers": {"value": 2, "why": "one per usable core"}}}

    assert differences(old, resolved(made()), KINDS) == []
    assert differences(resolved(made()), old, KINDS) == []


def test_a_setting_that_no_longer_exists_forbids_to_continue() -> None:
    old = resolved(made())
    old["learner"]["depth"] = 4

    with pytest.raises(PlanError, match=r"learner\.depth: 4 when the run began, not set now"):
        check_resume(old, resolved(made()), KINDS)


def test_resume_lists_every_fixed_difference_and_the_way_out() -> None:
    new = made(learner={"kind": "counter", "widths": [5], "patience": 4}, run={"seed": 1}, workers=2)

    with pytest.raises(PlanError, match="--new") as caught:
        check_resume(resolved(made()), resolved(new), KINDS)

    assert caught.value.problems == [
        "learner.widths: [5, 7] when the run began, [5] now",
        "run.seed: 0 when the run began, 1 now",
    ]


def test_resume_returns_the_careful_differences_only() -> None:
    new = made(learner={"kind": "counter", "patience": 4}, run={"epochs": 2}, workers=2)

    assert [d.path for d in check_resume(resolved(made()), resolved(new), KINDS)] == ["learner.patience", "run.epochs"]
