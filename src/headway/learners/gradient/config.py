"""What a plan may say about training by gradients, whatever is trained."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from headway.plan.section import CAREFUL, FREE

Precision = Literal["fp32", "bf16", "fp16"]
ScheduleKind = Literal["constant", "warmup_cosine", "polynomial", "cyclical", "plateau", "cosine_restarts"]
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSection:
    """How the learning rate moves; lengths are epochs, fractions of one included."""

    kind: ScheduleKind = "constant"
    """The course of the rate; every kind stays where it ended when its length is over."""
    length: Annotated[float, Gt(0)] | None = None
    """Epochs until the end of `warmup_cosine` and `polynomial`; absent: all of the run."""
    warmup: Annotated[float, Ge(0)] = 5.0
    """Epochs over which `warmup_cosine` rises from `start`."""
    start: Annotated[float, Ge(0)] = 1e-8
    """The rate that `warmup_cosine` begins with."""
    lowest: Annotated[float, Ge(0)] = 1e-6
    """The rate below which no schedule goes."""
    power: Annotated[float, Gt(0)] = 1.0
    """The exponent of `polynomial`."""
    highest: Annotated[float, Gt(0)] | None = None
    """The peak of `cyclical`; absent: ten times the learning rate."""
    half_cycle: Annotated[float, Gt(0)] = 5.0
    """Epochs from the lowest to the highest rate of `cyclical`."""
    cycle: Literal["triangular", "triangular2", "exp_range"] = "triangular"
    """What becomes of the peaks of `cyclical`: they stay, halve, or shrink by `gamma` a step."""
    gamma: Annotated[float, Gt(0), Le(1)] = 0.99
    """The factor of `exp_range`, per step."""
    factor: Annotated[float, Gt(0), Le(1)] = 0.5
    """What `plateau` multiplies the rate by."""
    patience: Annotated[int, Ge(0)] = 10
    """Evaluations without improvement that `plateau` waits for."""
    threshold: Annotated[float, Ge(0)] = 1e-4
    """The relative improvement that counts for `plateau`."""
    cooldown: Annotated[int, Ge(0)] = 0
    """Evaluations that `plateau` rests after a reduction."""
    smoothing: Annotated[float, Ge(0), Le(1)] = 0.9
    """How much of the old value the moving average of `plateau` keeps."""
    first: Annotated[float, Gt(0)] = 10.0
    """Epochs of the first cycle of `cosine_restarts`."""
    stretch: Annotated[int, Ge(1)] = 2
    """How many times longer each cycle of `cosine_restarts` is than the one before."""
    decay: Annotated[float, Gt(0), Le(1)] = 0.95
    """The factor on the peak of each cycle of `cosine_restarts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerSection:
    """How gradients become steps."""

    kind: Literal["adam", "adamw", "sgd"] = "adamw"
    """The rule."""
    learning_rate: Annotated[float, Gt(0), CAREFUL] = 1e-3
    """The rate that schedules start from."""
    weight_decay: Annotated[float, Ge(0)] = 1e-5
    """How far weights are pulled to zero."""
    betas: tuple[Annotated[float, Ge(0), Le(1)], Annotated[float, Ge(0), Le(1)]] = (0.9, 0.999)
    """Memory of the two moments; sgd takes the first as momentum."""
    clip: Annotated[Annotated[float, Gt(0)] | None, CAREFUL] = 1.0
    """The longest gradient over all parameters; longer ones are shortened to it."""
    clip_percentile: Annotated[float, Gt(0), Le(100)] | None = None
    """Clip at this percentile of the last 200 gradient norms as well, once there are 20."""
    accumulate: Annotated[int, Ge(1)] = 1
    """Parts that a batch is worked off in; the step is that of the whole batch."""
    skips: Annotated[int, Ge(1)] = 10
    """Steps in a row with a gradient that is not finite after which a run stops; fewer are skipped and counted."""
    precision: Precision = "fp32"
    """The arithmetic of the network; losses are always fp32, fp16 needs a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSection:
    """How the state of a gradient learner reaches the disk."""

    mode: Annotated[Literal["async", "sync"], FREE] = "async"
    """Whether training goes on while a snapshot is written."""
    keep: Annotated[int, Ge(1), FREE] = 2
    """How many periodic checkpoints stay; the best and the last one always do."""
