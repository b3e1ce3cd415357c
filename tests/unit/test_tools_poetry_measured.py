"""Answers that are counted or measured."""

from pathlib import Path
from typing import Any

import pytest
import torch
from made_poems import write_poems

from headway.errors import PlanError, RunError
from headway.tools import (
    ArchitectureConfig,
    count_parameters,
    estimate_memory_requirements,
    get_optimal_batch_size,
    measure_batch_sizes,
    needs,
    poetry_measured,
    print_system_info,
    suggest_architecture_for_data,
)

SMALL: dict[str, Any] = {"hidden_size": 16, "bottleneck_size": 8}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_parameters_are_those_of_the_built_network() -> None:
    assert round(count_parameters() / 1e6, 2) == 3.59
    lstm = 4 * 16 * (20 + 16) + 8 * 16
    assert count_parameters(SMALL, 20) > 2 * lstm
    assert ArchitectureConfig(**SMALL).count_parameters(20) == count_parameters({**SMALL, "input_size": 20})


def test_a_token_head_has_weights_for_every_word() -> None:
    head = {**SMALL, "token_head": "free"}

    assert count_parameters(head, 20, 100) - count_parameters(SMALL, 20) == 100 * 20 + 100
    with pytest.raises(PlanError, match="vocabulary_size: a token head has weights for every word"):
        count_parameters(head)


def test_memory_is_counted_and_what_a_batch_keeps_is_measured() -> None:
    small, large = (estimate_memory_requirements(SMALL, size, 12, input_size=20) for size in (8, 16))

    assert small.parameters == count_parameters(SMALL, 20)
    assert (small.weights, small.gradients, small.optimizer) == tuple(4 * small.parameters * n for n in (1, 1, 2))
    # At least the vectors that are read and written, and what the recurrent parts remember.
    assert small.activations > 4 * 8 * 12 * (2 * 20 + 2 * 5 * 16)
    assert 1.5 * small.activations < large.activations < 2.5 * small.activations
    assert small.vectors is None and small.total == 16 * small.parameters + small.activations
    told = estimate_memory_requirements(SMALL, 8, 12, input_size=20, vocabulary_size=1000)
    assert told.vectors == 2 * 4 * 1000 * 20


class Clock:
    """Each step takes as long as the test says."""

    def __init__(self, seconds: list[float]) -> None:
        self.now, self.left = 0.0, seconds

    def __call__(self) -> float:
        return self.now

    def step(self) -> None:
        self.now += self.left.pop(0)


def test_the_batch_size_is_the_one_that_was_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([9, 2.0, 1.0, 9, 1.0, 1.0, 9, 4.0, 3.0])
    monkeypatch.setattr(poetry_measured, "_step", lambda *_: clock.step)
    found = measure_batch_sizes(SMALL, 12, candidates=(4, 2, 8), seconds=100, clock=clock)

    assert found == {2: 2.0, 4: 4.0, 8: pytest.approx(8 / 3)}


def test_sizes_that_were_not_measured_are_not_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([1.0] * 6)
    monkeypatch.setattr(poetry_measured, "_step", lambda *_: clock.step)

    assert list(measure_batch_sizes(SMALL, 12, candidates=(2, 4, 8), seconds=4, clock=clock)) == [2, 4]


def test_a_trial_takes_real_steps(capsys: pytest.CaptureFixture[str]) -> None:
    design = {**SMALL, "token_head": "tied"}
    found = get_optimal_batch_size(design, 6, input_size=10, vocabulary_size=30, candidates=(2, 4))

    assert found in (2, 4)
    assert capsys.readouterr().out.startswith("windows a second by batch size: 2: ")
    get_optimal_batch_size(SMALL, 6, input_size=10, candidates=(2,), verbose=False)
    assert capsys.readouterr().out == ""


def test_a_design_is_suggested_by_counts_and_the_answer_says_that_nothing_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_poems(tmp_path / "poems.json", 3)
    sizes = {name: 10 ** (2 + number) for number, name in enumerate(("tiny", "small", "medium", "large", "xlarge"))}
    monkeypatch.setattr(poetry_measured, "count_parameters", lambda design, _: sizes[_named(design)])
    found = suggest_architecture_for_data(path)

    assert (found.texts, found.tokens) == (3, 3 * (6 * 5 + 5 + 2))
    assert (found.preset, found.parameters) == ("medium", 10_000)
    assert (found.architecture.hidden_size, found.architecture.bottleneck_size) == (512, 64)
    assert found.why.endswith("a rule of thumb, not measured")
    sizes |= {"tiny": 10**9, "small": 10**9, "medium": 10**9}
    assert suggest_architecture_for_data(path).preset == "tiny"


def _named(design: ArchitectureConfig) -> str:
    sizes = {128: "tiny", 256: "small", 512: "medium", 768: "large", 1024: "xlarge"}
    return sizes[design.hidden_size]


def test_what_is_here_is_shown_and_what_is_not_known_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = print_system_info()

    assert found["torch_version"] == torch.__version__ and found["threads"] == 1
    assert f"logical_cores: {found['logical_cores']}" in capsys.readouterr().out
    monkeypatch.setattr(poetry_measured, "_LIBRARIES", ("nothing-of-this-name",))
    monkeypatch.setattr(poetry_measured, "_version", lambda _: None)
    assert print_system_info()["precisions"] is None
    assert "precisions: not known" in capsys.readouterr().out


def test_the_version_of_what_is_not_installed_is_none() -> None:
    assert poetry_measured._version("nothing-of-this-name") is None


def test_without_pytorch_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda _: None)
    with pytest.raises(RunError, match=r"the network of a design needs PyTorch; .* pip install 'headway\[torch\]'"):
        count_parameters(SMALL)
