"""What will bound a training on a measured machine."""

from typing import Any

import pytest
from made_machine import figure, result

from headway.errors import PlanError
from headway.machine.figure import Figure
from headway.machine.limits import BottleneckPrediction, Workload, predict
from headway.machine.result import BenchResult

MIB = 1 << 20


def machine(*, learn: float = 1e6, size: float = 32.0, write: float = 1000.0, read: float = 1000.0) -> BenchResult:
    """A machine by what it learns in patterns/s, writes in bytes/pattern, and writes and reads in MiB/s."""
    given = {"patterns.learn": learn, "store.bytes": size, "disk.write": write, "disk.read": read}
    return result(*(figure(name, [value] * 6) for name, value in given.items()))


def predicted(known: BenchResult, *, cores: int = 1, free_bytes: int = 1 << 60, **work: Any) -> BottleneckPrediction:
    asked = {"samples": 1000, "chunk_size": 10, "levels": 2, "tokens_per_sample": 100.0} | work
    return predict(known, Workload(**asked), cores=cores, free_bytes=free_bytes)


def test_seconds_are_the_work_of_each_resource_over_what_it_can_do() -> None:
    found = predicted(machine())
    # 100,000 tokens are 10,000 patterns of level 0 and 1,000 of level 1.
    assert found.seconds == {
        "cpu": pytest.approx(11_000 / 1e6),
        "disk_write": pytest.approx(11_000 * 32 / (1000 * MIB)),
        "disk_read": pytest.approx(200_000 / (1000 * MIB)),
    }
    assert found.storage_bytes == pytest.approx(11_000 * 32)
    assert found.samples_per_second == pytest.approx(1000 / (11_000 / 1e6))


def test_it_prints_as_the_resource_and_scores_are_shares_of_the_longest() -> None:
    found = predicted(machine())

    assert f"{found}" == found.resource == "cpu"
    assert found.scores["cpu"] == 1.0
    assert list(found.scores) == ["cpu", "disk_write", "disk_read"]
    assert found.next_resource == "disk_write"
    assert found.margin == pytest.approx(found.seconds["cpu"] / found.seconds["disk_write"])


@pytest.mark.parametrize(
    ("slow", "resource"),
    [({"write": 0.1}, "disk_write"), ({"read": 0.01}, "disk_read"), ({"learn": 10.0}, "cpu")],
)
def test_the_slowest_resource_bounds(slow: dict[str, float], resource: str) -> None:
    assert str(predicted(machine(**slow))) == resource


def test_the_verdict_depends_on_the_workload() -> None:
    # Wide patterns leave little to learn of each token that is read.
    known = machine(read=20.0, write=1e6)

    assert str(predicted(known, chunk_size=2)) == "cpu"
    assert str(predicted(known, chunk_size=1000)) == "disk_read"


def test_more_cores_move_the_limit_to_the_disk() -> None:
    known = machine(write=50.0)

    assert [str(predicted(known, cores=cores)) for cores in (1, 64)] == ["cpu", "disk_write"]


def test_two_resources_that_are_close_bound_together() -> None:
    assert str(predicted(machine(learn=1e6, size=1.0, write=0.9))) == "disk_write or cpu"


def test_what_was_not_measured_makes_the_verdict_unknown() -> None:
    known = result(*(each for each in machine().figures if each.name != "disk.read"))
    lacking = Figure(name="disk.read", unit="MiB/s", why="it lies in memory")
    found = predicted(result(*known.figures, lacking))

    assert (found.resource, found.samples_per_second) == ("unknown", None)
    assert found.absent["disk_read"] == "disk.read: it lies in memory"
    assert set(found.seconds) == {"cpu", "disk_write"}
    assert predicted(result()).scores == {}


def test_resources_that_are_not_used_have_no_score_and_say_why() -> None:
    found = predicted(machine())

    assert {"memory", "network"} <= set(found.absent)
    assert {"memory", "network"}.isdisjoint(found.scores)


@pytest.mark.parametrize(("free", "fits"), [(1 << 20, True), (1 << 10, False)])
def test_a_disk_that_is_too_small_is_told(free: int, fits: bool) -> None:
    assert predicted(machine(), free_bytes=free).fits is fits


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"samples": 0}, "dataset_size"), ({"chunk_size": 1}, "chunk_size"), ({"levels": 0}, "num_nodes")],
)
def test_a_workload_that_cannot_be_is_an_error(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        predicted(machine(), **wrong)
