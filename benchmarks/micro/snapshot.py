"""How long a checkpoint holds training up: python -m benchmarks.micro.snapshot [--megabytes 100] [--repeats 9].

All ways take turns in one process, on one state of a model and AdamW after a step; what a way leaves to do later (the
writing, after an asynchronous save) is waited for outside its time. Times are milliseconds per 100 MB of state.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import torch

from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.parts import optimizer_state
from headway.learners.gradient.state import State, join
from headway.plan.values import Position

Way = Callable[[], float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), megabytes=options.megabytes, repeats=options.repeats)


def measure(folder: Path, *, megabytes: int, repeats: int) -> None:
    """Print median, least and most of every way."""
    learner = Learner(megabytes)
    size = sum(tensor.numel() * tensor.element_size() for tensor in learner.state().tensors.values())
    beside = Checkpoints(folder / "async", CheckpointSection())
    at_once = Checkpoints(folder / "sync", CheckpointSection(mode="sync"))
    beside.prepare(learner.state())
    at_once.prepare(learner.state())
    ways: dict[str, Way] = {
        "memcpy into memory that is there": _memcpy(size),
        "fresh clones": lambda: _timed(lambda: [each.clone() for each in learner.state().tensors.values()]),
        "torch.save, not synced": lambda: _timed(lambda: torch.save(learner.whole(), folder / "plain.pt")),
        "save, mode sync": lambda: _timed(lambda: _save(at_once, learner)),
        "save, mode async": lambda: _beside(beside, learner),
        "  until it is durable": lambda: _timed(lambda: (_save(beside, learner), beside.wait())),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            took = way()
            if turn:
                seconds[name].append(took)
    print(f"{size / 1e6:.1f} MB in {len(learner.state().tensors)} tensors, {torch.get_num_threads()} threads")
    for name, each in seconds.items():
        print(f"{name:34} {_words(each, 1e8 / size)} ms per 100 MB")
    _slowdown(beside, learner, repeats)
    print(f"blocking of every save: {beside.statistics().blocking}")
    at_once.close()
    beside.close()


class Learner:
    """A stack of layers and AdamW, about so large in all."""

    def __init__(self, megabytes: int) -> None:
        torch.manual_seed(0)
        layers = max(1, round(megabytes * 1e6 / (3 * 4 * 8 * 512 * 512)))
        self.model = torch.nn.LSTM(512, 512, num_layers=layers)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.input = torch.randn(20, 8, 512)
        self.step()

    def step(self) -> None:
        """One step of training."""
        self.optimizer.zero_grad()
        self.model(self.input)[0].square().mean().backward()
        self.optimizer.step()

    def state(self) -> State:
        """As a learner gives it to its checkpoints."""
        return join({"model": State(self.model.state_dict(), {}), "optimizer": optimizer_state(self.optimizer)})

    def whole(self) -> dict[str, object]:
        """As it is given to torch.save."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}


def _memcpy(size: int) -> Way:
    source, target = torch.ones(size, dtype=torch.uint8), torch.zeros(size, dtype=torch.uint8)
    return lambda: _timed(lambda: target.copy_(source))


def _save(checkpoints: Checkpoints, learner: Learner) -> None:
    checkpoints.save(learner.state(), kind="periodic", position=Position(0, 1))


def _beside(checkpoints: Checkpoints, learner: Learner) -> float:
    took = _timed(lambda: _save(checkpoints, learner))
    checkpoints.wait()
    return took


def _slowdown(checkpoints: Checkpoints, learner: Learner, repeats: int) -> None:
    """Steps with nothing beside them against steps while a checkpoint is being written."""
    alone: list[float] = []
    during: list[float] = []
    for _ in range(repeats):
        alone.append(_timed(learner.step))
        _save(checkpoints, learner)
        while checkpoints.statistics().pending:
            during.append(_timed(learner.step))
        checkpoints.wait()
    cpu = process_time()
    _save(checkpoints, learner)
    checkpoints.wait()
    print(f"a step alone {_words(alone, 1)} ms, while one is written {_words(during, 1)} ms ({len(during)} steps)")
    print(f"one save costs {(process_time() - cpu) * 1e3:.0f} ms of processor time in all")


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def _words(seconds: list[float], scale: float) -> str:
    median, least, most = (function(seconds) * scale * 1e3 for function in (statistics.median, min, max))
    return f"{median:8.1f} ({least:.1f} to {most:.1f})"


if __name__ == "__main__":
    main()
