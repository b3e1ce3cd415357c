"""Whether training is well: lengths of gradients, steps that had to be skipped, how far weights move."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from headway.errors import Diverged
from headway.learners.gradient.clipping import Clipped
from headway.learners.gradient.state import State
from headway.plan.values import Position

VANISHING = 1e-6
EXPLODING = 10.0
# Places in the tensor of sums; those after the last of them outlive a report.
_STEPS, _FINITE, _CLIPPED, _NORM, _AFTER, _LARGEST, _IN_A_ROW, _WORST = range(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The steps since the last report."""

    steps: int
    skipped: int
    clipped: int
    norm: float | None
    """Mean length of the finite gradients before clipping; None where there was none."""
    norm_clipped: float | None
    norm_max: float | None
    vanishing: bool
    exploding: bool

    def to_json(self) -> dict[str, int | float | bool | None]:
        """As it stands in a record."""
        return asdict(self)


class Health:
    """Sums over steps, on the device that computes them; nothing is fetched before `report` or `check`."""

    def __init__(self, device: torch.device, *, skips: int) -> None:
        self._skips = skips
        self._sums = torch.zeros(8, device=device)

    @torch.no_grad()
    def note(self, clipped: Clipped) -> Tensor:
        """Take note of one step's gradient; whether it is finite, as a tensor."""
        norm = clipped.norm.to(self._sums)
        finite = norm.isfinite()
        after = torch.minimum(norm, clipped.limit)
        known = torch.stack([finite, norm > clipped.limit, norm, after]).to(self._sums)
        known = torch.where(finite, known, 0.0)
        self._sums[_STEPS] += 1
        self._sums[_FINITE : _AFTER + 1] += known
        self._sums[_LARGEST] = torch.maximum(self._sums[_LARGEST], known[2])
        self._sums[_IN_A_ROW] = torch.where(finite, 0.0, self._sums[_IN_A_ROW] + 1)
        self._sums[_WORST] = torch.maximum(self._sums[_WORST], self._sums[_IN_A_ROW])
        return finite

    def check(self, *, step: int, position: Position, kept: Position | None) -> None:
        """Diverged where too many steps in a row had no finite gradient; `kept` is the last checkpoint.

        Costs nothing on a CPU; on a GPU it waits for the steps before, so ask there now and then.
        """
        worst = int(self._sums[_WORST].item())
        if worst < self._skips:
            return
        raise diverged(
            f"{worst} gradients in a row were not finite, up to step {step:,} ({_words(position)}), and were not "
            f"learned; learner.optimizer.skips allows fewer than {self._skips}",
            kept,
        )

    def in_a_row(self) -> int:
        """How many of the last steps were skipped, one after the other; on a GPU this waits for them."""
        return int(self._sums[_IN_A_ROW].item())

    def report(self) -> Report:
        """What was noted since the last report, in one look at the device."""
        steps, finite, clipped, norm, after, largest, *_ = self._sums.tolist()
        self._sums[:_IN_A_ROW] = 0
        mean = norm / finite if finite else None
        return Report(
            steps=int(steps),
            skipped=int(steps - finite),
            clipped=int(clipped),
            norm=mean,
            norm_clipped=after / finite if finite else None,
            norm_max=largest if finite else None,
            vanishing=mean is not None and mean < VANISHING,
            exploding=mean is not None and largest > EXPLODING,
        )

    def state(self) -> State:
        """All that was noted and not reported."""
        return State({"sums": self._sums}, {})

    def load(self, state: State) -> None:
        """Take up what `state` gave."""
        self._sums.copy_(state.tensors["sums"])


class Running:
    """The running figures of a network, which every pass of training moves, with a step or without one."""

    def __init__(self, network: nn.Module) -> None:
        self._figures = [
            figure
            for module in network.modules()
            if isinstance(module, nn.BatchNorm1d)
            for figure in module.buffers(recurse=False)
        ]

    def copy(self) -> list[Tensor]:
        """The figures as they are now."""
        return [figure.clone() for figure in self._figures]

    def undo(self, before: Sequence[Tensor], *, unless: Tensor | None = None) -> None:
        """Have them as they were, unless this holds; decided on the device, which is not waited for."""
        for figure, old in zip(self._figures, before, strict=True):
            figure.copy_(old if unless is None else torch.where(unless, figure, old))


def diverged(what: str, kept: Position | None) -> Diverged:
    """What went wrong, which checkpoint is good, and what to change: the same command would only repeat it."""
    if kept is None:
        return Diverged(
            f"{what}. There is no checkpoint yet, and the same command would fail again: "
            "start a new run (--new) with a lower learner.optimizer.learning_rate"
        )
    return Diverged(
        f"{what}. The checkpoint of {_words(kept)} is good and kept, but the same command would fail again after it: "
        "continue with a lower rate (--resume --set learner.optimizer.learning_rate=...) or clip harder "
        "(learner.optimizer.clip); where that does not help, start a new run with --new"
    )


def module_norms(model: nn.Module) -> dict[str, float]:
    """Length of the gradient of each part of a model that has one; parameters of the model itself are under ''."""
    by_module: dict[str, list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            by_module.setdefault(name.rpartition(".")[0], []).append(parameter.grad)
    return _fetch({name: get_total_norm(grads) for name, grads in by_module.items()})


@contextmanager
def watch_updates(model: nn.Module) -> Generator[dict[str, float]]:
    """Around a step: how far each part's weights went, as a share of their length; filled when the block ends."""
    before = {name: each.detach().clone() for name, each in model.named_parameters() if each.requires_grad}
    ratios: dict[str, float] = {}
    yield ratios
    moved: dict[str, list[Tensor]] = {}
    weights: dict[str, list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if name in before:
            module = name.rpartition(".")[0]
            moved.setdefault(module, []).append(parameter.detach() - before[name])
            weights.setdefault(module, []).append(before[name])
    tiny = torch.finfo(torch.float32).tiny
    shares = {name: get_total_norm(moved[name]) / get_total_norm(weights[name]).clamp(min=tiny) for name in moved}
    ratios.update(_fetch(shares))


def _fetch(numbers: dict[str, Tensor]) -> dict[str, float]:
    """All of them in one look at the device."""
    if not numbers:
        return {}
    values = torch.stack([each.float() for each in numbers.values()]).tolist()
    return dict(zip(numbers, values, strict=True))


def _words(position: Position) -> str:
    return f"epoch {position.epoch}, batch {position.batch}"
