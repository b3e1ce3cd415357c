"""What a learner is, taken apart into tensors and JSON, comes back exactly."""

import json
import math
import random
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from headway.errors import RunError
from headway.learners.gradient.parts import (
    load_into,
    load_optimizer,
    load_random,
    optimizer_state,
    random_state,
    state_of,
)
from headway.learners.gradient.state import State, join, pack, part, unpack

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)


def _through_json(state: State) -> State:
    return State(state.tensors, json.loads(json.dumps(state.facts, allow_nan=False)))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        2**70,
        0.1,
        math.inf,
        -math.inf,
        "text",
        [1, [2.5, "a"], None],
        (1, (2, [3])),
        {"a": {"b": (1,)}, "c": []},
        {0: "zero", None: "none", 1.5: "half", "x": {7: 1}},
        {"$": "a key like our own mark"},
    ],
)
def test_json_values_tuples_and_odd_keys_come_back_equal_and_of_their_type(value: Any) -> None:
    found = unpack(_through_json(pack(value)))

    assert found == value
    assert repr(found) == repr(value)


def test_no_number_comes_back_as_no_number() -> None:
    assert math.isnan(unpack(_through_json(pack({"loss": math.nan})))["loss"])


def test_tensors_and_arrays_come_back_where_they_were() -> None:
    value = {
        "model": OrderedDict(weight=torch.arange(6.0).view(2, 3), bias=torch.tensor(1.5)),
        "numbers": [np.arange(4, dtype=np.int16)[::-1], np.float32(0.5), np.int64(3)],
    }

    found = unpack(_through_json(pack(value)))

    assert torch.equal(found["model"]["weight"], value["model"]["weight"])
    assert torch.equal(found["model"]["bias"], torch.tensor(1.5))
    assert found["numbers"][0].dtype == np.int16
    assert found["numbers"][0].tolist() == [3, 2, 1, 0]
    assert found["numbers"][1:] == [0.5, 3]


def test_names_that_read_alike_are_two_tensors() -> None:
    value = {"a.b": torch.tensor(1), "a": {"b": torch.tensor(2)}}

    state = pack(value)

    assert sorted(state.tensors) == ["a.b", "a.b~1"]
    assert unpack(_through_json(state)) == value


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"args": {"when": object()}}, r"checkpoint\['args'\]\['when'\].* a object"),
        ([np.array(["a"])], r"checkpoint\['0'\].* array of <U1"),
        ({"known": {(1, 2): 3}}, r"checkpoint\['known'\].* a tuple"),
        ({1, 2}, "checkpoint is or has as a key a set"),
    ],
)
def test_what_no_checkpoint_can_hold_is_named_with_its_place(value: Any, named: str) -> None:
    with pytest.raises(RunError, match=named):
        pack(value, where="checkpoint")


def test_parts_of_a_state_come_apart_as_they_were_joined() -> None:
    inner = join({"moments": State({"0/x": torch.tensor(1)}, {"n": 1})})
    state = join({"model": State({"w": torch.tensor(2)}, {}), "optimizer": inner})

    assert sorted(state.tensors) == ["model/w", "optimizer/moments/0/x"]
    assert part(part(state, "optimizer"), "moments") == State({"0/x": torch.tensor(1)}, {"n": 1})
    assert part(state, "model").facts == {}


def test_a_part_that_is_missing_or_badly_named_is_an_error() -> None:
    with pytest.raises(RunError, match=r"no 'scaler', only model"):
        part(join({"model": State({}, {})}), "scaler")
    with pytest.raises(ValueError, match="without '/'"):
        join({"a/b": State({}, {})})


def _learner(kind: str) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(3)
    model = torch.nn.Linear(4, 3)
    kinds = {
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
        "adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    }
    return model, kinds[kind](model.parameters())


def _train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        model(torch.full((2, 4), float(step + 1))).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd"])
def test_an_optimizer_goes_on_bit_for_bit(kind: str) -> None:
    whole, its_optimizer = _learner(kind)
    _train(whole, its_optimizer, range(6))
    first, optimizer = _learner(kind)
    _train(first, optimizer, range(3))

    again, other = _learner(kind)
    again.load_state_dict(first.state_dict())
    load_optimizer(other, _through_json(optimizer_state(optimizer)))
    _train(again, other, range(3, 6))

    assert torch.equal(again.weight, whole.weight)
    assert other.state_dict()["param_groups"] == its_optimizer.state_dict()["param_groups"]


def test_loaded_moments_share_no_memory_with_the_checkpoint() -> None:
    model, optimizer = _learner("adamw")
    _train(model, optimizer, range(2))
    state = optimizer_state(optimizer)
    kept = {name: tensor.clone() for name, tensor in state.tensors.items()}
    again, other = _learner("adamw")
    load_optimizer(other, State(kept, state.facts))

    before = {name: tensor.clone() for name, tensor in kept.items()}
    _train(again, other, range(2))

    assert all(torch.equal(before[name], kept[name]) for name in kept)


def test_the_state_of_another_optimizer_or_model_is_refused() -> None:
    _, optimizer = _learner("sgd")
    with pytest.raises(RunError, match=r"the state of SGD, the plan asks for AdamW"):
        load_optimizer(_learner("adamw")[1], optimizer_state(optimizer))

    larger = torch.optim.SGD([torch.zeros(1, requires_grad=True)] * 1, lr=0.1)
    with pytest.raises(RunError, match="that of another model"):
        load_optimizer(larger, optimizer_state(optimizer))


def test_a_scheduler_of_torch_comes_back_with_its_infinite_best() -> None:
    _, optimizer = _learner("sgd")
    scheduler = ReduceLROnPlateau(optimizer, patience=3)
    again = ReduceLROnPlateau(optimizer, patience=9)

    load_into(again, _through_json(state_of(scheduler)))

    assert again.patience == 3
    assert again.best == math.inf


def test_random_numbers_to_come_are_those_that_were_to_come() -> None:
    kept = random_state()
    own = torch.Generator().manual_seed(9)
    try:
        random.gauss(0, 1)
        torch.manual_seed(1)
        state = _through_json(random_state({"order": own}))
        expected = (random.random(), random.gauss(0, 1), torch.rand(3), torch.rand(2, generator=own))

        load_random(state, {"order": own})

        assert (random.random(), random.gauss(0, 1)) == expected[:2]
        assert torch.equal(torch.rand(3), expected[2])
        assert torch.equal(torch.rand(2, generator=own), expected[3])
    finally:
        load_random(kept)


def test_every_gpu_has_random_numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[int, torch.Tensor] = {}
    kept = random_state()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [torch.tensor([1]), torch.tensor([2])])
    state = random_state()
    # One of two devices is left, and one is new.
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda tensor, index: given.update({index: tensor}))

    load_random(state)

    assert {index: tensor.tolist() for index, tensor in given.items()} == {0: [1], 1: [2]}
    load_random(kept)
