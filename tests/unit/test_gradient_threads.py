"""The number of threads is what was measured to be fastest, and waiting threads sleep."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from headway.learners.gradient import threads
from headway.learners.gradient.threads import Choice, choose, quiet_waiting


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


class Machine:
    """A clock that a trial moves, by how long it takes with the threads that are set."""

    def __init__(self, takes: dict[int, list[float]]) -> None:
        self.now = 0.0
        self.takes = takes
        self.tried: list[int] = []

    def clock(self) -> float:
        return self.now

    def trial(self) -> None:
        number = torch.get_num_threads()
        self.now += self.takes[number][self.tried.count(number)]
        self.tried.append(number)


def test_the_fastest_is_chosen_set_and_told() -> None:
    machine = Machine({1: [9, 5, 6, 7], 2: [0, 4, 8, 8], 3: [1, 6, 6, 6]})

    found = choose(machine.trial, [3, 1, 2], clock=machine.clock)

    assert found == Choice(2, {1: 5, 2: 4, 3: 6})
    assert torch.get_num_threads() == 2


def test_candidates_take_turns_and_the_first_round_does_not_count() -> None:
    machine = Machine({1: [0, 5, 5, 5], 2: [9, 3, 3, 3]})

    choose(machine.trial, [1, 2], clock=machine.clock)

    assert machine.tried == [1, 2] * 4


def test_equally_fast_is_decided_for_fewer_threads() -> None:
    machine = Machine({1: [1] * 4, 2: [1] * 4})

    assert choose(machine.trial, [2, 1], clock=machine.clock).threads == 1


def test_a_trial_that_fails_leaves_the_threads_as_they_were() -> None:
    torch.set_num_threads(1)

    def fails() -> None:
        raise RuntimeError("no trial")

    with pytest.raises(RuntimeError, match="no trial"):
        choose(fails, [2])
    assert torch.get_num_threads() == 1


def test_without_candidates_those_of_this_machine_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    machine = Machine({number: [float(number)] * 4 for number in (1, 3)})

    assert choose(machine.trial, clock=machine.clock).seconds == {1: 1.0, 3: 3.0}


def test_cores_are_those_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = threads._cores()
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)

    assert allowed >= 1
    assert threads._cores() == 1


@pytest.mark.parametrize(
    ("given", "first", "expected"),
    [("", "", "set PASSIVE"), ("ACTIVE", "", "given ACTIVE"), ("", "sys.modules['torch'] = None;", "late None")],
)
def test_waiting_is_decided_before_torch_is_loaded_or_not_at_all(given: str, first: str, expected: str) -> None:
    program = (
        f"import os, sys; {first} from headway.learners.gradient.threads import quiet_waiting; "
        "print(quiet_waiting(), os.environ.get('OMP_WAIT_POLICY'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    if given:
        environment["OMP_WAIT_POLICY"] = given

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == expected


def test_in_this_process_it_is_late_or_given_or_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    late = quiet_waiting()
    monkeypatch.delitem(sys.modules, "torch")
    now = quiet_waiting()
    again = quiet_waiting()
    policy = os.environ["OMP_WAIT_POLICY"]
    monkeypatch.delenv("OMP_WAIT_POLICY")

    assert (late, now, again, policy) == ("late", "set", "given", "PASSIVE")
