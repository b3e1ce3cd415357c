"""Trainings of the demo plan of a test, and how tests wait for what other processes do."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.run.result import RunResult
from headway.run.train import Mode, train

Event = dict[str, Any]
# Longer than anything takes here, however busy the machine is: whoever waits so long waits in vain.
PATIENCE_SECONDS = 300.0


class Trained:
    """Trains the demo plan of a test, with `section__key=value` settings, and keeps what was told."""

    def __init__(self, plan: Path, shared: Path) -> None:
        self.plan = plan
        self.runs = plan.parent / "runs"
        self.datasets = shared / "datasets"
        self.told: list[Event] = []
        self.then: Callable[[Event], None] = lambda event: None

    def __call__(self, *, mode: Mode = "auto", **settings: Any) -> RunResult:
        overrides = [f"{name.replace('__', '.')}={value}" for name, value in settings.items()]
        return train(
            self.plan,
            overrides=overrides,
            runs_dir=self.runs,
            datasets_dir=self.datasets,
            mode=mode,
            listeners=[self.told.append, lambda event: self.then(event)],
        )

    def stopping_after(self, steps: int, number: int = signal.SIGINT) -> None:
        """Send this process a signal once so many steps are on the record."""
        left = steps

        def stop(event: Event) -> None:
            nonlocal left
            left -= event["event"] == "saved"
            if left == 0:
                left = -1
                os.kill(os.getpid(), number)

        self.then = stop

    def notes(self) -> list[str]:
        return [event["text"] for event in self.told if event["event"] in ("note", "warned")]


def wait_until(seen: Callable[[], object]) -> None:
    """Wait for what another process does."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not seen():
        assert time.monotonic() < until, "in vain"
        time.sleep(0.01)


def interrupt_twice(interrupt: Callable[[], None], ended: Callable[[], bool]) -> None:
    """As a person does; signals that are not taken one by one are one signal, so the second may need a third."""
    interrupt()
    time.sleep(0.2)
    while not ended():
        interrupt()
        until = time.monotonic() + 20
        while not ended() and time.monotonic() < until:
            time.sleep(0.01)
