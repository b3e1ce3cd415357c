"""The command in processes forked from this one, which has loaded everything: to be killed and interrupted."""

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_runs import PATIENCE_SECONDS

from headway.cli.main import main
from headway.learners.gradient.restore import restore
from headway.record.record import read_record

# Everything draws chance or remembers: what is lost anywhere shows in the weights.
PLAN = """
workers = 1
memory = "8GiB"
[data]
sources = ["poems.jsonl"]
[learner]
kind = "autoencoder"
vectors = "random"
dimensions = 8
threads = 1
device = "cpu"
patience = 9
[learner.window]
size = 10
overlap = 2
[learner.model]
encoder = "lstm"
decoder = "recurrent"
hidden = 16
code = 8
dropout = 0.2
[learner.noise]
kind = "words"
[learner.optimizer]
learning_rate = 0.01
clip_percentile = 50
accumulate = 2
[learner.schedule]
kind = "plateau"
patience = 0
[run]
epochs = 4
batch_tokens = 256
save_every = 0
"""


@dataclass
class Child:
    """A command at work in a process of its own."""

    pid: int
    log: Path
    code: int | None = None
    """Once it has ended: its exit code, or the negative number of the signal that killed it."""

    def signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self.ended():
            os.kill(self.pid, number)

    def ended(self, *, wait: bool = False) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, 0 if wait else os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def wait(self) -> int:
        self.ended(wait=True)
        assert self.code is not None
        return self.code

    def until(self, seen: Callable[[], object]) -> bool:
        """Wait until something is seen; False where it ended before."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not seen():
            if self.ended():
                return False
            assert time.monotonic() < until, self.said
            time.sleep(0.0005)
        return True

    @property
    def said(self) -> str:
        return self.log.read_text()


class Folder:
    """A plan, its poems, and trainings of it."""

    def __init__(self, folder: Path, datasets: Path) -> None:
        self.folder = folder
        self.datasets = datasets
        folder.mkdir(exist_ok=True)
        draw = random.Random(2)
        words = [f"w{number}" for number in range(30)]
        poems = ("\n".join(" ".join(draw.choices(words, k=5)) for _ in range(draw.randint(2, 6))) for _ in range(30))
        (folder / "poems.jsonl").write_text("".join(json.dumps({"text": poem}) + "\n" for poem in poems))
        (folder / "plan.toml").write_text(PLAN)

    def start(self, *arguments: str, before: Callable[[], object] | None = None) -> Child:
        """`headway train` of the plan, begun."""
        log = self.folder / "log.txt"
        child = os.fork()
        if not child:
            code = 99
            try:
                _redirect(log)
                if before is not None:
                    before()
                code = main([*self.words, *arguments])
            finally:
                # Never back into the frames of the tests, whatever happened.
                os._exit(code)
        return Child(child, log)

    def train(self, *arguments: str, before: Callable[[], object] | None = None) -> Child:
        """`headway train` of the plan, which has to succeed."""
        child = self.start(*arguments, before=before)
        assert child.wait() == 0, child.said
        return child

    @property
    def words(self) -> list[str]:
        """The command."""
        runs = self.folder / "runs"
        plan = str(self.folder / "plan.toml")
        return ["train", plan, "--quiet", "--runs-dir", str(runs), "--datasets-dir", str(self.datasets)]

    def run(self, number: int = 1) -> Path:
        return self.folder / "runs" / f"plan-{number:03d}"

    def runs(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "runs").iterdir())

    def events(self, number: int = 1) -> list[dict[str, Any]]:
        return list(read_record(self.run(number) / "record.jsonl"))

    def state(self, number: int = 1) -> Any:
        """All that the newest and the best checkpoint hold."""
        found = [restore(self.run(number) / "checkpoints", index) for index in ("latest", "best")]
        return [
            (each.position, each.facts, {name: tensor.numpy().tobytes() for name, tensor in each.tensors.items()})
            for each in found
            if each is not None
        ]

    def files(self, pattern: str) -> set[tuple[str, int]]:
        """Files by name and time."""
        found: set[tuple[str, int]] = set()
        for path in self.folder.glob(pattern):
            with suppress(FileNotFoundError):
                found.add((str(path), path.stat().st_mtime_ns))
        return found


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number in (1, 2):
        os.dup2(descriptor, number)
    # As a shell would start it, whatever pytest made of its own.
    import sys

    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
