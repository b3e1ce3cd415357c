"""What a design costs and what suits it: counted on the built network, measured by a trial, or not said."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import PlanError
from headway.tools.learner import say
from headway.tools.needs import needs_torch
from headway.tools.poetry_config import ArchitectureConfig, settled
from headway.tools.poetry_data import detect_data_format, read_texts
from headway.tools.poetry_presets import PRESETS, preset_architecture
from headway.tools.poetry_tables import ARCHITECTURE

if TYPE_CHECKING:
    from headway.learners.autoencoder.model import Autoencoder

Design = ArchitectureConfig | Mapping[str, Any]

_DIMENSIONS = 300
_WORDS = 64
_NUMBER_BYTES = 4
_BATCHES = (8, 16, 32, 64, 128, 256)
_LIBRARIES = ("headway", "numpy", "torch", "safetensors")
# Networks of a million weights learn little of a few thousand words: a rule of thumb, no measurement.
_WEIGHTS_PER_TOKEN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes of one training step in fp32."""

    parameters: int
    """Numbers that are trained."""
    weights: int
    gradients: int
    optimizer: int
    """The two moments of Adam and AdamW."""
    activations: int
    """What the network of this design kept for its backward pass in one batch: measured."""
    vectors: int | None
    """The table and its unit vectors; None where the number of words was not told."""

    @property
    def total(self) -> int:
        """All that is known."""
        return self.weights + self.gradients + self.optimizer + self.activations + (self.vectors or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A preset for some texts, and what it was chosen by."""

    preset: str
    architecture: ArchitectureConfig
    texts: int
    tokens: int
    parameters: int
    """Of the preset."""
    why: str


def count_parameters(
    architecture: Design | None = None, input_size: int | None = None, vocabulary_size: int | None = None
) -> int:
    """The numbers that are trained, counted on the built network; for vectors of 300 numbers unless told."""
    return _built(_design(architecture), input_size, vocabulary_size).count_parameters()


def estimate_memory_requirements(
    architecture: Design | None = None,
    batch_size: int = 16,
    max_length: int = 50,
    *,
    input_size: int | None = None,
    vocabulary_size: int | None = None,
) -> MemoryEstimate:
    """What a training step holds: weights counted, activations measured on one batch of the longest windows."""
    model = _built(_design(architecture), input_size, vocabulary_size)
    parameters = model.count_parameters()
    table = None if vocabulary_size is None else 2 * model.table.numel() * _NUMBER_BYTES
    return MemoryEstimate(
        parameters=parameters,
        weights=parameters * _NUMBER_BYTES,
        gradients=parameters * _NUMBER_BYTES,
        optimizer=2 * parameters * _NUMBER_BYTES,
        activations=_kept(model, batch_size, max_length),
        vectors=table,
    )


def get_optimal_batch_size(  # noqa: PLR0913 - keywords of a facade
    architecture: Design | None = None,
    max_length: int = 50,
    *,
    input_size: int | None = None,
    vocabulary_size: int | None = None,
    candidates: Sequence[int] = _BATCHES,
    seconds: float = 20.0,
    verbose: bool = True,
) -> int:
    """The number of windows a batch that trained most windows a second here, by `measure_batch_sizes`."""
    found = measure_batch_sizes(
        architecture,
        max_length,
        input_size=input_size,
        vocabulary_size=vocabulary_size,
        candidates=candidates,
        seconds=seconds,
    )
    if verbose:
        say("windows a second by batch size: " + ", ".join(f"{size}: {rate:.3g}" for size, rate in found.items()))
    return max(found, key=found.__getitem__)


def measure_batch_sizes(  # noqa: PLR0913 - keywords of a facade
    architecture: Design | None = None,
    max_length: int = 50,
    *,
    input_size: int | None = None,
    vocabulary_size: int | None = None,
    candidates: Sequence[int] = _BATCHES,
    seconds: float = 20.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[int, float]:
    """Windows a second that a step takes on, by batch size: the better of two steps on made-up windows.

    Sizes are tried from the smallest on, and none is begun after `seconds`: what is not in the answer was not measured.
    """
    model = _built(_design(architecture), input_size, vocabulary_size)
    began = clock()
    found: dict[int, float] = {}
    for size in sorted(candidates):
        if found and clock() - began >= seconds:
            break
        step = _step(model, size, max_length)
        step()
        found[size] = size / min(_timed(step, clock) for _ in range(2))
    return found


def suggest_architecture_for_data(path: Path | str, *, input_size: int | None = None) -> Suggestion:
    """The largest preset with at most 100 weights for each token of the texts, or the smallest.

    A rule of thumb over two counts: how well it learns is not measured; `poetry_autoencoder` measures it.
    """
    from headway.data.tokenizers import load_own

    found = detect_data_format(path)
    texts = read_texts(path, text_field=found.text_field, texts=found.texts)
    tokens = len(load_own("verse").encode(texts).ids)
    sizes = {name: count_parameters(preset_architecture(name), input_size) for name in PRESETS if name != "research"}
    fitting = [name for name, parameters in sizes.items() if parameters <= _WEIGHTS_PER_TOKEN * tokens]
    preset = fitting[-1] if fitting else next(iter(sizes))
    return Suggestion(
        preset=preset,
        architecture=preset_architecture(preset),
        texts=len(texts),
        tokens=tokens,
        parameters=sizes[preset],
        why=f"{sizes[preset]:,} weights for {tokens:,} tokens of {len(texts):,} texts: a rule of thumb, not measured",
    )


def print_system_info() -> dict[str, Any]:
    """What this machine has and what is installed, shown and given back; None for what cannot be known."""
    from headway.machine.describe import describe

    found = {**describe(), **{f"{name}_version": _version(name) for name in _LIBRARIES}, **_torch()}
    for name, value in found.items():
        say(f"{name}: {'not known' if value is None else value}")
    return found


def _design(given: Design | None) -> ArchitectureConfig:
    return settled(ArchitectureConfig, ARCHITECTURE, given)


def _built(design: ArchitectureConfig, input_size: int | None, words: int | None = None) -> Autoencoder:
    """The network of a design over made-up words; how many plays a part only where it has weights for each."""
    if design.token_head != "none" and words is None:
        raise PlanError("design", ["vocabulary_size: a token head has weights for every word; say how many there are"])
    needs_torch("the network of a design")
    import torch

    from headway.learners.autoencoder.config import ModelSection
    from headway.learners.autoencoder.model import Autoencoder

    dimensions = input_size or design.input_size or _DIMENSIONS
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(words or _WORDS, dimensions, generator=generator)
    return Autoencoder(ModelSection(**design.part()["learner"]["model"]), table, generator=generator)


def _step(model: Autoencoder, rows: int, length: int) -> Callable[[], None]:
    """Forward and backward of one batch of made-up windows, all of full length."""
    import torch

    from headway.learners.autoencoder.config import LossSection
    from headway.learners.autoencoder.loss import Targets, losses

    section = LossSection() if model.head is None else LossSection(kind="hybrid")
    ids = torch.randint(1, len(model.table), (rows, length), generator=torch.Generator().manual_seed(rows))
    lengths, weights = torch.full((rows,), length), torch.ones(rows, length)
    targets = Targets(ids, weights, model.table, model.unit)

    def step() -> None:
        code = model.read(ids, lengths)
        output = model.decode(code.z, model.previous(ids), lengths, code.states)
        losses(section, output, targets, code.z, model.logits(output)).total.backward()
        for each in model.parameters():
            each.grad = None

    return step


def _kept(model: Autoencoder, rows: int, length: int) -> int:
    """Bytes that one batch keeps between its forward and its backward pass, weights and tables not counted."""
    import torch
    from torch import Tensor

    own = {each.untyped_storage().data_ptr() for each in (*model.parameters(), *model.buffers())}
    seen: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _step(model, rows, length)()
    return sum(seen.values())


def _timed(step: Callable[[], None], clock: Callable[[], float]) -> float:
    began = clock()
    step()
    return max(clock() - began, 1e-9)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _torch() -> dict[str, Any]:
    if _version("torch") is None:
        return {"gpu": None, "threads": None, "precisions": None}
    import torch

    from headway.learners.gradient.precision import possible

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else "none that torch sees"
    return {"gpu": gpu, "threads": torch.get_num_threads(), "precisions": ", ".join(possible(device))}
