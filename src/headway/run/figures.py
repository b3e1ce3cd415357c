"""Which of a learner's figures people watch, and what they are called on a screen.

Names of metrics are the learners' own: what is not listed here is shown as it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from headway.plan.values import Mean, Metrics
from headway.run.text import figure, percent

Where = Literal["line", "screen", "nowhere"]


@dataclass(frozen=True, slots=True)
class _Shown:
    """How a metric is shown."""

    label: str = ""
    where: Where = "screen"
    of_one: bool = False
    """A share, read as per cent."""
    quiet: bool = False
    """Zero is no news."""


_NOWHERE = _Shown(where="nowhere")
_TRAINING: Mapping[str, _Shown] = {
    "loss": _Shown("loss", "line"),
    "gradient": _Shown("gradient norm"),
    "rate": _Shown("learning rate"),
    "teacher_forcing": _Shown("teacher forcing", of_one=True),
    "padding": _Shown("padding", of_one=True),
    "sequences": _Shown("windows"),
    "left_out": _Shown("left out", quiet=True),
    "clipped": _Shown("steps clipped", quiet=True),
    "skipped": _Shown("steps skipped", "line", quiet=True),
    "exploding": _Shown("exploding gradients", "line", quiet=True),
    "vanishing": _Shown("vanishing gradients", "line", quiet=True),
    **dict.fromkeys(("cosine", "squared", "token", "sequence", "code_l1", "code_l2"), _NOWHERE),
}
_EVALUATION: Mapping[str, _Shown] = {
    "valid_loss": _Shown("valid loss"),
    "valid_forced_loss": _Shown("… teacher-forced"),
    **dict.fromkeys(("cosine", "constant", "linear", "linear_skill", "skill", "since_best"), _NOWHERE),
}


def on_line(metrics: Metrics, evaluation: Mapping[str, float], epoch: int | None) -> dict[str, str]:
    """What fits on a line of progress, by label."""
    return _shown(metrics, evaluation, epoch, {"line"})


def on_screen(metrics: Metrics, evaluation: Mapping[str, float], epoch: int | None) -> dict[str, str]:
    """What a screen has room for, by label."""
    return _shown(metrics, evaluation, epoch, {"line", "screen"})


def _shown(metrics: Metrics, evaluation: Mapping[str, float], epoch: int | None, where: set[Where]) -> dict[str, str]:
    while_learning = _of(metrics, _TRAINING, where)
    means: Metrics = {name: Mean(value, 1) for name, value in evaluation.items()}
    return while_learning | _skill(evaluation, epoch) | _of(means, _EVALUATION, where)


def _of(metrics: Metrics, table: Mapping[str, _Shown], where: set[Where]) -> dict[str, str]:
    """Those that have their place here, in the table's order; unknown ones after them."""
    found: dict[str, str] = {}
    for name in [*(known for known in table if known in metrics), *(name for name in metrics if name not in table)]:
        shown, value = table.get(name, _Shown(name, "line")), metrics[name]
        if shown.where in where and not (shown.quiet and not value):
            number = value.value if isinstance(value, Mean) else value
            found[shown.label] = percent(number, 1) if shown.of_one else figure(value)
    return found


def _skill(evaluation: Mapping[str, float], epoch: int | None) -> dict[str, str]:
    """Skill, never alone: after which epoch, how long ago the best was, and what a line of the same size has."""
    if "skill" not in evaluation:
        return {}
    said = f"{evaluation['skill']:.4f}" + ("" if epoch is None else f" after epoch {epoch}")
    since = int(evaluation.get("since_best", 0))
    said += f" (best {since} evaluation{'s' if since > 1 else ''} ago)" if since else ""
    line = {"skill of PCA": f"{evaluation['linear_skill']:.4f}"} if "linear_skill" in evaluation else {}
    return {"skill": said, **line}
