"""What a program with its own loop watches."""

import json

import pytest
import torch
from torch import nn

from headway.errors import PlanError
from headway.tools import GradientMonitor, PerformanceMonitor, TrainingMonitor


class Clock:
    """Time that a test owns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def worked(monitor: PerformanceMonitor, clock: Clock, *, wait: float, step: float) -> None:
    with monitor.span("wait"):
        clock.now += wait
    with monitor.span("step"):
        clock.now += step
    monitor.step(sequences=4, tokens=30, places=40)


def test_a_rate_is_of_its_own_interval_and_counts_the_waiting() -> None:
    clock = Clock()
    monitor = PerformanceMonitor(clock)
    worked(monitor, clock, wait=1.0, step=3.0)
    first = monitor.interval()
    worked(monitor, clock, wait=0.0, step=1.0)
    second = monitor.interval()

    assert (first.sequences_per_second, first.tokens_per_second, first.padding) == (1.0, 7.5, 0.25)
    assert (second.sequences_per_second, second.tokens_per_second) == (4.0, 30.0)
    assert (monitor.total().steps, monitor.total().sequences_per_second) == (2, 8 / 5)


def test_spans_add_up_to_the_whole() -> None:
    clock = Clock()
    monitor = PerformanceMonitor(clock)
    worked(monitor, clock, wait=1.0, step=3.0)
    clock.now += 0.5
    found = monitor.interval()

    assert dict(found.spans) == {"wait": 1.0, "step": 3.0, "other": 0.5}
    assert sum(found.spans.values()) == found.seconds
    assert json.loads(json.dumps(found.to_json()))["tokens_per_second"] == pytest.approx(30 / 4.5)
    assert found.resident_bytes is not None and found.resident_bytes > 0


def test_what_was_not_done_has_no_rate() -> None:
    found = PerformanceMonitor(Clock()).interval()

    assert (found.sequences_per_second, found.tokens_per_second, found.padding) == (None, None, None)


def test_items_are_timed_while_they_are_waited_for_and_none_is_lost() -> None:
    clock = Clock()
    monitor = PerformanceMonitor(clock)

    def slow() -> "object":
        for number in (0, None, 2):
            clock.now += 2.0
            yield number

    items = []
    for item in monitor.timed("wait", slow()):
        clock.now += 1.0
        items.append(item)
    monitor.step(sequences=1, tokens=1)

    assert items == [0, None, 2]
    assert dict(monitor.total().spans) == {"wait": 6.0, "other": 3.0}
    assert monitor.total().places == 1
    monitor.begin()
    assert monitor.total().steps == 0


def linear(weight: float) -> nn.Linear:
    model = nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(weight)
    return model


def test_gradients_are_measured_by_part_and_flagged() -> None:
    model = linear(1.0)
    monitor = GradientMonitor(model)
    for scale in (3.0, 1e-9, 1e3, float("nan")):
        model.zero_grad()
        (model(torch.tensor([[1.0, 0.0]])) * scale).sum().backward()
        monitor.observe()

    flags = [(each.vanishing, each.exploding, each.finite) for each in monitor.history]
    assert flags == [(False, False, True), (True, False, True), (False, True, True), (False, False, False)]
    assert monitor.history[0].modules == {"": pytest.approx(3.0)}
    found = monitor.summary()
    assert (found["looks"], found["vanishing"], found["exploding"], found["not_finite"]) == (4, 1, 1, 1)
    assert (found["norm_max"], found["norm_mean"]) == (pytest.approx(1e3), pytest.approx(1003 / 3))


def test_without_gradients_there_is_no_length() -> None:
    monitor = GradientMonitor(linear(1.0))
    found = monitor.observe()

    assert (found.norm, found.modules, found.finite, found.vanishing) == (None, {}, True, False)
    assert monitor.summary()["norm_mean"] is monitor.summary()["norm_max"] is None
    with pytest.raises(PlanError, match="should be 0 or more and below exploding"):
        GradientMonitor(linear(1.0), vanishing=2.0, exploding=1.0)


def test_how_far_a_step_went_is_a_share_of_the_weights() -> None:
    model = linear(2.0)
    monitor = GradientMonitor(model)
    model(torch.tensor([[1.0, 1.0]])).sum().backward()
    with monitor.watch():
        torch.optim.SGD(model.parameters(), lr=0.5).step()

    assert monitor.updates == {"": pytest.approx(0.25)}


def test_one_figure_decides_what_is_best_and_when_to_stop() -> None:
    monitor = TrainingMonitor(patience=2, min_delta=0.1)
    better = [monitor.update({"val_loss": value, "rate": 1.0}) for value in (1.0, 0.95, 0.8)]

    assert better == [True, False, True] and monitor.improved
    assert (monitor.best, monitor.best_epoch, monitor.should_stop) == (0.8, 3, False)
    assert [monitor.update({"val_loss": value}) for value in (0.9, 0.79)] == [False, False]
    assert monitor.should_stop and not monitor.improved
    assert monitor.history == {"val_loss": [1.0, 0.95, 0.8, 0.9, 0.79], "rate": [1.0, 1.0, 1.0, None, None]}


def test_greater_may_be_better() -> None:
    monitor = TrainingMonitor("skill", mode="max")
    for skill in (0.1, 0.3, 0.2):
        monitor.update({"skill": skill})

    assert (monitor.best, monitor.best_epoch) == (0.3, 2)


def test_what_is_no_number_is_never_the_best() -> None:
    monitor = TrainingMonitor(patience=2)
    found = [monitor.update({"val_loss": value}) for value in (float("nan"), 2.0, float("inf"), None)]

    assert found == [False, True, False, False]
    assert (monitor.best, monitor.best_epoch, monitor.should_stop) == (2.0, 2, False)
    assert monitor.history == {"val_loss": [None, 2.0, None, None]}
    assert TrainingMonitor().best is None


def test_a_judgement_goes_on_where_it_was() -> None:
    first, second = TrainingMonitor(patience=3), TrainingMonitor(patience=3)
    for value in (1.0, 2.0, 3.0):
        first.update({"val_loss": value})
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for monitor in (first, second):
        monitor.update({"val_loss": 4.0})

    assert first.state_dict() == second.state_dict()
    assert second.should_stop and (second.epochs, second.best_epoch) == (4, 1)


def test_settings_and_figures_that_cannot_be_judged_are_errors() -> None:
    with pytest.raises(PlanError, match="mode: should be min or max, not 'low'"):
        TrainingMonitor(mode="low")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="patience: should be 1 or more, or None, not 0"):
        TrainingMonitor(patience=0)
    with pytest.raises(PlanError, match="val_loss decides what is best, but there is only loss"):
        TrainingMonitor().update({"loss": 1.0})


def test_codes_tell_how_many_of_their_numbers_work() -> None:
    codes = torch.zeros(4, 3)
    codes[:, 0] = torch.tensor([1.0, -1.0, 2.0, -2.0])
    found = TrainingMonitor().codes(codes.requires_grad_())

    assert (found.dead, found.effective) == (2, pytest.approx(1.0))
