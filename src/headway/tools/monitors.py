"""What a program with a loop of its own watches: how fast it is, how its gradients are, and whether it still learns."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from headway.errors import PlanError
from headway.learners.autoencoder.code_facts import code_facts
from headway.learners.autoencoder.figures import Absent, CodeFacts
from headway.learners.gradient.health import EXPLODING, VANISHING, module_norms, watch_updates
from headway.learners.gradient.stopping import Judgement, Rule
from headway.machine.describe import resident_bytes

_Item = TypeVar("_Item")
_REMEMBERED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What was done in a stretch of time, and where the time went; waiting for data is part of it."""

    seconds: float
    steps: int
    sequences: int
    tokens: int
    places: int
    """Tokens and padding."""
    spans: Mapping[str, float]
    """Seconds by name; `other` is what no span measured, so that they add up to the whole."""
    resident_bytes: int | None
    device_bytes: int | None
    """The most that was held on the GPU; None without one."""

    @property
    def sequences_per_second(self) -> float | None:
        """None where nothing was done."""
        return self.sequences / self.seconds if self.sequences and self.seconds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Of real tokens; None where nothing was done."""
        return self.tokens / self.seconds if self.tokens and self.seconds else None

    @property
    def padding(self) -> float | None:
        """The share of places that are padding; None where nothing was done."""
        return 1 - self.tokens / self.places if self.places else None

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON, rates included."""
        rates = {name: getattr(self, name) for name in ("sequences_per_second", "tokens_per_second", "padding")}
        return {**asdict(self), **rates}


class PerformanceMonitor:
    """Counts work and measures where the time goes; every rate is of its own interval, waiting included.

    for batch in monitor.timed("wait", loader):
        with monitor.span("step"):
            ...
        monitor.step(sequences=..., tokens=..., places=...)
    print(monitor.interval().tokens_per_second)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        now = self._clock()
        self._whole, self._part = _Counts(now), _Counts(now)

    def step(self, *, sequences: int, tokens: int, places: int | None = None) -> None:
        """Count one step; `places` are its tokens and padding."""
        for each in (self._whole, self._part):
            each.steps += 1
            each.sequences += sequences
            each.tokens += tokens
            each.places += tokens if places is None else places

    @contextmanager
    def span(self, name: str) -> Generator[None]:
        """Measure the body of a `with`, also when it raises."""
        began = self._clock()
        try:
            yield
        finally:
            took = self._clock() - began
            for each in (self._whole, self._part):
                each.spans[name] = each.spans.get(name, 0.0) + took

    def timed(self, name: str, items: Iterable[_Item]) -> Iterator[_Item]:
        """The same items; how long each was waited for is a span."""
        iterator = iter(items)
        while True:
            with self.span(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def interval(self) -> Interval:
        """What was done since the last interval ended, which the next one begins after."""
        now = self._clock()
        found = self._part.until(now)
        self._part = _Counts(now)
        return found

    def total(self) -> Interval:
        """What was done since the beginning."""
        return self._whole.until(self._clock())


class _Counts:
    def __init__(self, began: float) -> None:
        self.began = began
        self.steps = self.sequences = self.tokens = self.places = 0
        self.spans: dict[str, float] = {}

    def until(self, now: float) -> Interval:
        seconds = now - self.began
        return Interval(
            seconds=seconds,
            steps=self.steps,
            sequences=self.sequences,
            tokens=self.tokens,
            places=self.places,
            spans={**self.spans, "other": max(0.0, seconds - sum(self.spans.values()))},
            resident_bytes=resident_bytes([os.getpid()]),
            device_bytes=torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients:
    """The gradients at one moment; None where there were none."""

    norm: float | None
    modules: Mapping[str, float]
    """The length of the gradient of each part of the model."""
    vanishing: bool
    exploding: bool
    finite: bool


class GradientMonitor:
    """Looks at gradients between `backward` and the step; each look waits for the device.

    `history` holds the last thousand looks.
    """

    def __init__(self, model: nn.Module, vanishing: float = VANISHING, exploding: float = EXPLODING) -> None:
        if not 0 <= vanishing < exploding:
            problem = f"vanishing ({vanishing}) should be 0 or more and below exploding ({exploding})"
            raise PlanError("GradientMonitor", [problem])
        self._model = model
        self._vanishing = vanishing
        self._exploding = exploding
        self.history: deque[Gradients] = deque(maxlen=_REMEMBERED)
        self.updates: dict[str, float] = {}
        """How far each part went in the last step that was watched, as a share of its length."""

    def observe(self) -> Gradients:
        """Look at the gradients as they are now."""
        grads = [each.grad for each in self._model.parameters() if each.grad is not None]
        norm = float(get_total_norm(grads)) if grads else None
        found = Gradients(
            norm=norm,
            modules=module_norms(self._model),
            vanishing=norm is not None and norm < self._vanishing,
            exploding=norm is not None and norm > self._exploding,
            finite=norm is None or math.isfinite(norm),
        )
        self.history.append(found)
        return found

    @contextmanager
    def watch(self) -> Generator[None]:
        """Around a step: `updates` then says how far it went."""
        with watch_updates(self._model) as ratios:
            yield
        self.updates = ratios

    def summary(self) -> dict[str, Any]:
        """Counts over the history, and the lengths of finite gradients in it; None where there were none."""
        norms = [each.norm for each in self.history if each.norm is not None and each.finite]
        return {
            "looks": len(self.history),
            "norm_mean": sum(norms) / len(norms) if norms else None,
            "norm_max": max(norms, default=None),
            "vanishing": sum(each.vanishing for each in self.history),
            "exploding": sum(each.exploding for each in self.history),
            "not_finite": sum(not each.finite for each in self.history),
        }


class TrainingMonitor:
    """Follows the figures of each epoch; one of them decides which epoch is best and when to stop.

    while not monitor.should_stop:
        ...
        monitor.update({"train_loss": ..., "val_loss": ...})
    """

    def __init__(
        self,
        metric: str = "val_loss",
        mode: Literal["min", "max"] = "min",
        patience: int | None = 10,
        min_delta: float = 1e-5,
    ) -> None:
        problems = {
            f"mode: should be min or max, not {mode!r}": mode not in ("min", "max"),
            f"patience: should be 1 or more, or None, not {patience!r}": patience is not None and patience < 1,
            f"min_delta: should be 0 or more, not {min_delta!r}": min_delta < 0,
        }
        if broken := [problem for problem, holds in problems.items() if holds]:
            raise PlanError("TrainingMonitor", broken)
        self.metric = metric
        self.history: dict[str, list[float | None]] = {}
        self.epochs = 0
        self.best_epoch: int | None = None
        """Counted from 1."""
        self._sign = -1.0 if mode == "min" else 1.0
        self._rule = Rule(patience=patience, min_delta=min_delta, stop_at=None)
        self._judgement = Judgement()

    @property
    def best(self) -> float | None:
        """The best value so far."""
        return None if self._judgement.best is None else self._sign * self._judgement.best

    @property
    def improved(self) -> bool:
        """Whether the last epoch is the best one."""
        return self._judgement.improved

    @property
    def should_stop(self) -> bool:
        """Whether so many epochs were not better that more would be in vain."""
        return self._judgement.enough

    def update(self, figures: Mapping[str, float | None]) -> bool:
        """Take in the figures of an epoch; whether it is the best.

        None is a figure that was not measured; what is no finite number is never the best, and kept as None.
        """
        if figures.get(self.metric) is None and not self.history:
            there = ", ".join(figures) or "nothing"
            raise PlanError("TrainingMonitor", [f"{self.metric} decides what is best, but there is only {there}"])
        for name in dict.fromkeys([*self.history, *figures]):
            figure = figures.get(name)
            finite = figure is not None and math.isfinite(figure)
            self.history.setdefault(name, [None] * self.epochs).append(figure if finite else None)
        self.epochs += 1
        value = figures.get(self.metric)
        if value is None or (self.best is None and not math.isfinite(value)):
            self._judgement = replace(self._judgement, improved=False)
            return False
        # What is no number is worse than anything.
        figure = self._sign * value if math.isfinite(value) else -math.inf
        self._judgement = self._judgement.after(figure, self._rule)
        if self._judgement.improved:
            self.best_epoch = self.epochs
        return self._judgement.improved

    def codes(self, codes: Tensor) -> CodeFacts:
        """What codes [windows, numbers] look like: how many of their numbers work."""
        return code_facts(codes.detach().float().cpu().numpy(), Absent("it takes the outputs of the decoder"))

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed training needs to judge on."""
        return {
            "history": self.history,
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "judgement": asdict(self._judgement),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.history = {name: list(values) for name, values in state["history"].items()}
        self.epochs, self.best_epoch = state["epochs"], state["best_epoch"]
        self._judgement = Judgement(**state["judgement"])
