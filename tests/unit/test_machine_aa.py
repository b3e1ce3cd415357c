"""The benchmark of the bench: verdicts are counted, and known differences found."""

import random

import pytest
from made_machine import figure, result

import machine_aa
from headway.machine.result import BenchResult


def suite(seed: int) -> BenchResult:
    chance = random.Random(seed)
    values = [100 * chance.lognormvariate(0, 0.02) for _ in range(10)]
    made = result(
        figure("disk.write", values), figure("network.loopback", values, better="less"), figure("gpu.copy", [])
    )
    hardware = {"fingerprint": "f", "processor": {}, "memory": {}, "system": {}, "disks": [{"folder": "/secret"}]}
    return BenchResult(**{name: getattr(made, name) for name in made.__slots__} | {"hardware": hardware})


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    return machine_aa.summary([suite(number) for number in range(6)])


def test_every_suite_is_compared_with_the_two_before_it(found: dict[str, object]) -> None:
    assert found["comparisons"] == 5 + 4
    assert found["verdicts"] == {"not different": 9}
    assert found["figures"] == {"not different": 18}
    assert found["falsely_different"] == []


def test_what_is_made_worse_is_found_whichever_way_is_better(found: dict[str, object]) -> None:
    shares = found["found"]

    assert isinstance(shares, dict)
    assert shares["1.5"] == {"disk.write": 1.0, "network.loopback": 1.0}
    assert shares["1.1"] == {}, "a figure's margin is the least that is told"


def test_a_result_says_nothing_of_folders(found: dict[str, object]) -> None:
    assert "/secret" not in str(found)
