"""Pictures of how a run became better, from records alone; readable in black and white."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.durable import replace_bytes, write_errors
from headway.errors import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Place = tuple[int, int]
Points = list[tuple[Place, float]]
Events = Iterable[Mapping[str, Any]]

_FORMATS = (".svg", ".png")
# Told apart without colour: the run itself is the solid one.
_STYLES = (("--", "s"), ("-.", "^"), (":", "D"), ((0, (6, 1, 1, 1, 1, 1)), "v"), ((0, (1, 4)), "x"))
_OWN = ("-", "o")


@dataclass(frozen=True, slots=True)
class Course:
    """What a record says about getting better, by position; steps that a crash undid are left out."""

    training: list[tuple[Place, float, float]] = field(default_factory=list[tuple[Place, float, float]])
    """Totals and weights of the training loss."""
    evaluated: dict[str, Points] = field(default_factory=dict[str, Points])
    """By name of a metric, its value at each evaluation."""

    def losses(self) -> Points:
        """The mean training loss of each epoch, at the epoch's end."""
        sums: dict[int, tuple[float, float]] = {}
        for (epoch, batch), total, weight in self.training:
            # The position is the one after the step: batch 0 ends the epoch before.
            ended = epoch + bool(batch)
            before = sums.get(ended, (0.0, 0.0))
            sums[ended] = before[0] + total, before[1] + weight
        return [((ended, 0), total / weight) for ended, (total, weight) in sorted(sums.items()) if weight]

    def undo(self, place: Place) -> None:
        """Forget what came after a place: a process began there again."""
        self.training[:] = [each for each in self.training if each[0] <= place]
        for points in self.evaluated.values():
            points[:] = [each for each in points if each[0] <= place]


def course(events: Events) -> Course:
    """The course that a record's events tell."""
    found = Course()
    start: Place | None = None
    for event in events:
        kind = event["event"]
        if kind == "run_started":
            start = (0, 0)
        elif kind == "resumed":
            start = _place(event)
        elif kind in ("step", "evaluated"):
            if start is not None:
                found.undo(start)
                start = None
            _take(found, event)
    return found


def draw(events: Events, path: Path, *, others: Mapping[str, Events] | None = None) -> None:
    """Draw skill and losses over epochs into an svg or png; `others` are records of runs to compare with, by name."""
    if path.suffix.lower() not in _FORMATS:
        raise RunError(f"{path} is no {' or '.join(_FORMATS)} file; give the picture one of these endings")
    own = course(events)
    if not own.evaluated.get("skill"):
        raise RunError("there is no evaluation in this record, so there is nothing to draw; train an epoch first")
    rest = {name: course(each) for name, each in (others or {}).items()}
    with write_errors(path, kept="the run is as it was"):
        replace_bytes(path, _picture(own, rest, path.suffix.lower().removeprefix(".")))


def _take(found: Course, event: Mapping[str, Any]) -> None:
    metrics, place = event["metrics"], _place(event)
    if event["event"] == "step":
        loss = metrics.get("loss")
        if isinstance(loss, Sequence):
            found.training.append((place, float(loss[0]), float(loss[1])))
        return
    for name, value in metrics.items():
        mean = value[0] / value[1] if isinstance(value, Sequence) else value
        found.evaluated.setdefault(name, []).append((place, float(mean)))


def _place(event: Mapping[str, Any]) -> Place:
    epoch, batch = event["position"]
    return int(epoch), int(batch)


def _picture(own: Course, others: Mapping[str, Course], form: str) -> bytes:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as cause:
        raise RunError("pictures need matplotlib; install it with: pip install 'headway[plots]'") from cause
    buffer = io.BytesIO()
    # Nothing in the file says when it was made: equal records are equal pictures.
    with rc_context({"svg.hashsalt": "headway", "font.size": 9}):
        figure = Figure(figsize=(7.5, 8), layout="constrained")
        _fill(figure, own, others)
        figure.savefig(buffer, format=form, dpi=130, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()


def _fill(figure: Figure, own: Course, others: Mapping[str, Course]) -> None:
    skill, training, validation = figure.subplots(3, 1, sharex=True, height_ratios=(2, 1, 1))
    _skills(skill, own, others)
    _losses(training, "training loss: mean over the epoch, while learning", {"": own.losses()})
    forced, free = own.evaluated.get("valid_forced_loss", []), own.evaluated.get("valid_loss", [])
    _losses(validation, "validation loss", {"from the code alone": free, "teacher-forced": forced})
    if free or forced:
        validation.legend(frameon=False)
    validation.set_xlabel("epochs")
    validation.set_xlim(left=0)
    validation.xaxis.get_major_locator().set_params(integer=True)


def _skills(axes: Axes, own: Course, others: Mapping[str, Course]) -> None:
    _name(axes, "validation skill: from the code alone, over a constant", "skill (1 is perfect)")
    axes.axhline(0, color="black", linewidth=0.8, label="constant direction (0)")
    linear = own.evaluated.get("linear_skill", [])
    if linear:
        label = f"PCA with as many numbers as this run ({linear[-1][1]:.3f})"
        axes.axhline(linear[-1][1], color="black", linewidth=0.8, linestyle=(0, (8, 4)), label=label)
    _line(axes, own.evaluated["skill"], "this run", _OWN)
    for number, (name, each) in enumerate(others.items()):
        _line(axes, each.evaluated.get("skill", []), name, _STYLES[number % len(_STYLES)], shade=0.35)
    axes.legend(frameon=False)


def _losses(axes: Axes, name: str, lines: Mapping[str, Points]) -> None:
    _name(axes, name, "loss")
    for style, (label, points) in zip((_OWN, *_STYLES), lines.items(), strict=False):
        _line(axes, points, label, style)
    if not any(lines.values()):
        axes.text(0.5, 0.5, "not in the record", transform=axes.transAxes, ha="center", va="center")


def _name(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_ylabel(unit)
    axes.grid(axis="y", color="0.9")


def _line(axes: Axes, points: Points, label: str, style: tuple[Any, str], *, shade: float = 0.0) -> None:
    if points:
        epochs, values = [epoch for (epoch, _), _ in points], [value for _, value in points]
        axes.plot(
            epochs,
            values,
            label=label,
            color=str(shade),
            linestyle=style[0],
            marker=style[1],
            markersize=3.5,
            linewidth=1.3,
        )
