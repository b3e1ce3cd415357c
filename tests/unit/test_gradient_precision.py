"""A precision is honoured or refused, never quietly replaced."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from headway.errors import RunError
from headway.learners.gradient import precision
from headway.learners.gradient.precision import Native, autocast, native_bf16, possible, require, scaler

pytestmark = pytest.mark.filterwarnings("error")
torch.set_num_threads(1)
CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    precision._bf16_on.cache_clear()
    yield
    precision._bf16_on.cache_clear()


def _says(monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    monkeypatch.setattr(precision, "native_bf16", lambda capabilities: Native(answer, "as tested"))


def test_bf16_computes_in_bf16_and_fp32_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    _says(monkeypatch, True)
    layer = torch.nn.Linear(4, 4)

    with autocast("bf16", CPU):
        reduced = layer(torch.ones(1, 4)).dtype
    with autocast("fp32", CPU):
        full = layer(torch.ones(1, 4)).dtype

    assert (reduced, full) == (torch.bfloat16, torch.float32)


def test_bf16_where_it_is_not_native_is_an_error_with_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    _says(monkeypatch, False)

    with pytest.raises(RunError, match=r"precision: cpu has no bf16 \(as tested\); it can: fp32"):
        autocast("bf16", CPU)
    assert possible(CPU) == ["fp32"]


def test_fp16_without_a_gpu_is_an_error_that_says_what_can(monkeypatch: pytest.MonkeyPatch) -> None:
    _says(monkeypatch, True)

    with pytest.raises(RunError, match="fp16 needs a GPU, this run computes on cpu, which can: fp32, bf16"):
        require("fp16", CPU)
    with pytest.raises(RunError, match="fp16 needs a GPU"):
        scaler("fp16", CPU)


def test_a_gpu_can_what_torch_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def supported(including_emulation: bool) -> bool:
        asked.append(including_emulation)
        return True

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)

    assert possible(CUDA) == ["fp32", "bf16", "fp16"]
    require("fp16", CUDA)
    require("bf16", CUDA)
    assert asked == [False]


def test_a_device_nobody_tried_has_fp32() -> None:
    with pytest.raises(RunError, match="mps has no bf16"):
        require("bf16", torch.device("mps"))


def test_scaling_passes_everything_through_where_it_is_not_needed() -> None:
    loss = torch.tensor(2.0)
    found = scaler("fp32", CPU)

    assert found.scale(loss) is loss
    assert found.state_dict() == {}


@pytest.mark.parametrize("name", ["avx512_bf16", "amx_bf16", "bf16", "sve_bf16"])
def test_what_a_processor_says_of_itself_is_believed(name: str) -> None:
    def never() -> float:
        raise AssertionError("measured all the same")

    assert native_bf16({name: True}, clock=never) == Native(True, f"the processor has {name}")


@pytest.mark.parametrize(("bf16_takes", "native"), [(0.5, True), (1.0, False), (4.0, False)])
def test_a_processor_that_says_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, bf16_takes: float, native: bool
) -> None:
    now = [0.0]

    def multiply(a: torch.Tensor, b: torch.Tensor) -> None:
        now[0] += bf16_takes if a.dtype == torch.bfloat16 else 1.0

    monkeypatch.setattr(torch, "mm", multiply)

    found = native_bf16({"avx512_bf16": False}, clock=lambda: now[0])

    assert found == Native(native, f"a product of matrices takes {bf16_takes:.2g} times as long as in fp32")


def test_this_processor_has_an_answer() -> None:
    found: Any = precision._bf16_on(CPU)

    assert found.evidence
