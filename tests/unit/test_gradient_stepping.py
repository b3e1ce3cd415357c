"""Steps: clipped as torch clips, skipped and counted where the gradient is no number, resumed bit for bit."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils import clip_grad_norm_

from headway.errors import RunError
from headway.learners.gradient import stepping
from headway.learners.gradient.clipping import Clipped, Clipper
from headway.learners.gradient.config import OptimizerSection
from headway.learners.gradient.health import Health, module_norms, watch_updates
from headway.learners.gradient.state import State
from headway.learners.gradient.stepping import Stepper, make_optimizer, step_if
from headway.plan.values import Position

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)
CPU = torch.device("cpu")
WHERE: dict[str, Any] = {"step": 1234, "position": Position(2, 7), "kept": Position(2, 0)}


def _parameters(*sizes: int) -> list[torch.Tensor]:
    return [torch.zeros(size, requires_grad=True) for size in sizes]


def _grads(parameters: list[torch.Tensor], scale: float, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for each in parameters:
        each.grad = torch.randn(each.shape, generator=generator) * scale


def _norm(norm: float, limit: float = 1.0) -> Clipped:
    return Clipped(torch.tensor(norm), torch.tensor(limit))


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e4])
def test_clipping_is_torchs_bit_for_bit(scale: float) -> None:
    ours, torchs = _parameters(5, 7), _parameters(5, 7)
    _grads(ours, scale)
    _grads(torchs, scale)

    found = Clipper(ours, longest=1.0, percentile=None).clip()

    assert found.norm == clip_grad_norm_(torchs, 1.0)
    assert found.limit == 1.0
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(ours, torchs, strict=True))  # type: ignore[arg-type]


def test_without_a_limit_the_length_is_measured_and_nothing_changed() -> None:
    parameters = _parameters(5)
    _grads(parameters, 100)
    before = parameters[0].grad.clone()  # type: ignore[union-attr]

    found = Clipper(parameters, longest=None, percentile=None).clip()

    assert found.norm == torch.linalg.vector_norm(before)
    assert found.limit == float("inf")
    assert torch.equal(parameters[0].grad, before)  # type: ignore[arg-type]


def test_a_percentile_limits_from_the_twentieth_length_on() -> None:
    parameters = _parameters(6)
    clipper = Clipper(parameters, longest=None, percentile=50)
    lengths: list[float] = []

    for number in range(260):
        _grads(parameters, 1.0 + number % 7, seed=number)
        found = clipper.clip()
        expected = np.quantile(np.float32(lengths[-200:]), 0.5) if number >= 20 else np.inf
        assert float(found.limit) == pytest.approx(float(expected), rel=1e-6)
        after = float(torch.linalg.vector_norm(parameters[0].grad))  # type: ignore[arg-type]
        assert after == pytest.approx(min(float(found.norm), float(expected)), rel=1e-5)
        lengths.append(float(found.norm))


def test_both_limits_hold_and_lengths_that_are_no_number_are_forgotten() -> None:
    parameters = _parameters(6)
    clipper = Clipper(parameters, longest=2.0, percentile=90)
    for number in range(40):
        _grads(parameters, float("inf") if number % 2 else 1e-3, seed=number)
        found = clipper.clip()
    _grads(parameters, 100.0)
    found = clipper.clip()

    assert float(found.limit) < 0.01
    for number in range(250):
        _grads(parameters, 100.0, seed=number)
        found = clipper.clip()
    assert found.limit == 2.0


def test_recent_lengths_are_part_of_the_state() -> None:
    parameters = _parameters(6)
    whole, first = (Clipper(parameters, longest=None, percentile=50) for _ in range(2))
    for number in range(230):
        for clipper in (whole, first):
            _grads(parameters, 1.0, seed=number)
            clipper.clip()
    again = Clipper(parameters, longest=None, percentile=50)
    again.load(first.state())

    for number in range(230, 260):
        _grads(parameters, 1.0, seed=number)
        expected = whole.clip().limit
        _grads(parameters, 1.0, seed=number)
        assert again.clip().limit == expected


def test_a_report_adds_up_the_steps_since_the_last_one() -> None:
    health = Health(CPU, skips=10)
    for norm in (0.5, 4.0, float("nan"), float("inf"), 1.5):
        health.note(_norm(norm))

    first = health.report()
    health.note(_norm(0.25))
    second = health.report()

    assert (first.steps, first.skipped, first.clipped) == (5, 2, 2)
    assert (first.norm, first.norm_max) == (2.0, 4.0)
    assert first.norm_clipped == pytest.approx((0.5 + 1 + 1) / 3)
    assert (second.steps, second.norm, second.norm_max, second.clipped) == (1, 0.25, 0.25, 0)
    assert second.to_json()["skipped"] == 0


def test_what_was_not_measured_is_absent() -> None:
    health = Health(CPU, skips=10)
    empty = health.report()
    health.note(_norm(float("nan")))
    skipped = health.report()

    assert (empty.steps, empty.norm, empty.norm_clipped, empty.norm_max) == (0, None, None, None)
    assert (skipped.steps, skipped.skipped, skipped.norm) == (1, 1, None)
    assert not (skipped.vanishing or skipped.exploding)


@pytest.mark.parametrize(
    ("norm", "vanishing", "exploding"),
    [(1e-7, True, False), (1e-5, False, False), (9.0, False, False), (11.0, False, True)],
)
def test_gradients_that_vanish_or_explode_are_flagged(norm: float, vanishing: bool, exploding: bool) -> None:
    health = Health(CPU, skips=10)
    health.note(_norm(norm))

    found = health.report()

    assert (found.vanishing, found.exploding) == (vanishing, exploding)


def test_too_many_in_a_row_stop_the_run_and_fewer_do_not() -> None:
    health = Health(CPU, skips=3)
    for norm in (float("nan"), float("nan"), 1.0, float("nan"), float("inf")):
        health.note(_norm(norm))
        health.check(**WHERE)

    health.report()
    health.note(_norm(float("nan")))

    with pytest.raises(RunError) as found:
        health.check(**WHERE)
    text = str(found.value)
    assert "3 gradients in a row were not finite, up to step 1,234 (epoch 2, batch 7)" in text
    assert "The checkpoint of epoch 2, batch 0 is good and kept" in text
    with pytest.raises(RunError, match="There is no checkpoint yet"):
        health.check(step=1, position=Position(0, 1), kept=None)


def test_a_row_that_was_over_before_the_look_is_not_forgotten() -> None:
    health = Health(CPU, skips=2)
    for norm in (float("nan"), float("nan"), 1.0, 1.0):
        health.note(_norm(norm))

    with pytest.raises(RunError, match="2 gradients in a row"):
        health.check(**WHERE)


def _model() -> torch.nn.Module:
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))


def _section(**settings: Any) -> OptimizerSection:
    return OptimizerSection(**({"learning_rate": 0.1} | settings))


def _learn(model: torch.nn.Module, stepper: Stepper, numbers: range, *, bad: tuple[int, ...] = ()) -> None:
    for number in numbers:
        generator = torch.Generator().manual_seed(number)
        loss = model(torch.randn(8, 4, generator=generator)).square().mean()
        stepper.scale(loss * (float("nan") if number in bad else 1.0)).backward()
        stepper.step(0.1 / (number + 1))


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
def test_the_plan_decides_the_rule(kind: Any) -> None:
    frozen = torch.zeros(2)
    section = _section(kind=kind, weight_decay=0.25, betas=(0.8, 0.99))

    optimizer = make_optimizer(section, [*_parameters(3), frozen])

    group = optimizer.param_groups[0]
    assert type(optimizer).__name__.lower() == kind
    assert (group["lr"], group["weight_decay"], group["fused"], len(group["params"])) == (0.1, 0.25, True, 1)
    assert group.get("momentum", group.get("betas")) == (0.8 if kind == "sgd" else (0.8, 0.99))


def test_a_step_is_torchs_own_at_the_rate_that_is_given() -> None:
    model, other = _model(), _model()
    section = _section(clip=0.5)
    stepper = Stepper(section, make_optimizer(section, model.parameters()))
    plain = torch.optim.AdamW(other.parameters(), lr=0.1, weight_decay=section.weight_decay, fused=True)

    _learn(model, stepper, range(5))
    for number in range(5):
        generator = torch.Generator().manual_seed(number)
        plain.zero_grad()
        other(torch.randn(8, 4, generator=generator)).square().mean().backward()
        clip_grad_norm_(other.parameters(), 0.5)
        plain.param_groups[0]["lr"] = 0.1 / (number + 1)
        plain.step()

    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert all(each.grad is None for each in model.parameters())


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_a_gradient_that_is_no_number_changes_nothing_and_is_counted(kind: Any) -> None:
    section = _section(kind=kind)
    whole, holey = _model(), _model()
    first = Stepper(section, make_optimizer(section, whole.parameters()))
    second = Stepper(section, make_optimizer(section, holey.parameters()))

    _learn(whole, first, range(1, 4))
    _learn(holey, second, range(4), bad=(0,))

    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), holey.parameters(), strict=True))
    assert (second.report().skipped, first.report().skipped) == (1, 0)


def test_a_run_of_bad_gradients_stops_with_the_weights_as_they_were() -> None:
    section = _section(skips=2)
    model = _model()
    stepper = Stepper(section, make_optimizer(section, model.parameters()))
    before = [each.detach().clone() for each in model.parameters()]

    _learn(model, stepper, range(2), bad=(0, 1))

    with pytest.raises(RunError, match="2 gradients in a row"):
        stepper.check(**WHERE)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("settings", [{}, {"clip_percentile": 60.0}, {"kind": "sgd"}])
def test_a_stepper_goes_on_bit_for_bit(settings: dict[str, Any]) -> None:
    section = _section(**settings)
    whole, first, again = _model(), _model(), _model()
    steppers = [Stepper(section, make_optimizer(section, each.parameters())) for each in (whole, first, again)]
    _learn(whole, steppers[0], range(40), bad=(3, 24))
    _learn(first, steppers[1], range(25), bad=(3, 24))

    again.load_state_dict(first.state_dict())
    state = steppers[1].state()
    steppers[2].load(State({name: tensor.clone() for name, tensor in state.tensors.items()}, state.facts))
    _learn(again, steppers[2], range(25, 40))

    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))
    assert steppers[0].report() == steppers[2].report()


def test_a_scale_that_is_too_high_skips_and_comes_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fp16 does on a GPU, with the scaler on the CPU."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1000)
    monkeypatch.setattr(stepping, "scaler", lambda precision, device: scaler)
    section = _section()
    model = _model()
    with torch.no_grad():
        model[0].weight.mul_(1e4)
    stepper = Stepper(section, make_optimizer(section, model.parameters()))
    before = [each.detach().clone() for each in model.parameters()]

    _learn(model, stepper, range(1))
    skipped = all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    scale = scaler.get_scale()
    _learn(model, stepper, range(60))

    assert skipped
    assert scale == 2.0**126
    assert 0 < stepper.report().skipped < 61
    assert all(each.isfinite().all() for each in model.parameters())
    assert stepper.state().facts["scaler"]["tree"]["scale"] == scaler.get_scale() < scale


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_a_device_can_be_told_to_skip_without_being_asked(kind: Any) -> None:
    """The way of a GPU, which torch's fused optimizers have on the CPU as well."""
    section = _section(kind=kind)
    told, asked = _model(), _model()
    optimizers = [make_optimizer(section, each.parameters()) for each in (told, asked)]
    for number, finite in enumerate((False, True, False, True)):
        for model, optimizer, fetch in zip((told, asked), optimizers, (False, True), strict=True):
            _grads(list(model.parameters()), 1.0 if finite else float("nan"), seed=number)
            step_if(optimizer, torch.tensor(finite), fetch=fetch)

    assert all(torch.equal(a, b) for a, b in zip(told.parameters(), asked.parameters(), strict=True))
    assert all(each.isfinite().all() for each in told.parameters())
    assert not hasattr(optimizers[0], "found_inf")


def test_an_optimizer_that_cannot_be_told_is_asked() -> None:
    parameters = _parameters(3)
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    _grads(parameters, float("nan"))

    step_if(optimizer, torch.tensor(False))

    assert parameters[0].tolist() == [0, 0, 0]


def test_norms_of_modules_are_those_of_their_gradients() -> None:
    model = _model()
    assert module_norms(model) == {}
    model(torch.ones(2, 4)).sum().backward()

    found = module_norms(model)

    expected = torch.cat([each.grad.flatten() for each in model[0].parameters()]).norm()  # type: ignore[index]
    assert list(found) == ["0", "1"]
    assert found["0"] == pytest.approx(float(expected), rel=1e-6)


def test_how_far_weights_move_is_a_share_of_their_length() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[3.0, 0], [0, 4]]))
        model[1].weight.fill_(0)
    model[1].requires_grad_(False)

    with watch_updates(model) as ratios, torch.no_grad():
        model[0].weight[0, 0] += 0.5

    assert ratios == {"0": pytest.approx(0.1)}
