"""The number of threads is settled once and kept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from headway.errors import DataError, RunError
from headway.learners.gradient import threads
from headway.learners.gradient.pace import pace


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with one core, and the threads that were there."""
    monkeypatch.setattr(threads, "_cores", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def never() -> None:
    raise AssertionError("nothing had to be tried")


def test_what_the_plan_says_is_set_without_a_trial(tmp_path: Path) -> None:
    assert pace(tmp_path / "threads.json", given=2, trial=never) == 2
    assert torch.get_num_threads() == 2
    assert not (tmp_path / "threads.json").exists()


def test_what_a_trial_finds_is_kept_and_not_tried_again(tmp_path: Path) -> None:
    path, tried = tmp_path / "threads.json", []

    found = pace(path, given=None, trial=lambda: tried.append(1))

    assert found == 1
    assert tried
    assert json.loads(path.read_text()).keys() == {"threads", "seconds"}
    assert pace(path, given=None, trial=never) == 1


def test_what_was_kept_is_set_on_a_machine_with_other_cores(tmp_path: Path) -> None:
    (tmp_path / "threads.json").write_text('{"threads": 2}')

    assert pace(tmp_path / "threads.json", given=None, trial=never) == 2
    assert torch.get_num_threads() == 2


def test_where_there_is_nothing_to_try_threads_stay_as_they_are(tmp_path: Path) -> None:
    assert pace(tmp_path / "threads.json", given=None, trial=None) == 1
    assert not (tmp_path / "threads.json").exists()


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"threads": 0}', '{"threads": "two"}'])
def test_a_damaged_note_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "threads.json").write_text(content)

    with pytest.raises((RunError, DataError), match=r"threads\.json"):
        pace(tmp_path / "threads.json", given=None, trial=never)
