"""One step of an optimizer: unscale, measure, clip, then step, or skip where the gradient is no number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import torch
from torch import Tensor
from torch.amp.grad_scaler import GradScaler
from torch.nn.utils import get_total_norm
from torch.optim import SGD, Adam, AdamW, Optimizer

from headway.learners.gradient.clipping import Clipper
from headway.learners.gradient.config import OptimizerSection
from headway.learners.gradient.health import Health, Report
from headway.learners.gradient.parts import load_into, load_optimizer, optimizer_state, state_of
from headway.learners.gradient.precision import scaler
from headway.learners.gradient.state import State, join, part
from headway.plan.values import Position


def make_optimizer(section: OptimizerSection, parameters: Iterable[Tensor]) -> Optimizer:
    """The rule of a plan for some parameters, in torch's fused form."""
    chosen = [each for each in parameters if each.requires_grad]
    rate, decay = section.learning_rate, section.weight_decay
    match section.kind:
        case "sgd":
            return SGD(chosen, lr=rate, momentum=section.betas[0], weight_decay=decay, fused=True)
        case "adam":
            return Adam(chosen, lr=rate, betas=section.betas, weight_decay=decay, fused=True)
        case "adamw":
            return AdamW(chosen, lr=rate, betas=section.betas, weight_decay=decay, fused=True)


class Stepper:
    """Makes steps from the gradients at hand, and keeps everything about them that a resumed run needs."""

    def __init__(self, section: OptimizerSection, optimizer: Optimizer) -> None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        device = parameters[0].device
        self._parameters = parameters
        self._optimizer = optimizer
        self._clipper = Clipper(parameters, longest=section.clip, percentile=section.clip_percentile)
        self._health = Health(device, skips=section.skips)
        self._scaler: GradScaler = scaler(section.precision, device)

    def scale(self, loss: Tensor) -> Tensor:
        """The loss to call `backward` on; the loss itself, except in fp16."""
        return self._scaler.scale(loss)

    def step(self, rate: float) -> Tensor:
        """Change the parameters by their gradients at a rate, and forget the gradients; counted, if it is skipped.

        Whether it was made, as a tensor on the device.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._scaler.unscale_(self._optimizer)
        finite = self._health.note(self._clipper.clip())
        step_if(self._optimizer, finite)
        # Not by the scaler's own `step`, which knows only what was infinite before the lengths were added up.
        self._scaler.update()
        self._optimizer.zero_grad(set_to_none=True)
        return finite

    def check(self, *, step: int, position: Position, kept: Position | None) -> None:
        """`Health.check`: Diverged where too many steps in a row were skipped."""
        self._health.check(step=step, position=position, kept=kept)

    @property
    def skipped(self) -> bool:
        """Whether the last step was skipped; on a GPU this waits for it."""
        return self._health.in_a_row() > 0

    @property
    def has_numbers(self) -> bool:
        """Whether the parameters are numbers; on a GPU this waits for the last step."""
        with torch.no_grad():
            return bool(get_total_norm(self._parameters).isfinite())

    def report(self) -> Report:
        """`Health.report`: the steps since the last report."""
        return self._health.report()

    def state(self) -> State:
        """Moments, counters, recent lengths, the scale of fp16: all that the next step depends on."""
        return join(
            {
                "optimizer": optimizer_state(self._optimizer),
                "clipping": self._clipper.state(),
                "health": self._health.state(),
                "scaler": state_of(self._scaler),
            }
        )

    def load(self, state: State) -> None:
        """Take up what `state` gave."""
        load_optimizer(self._optimizer, part(state, "optimizer"))
        self._clipper.load(part(state, "clipping"))
        self._health.load(part(state, "health"))
        load_into(self._scaler, part(state, "scaler"))


def step_if(optimizer: Optimizer, finite: Tensor, *, fetch: bool | None = None) -> None:
    """Step where `finite` holds; without waiting for the device, if the optimizer can be told there.

    torch's fused optimizers look at `found_inf` on the device itself, which is how its own gradient scaler has them
    skip a step. `fetch` decides; absent: only on a CPU, where it costs nothing, and where there is no other way.
    """
    if fetch is None:
        fetch = finite.device.type == "cpu" or not getattr(optimizer, "_step_supports_amp_scaling", False)
    # The first step makes the moments: fused SGD would make them of whatever is in memory, and skip the rest.
    if fetch or not optimizer.state:
        if bool(finite):
            optimizer.step()
        return
    told = cast(Any, optimizer)
    told.grad_scale, told.found_inf = None, (~finite).to(torch.float32)
    try:
        optimizer.step()
    finally:
        del told.grad_scale, told.found_inf
