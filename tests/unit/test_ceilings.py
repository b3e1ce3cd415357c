"""What learners measure of a machine: a memory as a training writes it, a GPU that stands for itself on the CPU."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headway.learners.ceilings import Ceiling, Workshop
from headway.learners.gradient import ceilings as gradient
from headway.learners.patterns import ceilings as patterns
from headway.learners.patterns.memory import Memory


def paced(act: Callable[[], object]) -> float:
    """Takes half a second, whatever it is."""
    act()
    return 0.5


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with ExitStack() as stack:
        yield Workshop(tmp_path, paced, stack)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_TOKENS", 5000)


def values(found: Iterator[Ceiling]) -> dict[str, float]:
    return {each.name: each.measure() for each in found if each.measure is not None}


@pytest.mark.usefixtures("small")
def test_rates_are_patterns_learned_by_the_time_that_takes(workshop: Workshop) -> None:
    found = values(patterns.ceilings(workshop))
    # 10 documents of 500 tokens; what is left of each at a level's end is a pattern as well.
    assert found["patterns.learn"] == found["store.write"]
    assert 5000 / 5 <= found["patterns.learn"] * 0.5 <= 5000 / 3
    assert found["store.commit"] == 500.0


@pytest.mark.usefixtures("small")
def test_the_memory_that_is_read_is_whole(workshop: Workshop) -> None:
    found = values(patterns.ceilings(workshop))
    with Memory(workshop.folder / "memory") as memory:
        report = memory.verify()
        observed = sum(level.observed for level in memory.levels)
        size = memory.stats()["bytes"]

    assert report.problems == []
    assert found["store.bytes"] == size / observed
    assert found["store.read"] == 200.0


@pytest.mark.usefixtures("small")
def test_saving_leaves_no_runs_behind(workshop: Workshop) -> None:
    values(patterns.ceilings(workshop))

    assert list((workshop.folder / "written" / "runs").iterdir()) == []


def test_a_gpu_is_measured_by_amounts_and_the_time_they_take() -> None:
    pytest.importorskip("torch")
    found = {name: measure() for name, measure in gradient.measures_on("cpu", paced, side=8, size=1 << 20).items()}

    assert found == {
        "gpu.upload": (1 << 20) / 2**30 / 0.5,
        "gpu.copy": 2 * (1 << 20) / 2**30 / 0.5,
        "gpu.matmul_float32": 2 * 8**3 / 1e9 / 0.5,
        "gpu.matmul_bfloat16": 2 * 8**3 / 1e9 / 0.5,
    }


@pytest.mark.parametrize(
    ("installed", "why"), [(False, "PyTorch is not installed; pip install 'headway[torch]'"), (True, "PyTorch sees no")]
)
def test_without_a_gpu_every_figure_says_why(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, installed: bool, why: str
) -> None:
    if installed:
        torch = pytest.importorskip("torch")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    else:
        monkeypatch.setattr(gradient, "find_spec", lambda name: None)
    found = list(gradient.ceilings(workshop))

    assert {each.name for each in found} >= {"gpu.upload", "gpu.copy", "gpu.matmul_float32"}
    assert all(each.measure is None and why in each.how for each in found)
