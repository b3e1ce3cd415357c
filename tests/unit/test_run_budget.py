import os

import pytest

from headway.errors import RunError
from headway.run.budget import COPIED_PER_WORKER, LEAST, alone, for_head, for_worker, resident

MIB = 1 << 20


def test_all_shares_together_stay_within_the_plan() -> None:
    total, held = 1024 * MIB, 300 * MIB

    each = for_worker(total, held, 8)

    assert held + for_head(total) + 8 * (each + COPIED_PER_WORKER) <= total
    assert alone(total, held) + held == total


def test_more_memory_is_more_for_each() -> None:
    assert for_worker(2048 * MIB, 300 * MIB, 4) > for_worker(1024 * MIB, 300 * MIB, 4)


@pytest.mark.parametrize("workers", [1, 8])
def test_what_the_error_asks_for_is_enough(workers: int) -> None:
    from headway.plan.section import parse_bytes

    total, held = 128 * MIB, 300 * MIB

    with pytest.raises(RunError) as caught:
        for_worker(total, held, workers)
    asked = str(caught.value).split("Set memory to ")[1].split(" or more")[0]
    assert for_worker(parse_bytes(asked), held, workers) >= LEAST


def test_this_process_holds_something() -> None:
    assert resident() > MIB
    assert resident([os.getpid()]) > MIB


def test_what_the_system_does_not_tell_counts_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.machine import describe

    monkeypatch.setattr(describe, "resident_bytes", lambda pids: None)

    assert resident() == 0
