"""Every setting of an autoencoder changes something; one that is missing here fails the first test."""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from made_trainings import Ran, learn, plan_of, write_home

from headway.data.build import build
from headway.data.dataset import Dataset
from headway.data.split import Overlap
from headway.errors import PlanError, RunError
from headway.learners.autoencoder import material
from headway.learners.autoencoder.config import PhaseSection, Section
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.precision import possible
from headway.learners.gradient.shelf import Shelf
from headway.plan.section import settings
from headway.plan.values import Position

torch.set_num_threads(1)

Values = tuple[tuple[str, ...] | str, tuple[str, ...] | str]
Effect = tuple[tuple[str, ...], Values, Callable[[Ran], Any]]


def weights(run: Ran) -> Any:
    return run.weights


def evaluations(run: Ran) -> Any:
    return run.evaluations


def set_to(path: str, one: Any, two: Any, *beside: str, seen: Callable[[Ran], Any] = weights) -> Effect:
    """A setting's two values, what is set beside it, and what must differ."""
    values = (f"learner.{path}={json.dumps(one)}", f"learner.{path}={json.dumps(two)}")
    return tuple(each if each.startswith("run.") else f"learner.{each}" for each in beside), values, seen


def rate_of(kind: str, path: str, one: Any, two: Any, *beside: str) -> Effect:
    """A setting of a schedule, seen in the rates of six epochs."""
    # Two steps an epoch, and evaluations only where a schedule listens to them.
    every = int(kind == "plateau")
    few = ("run.epochs=6", "run.batch_tokens=512", f"learner.evaluate_every={every}")
    beside = (f"learner.schedule.kind={kind}", *few, *(f"learner.schedule.{each}" for each in beside))
    values = tuple(f"learner.schedule.{path}={json.dumps(value)}" for value in (one, two))
    return beside, (values[0], values[1]), Ran.rates


def phase(**settings: Any) -> str:
    """A curriculum of one phase and a last one of an epoch."""
    phases = [{"epochs": 2, "teacher_forcing": 0.9} | settings, {"epochs": 1, "teacher_forcing": 0.5}]
    return f"learner.curriculum={_inline(phases)}"


def of_phase(name: str, one: Any, two: Any, seen: Callable[[Ran], Any]) -> Effect:
    return ("run.epochs=3",), (phase(**{name: one}), phase(**{name: two})), seen


def _inline(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


def forced(run: Ran) -> list[float]:
    return [each["teacher_forcing"].value for each in run.metrics]


def left_out(run: Ran) -> list[int]:
    return [each["left_out"] for each in run.metrics]


_WORDS = ("loss.kind=token", "model.token_head=free")
_ALWAYS_BAD = ("patience=0", "threshold=9", "smoothing=0")

EFFECTS: dict[str, Effect] = {
    "vectors": set_to("vectors", "random", "vectors.txt", "dimensions=6"),
    "absent": set_to("absent", "random", "zero"),
    "dimensions": set_to("dimensions", 4, 8, "vectors=random"),
    "coverage": set_to("coverage", 0.1, 0.99, seen=lambda run: run.error),
    "min_count": set_to("min_count", 1, 12, seen=lambda run: run.lexicon()["rare"]),
    "most_rows": set_to("most_rows", 2, 64, seen=lambda run: len(run.metrics)),
    "window.size": set_to("window.size", 6, 8),
    "window.overlap": set_to("window.overlap", 0, 2),
    "window.shortest": set_to("window.shortest", 1, 6),
    "window.ends": set_to("window.ends", "anywhere", "line"),
    "window.context_weight": set_to("window.context_weight", 0.0, 1.0),
    "split.train": ((), (("learner.split.train=0.6", "learner.split.valid=0.4"), "learner.split.train=0.8"), weights),
    "split.valid": (
        (),
        (("learner.split.valid=0.1", "learner.split.test=0.1"), "learner.split.valid=0.2"),
        evaluations,
    ),
    "split.test": ((), (("learner.split.test=0.2", "learner.split.train=0.6"), "learner.split.test=0.0"), weights),
    "split.seed": set_to("split.seed", 1, 2),
    "split.alike": set_to("split.alike", 0.2, 1.0),
    "model.encoder": set_to("model.encoder", "lstm", "gru"),
    "model.decoder": set_to("model.decoder", "recurrent", "parallel"),
    "model.hidden": set_to("model.hidden", 8, 12),
    "model.span": set_to("model.span", 4, 8),
    "model.layers": set_to("model.layers", 1, 2),
    "model.bidirectional": set_to("model.bidirectional", False, True),
    "model.residual": set_to("model.residual", False, True, "model.layers=2"),
    "model.dropout": set_to("model.dropout", 0.0, 0.5),
    "model.code": set_to("model.code", 3, 4),
    "model.code_norm": set_to("model.code_norm", "none", "batch"),
    "model.attention": set_to("model.attention", "none", "code"),
    "model.heads": set_to("model.heads", 1, 4, "model.attention=code"),
    "model.slots": set_to("model.slots", 2, 4, "model.attention=code"),
    "model.trainable_vectors": set_to("model.trainable_vectors", False, True),
    "model.token_head": set_to("model.token_head", "free", "tied", "loss.kind=token"),
    "loss.kind": set_to("loss.kind", "cosine", "mse"),
    "loss.mse_weight": set_to("loss.mse_weight", 0.1, 0.6),
    "loss.normalize_targets": set_to("loss.normalize_targets", False, True),
    "loss.temperature": set_to("loss.temperature", 1.0, 2.0),
    "loss.sequence_weight": set_to("loss.sequence_weight", 0.0, 1.0),
    "loss.code_l2": set_to("loss.code_l2", 0.0, 1.0),
    "loss.code_l1": set_to("loss.code_l1", 0.0, 1.0),
    "loss.token_weight": set_to("loss.token_weight", 0.2, 0.8, "loss.kind=hybrid", "model.token_head=free"),
    "loss.label_smoothing": set_to("loss.label_smoothing", 0.0, 0.4, *_WORDS),
    "noise.kind": set_to("noise.kind", "none", "gaussian"),
    "noise.amount": set_to("noise.amount", 0.1, 0.5, "noise.kind=words"),
    "noise.from_amount": set_to("noise.from_amount", 0.0, 0.5, "noise.kind=words"),
    "noise.ramp": set_to("noise.ramp", 1, 9, "noise.kind=words", "noise.from_amount=0.5", "run.epochs=2"),
    "noise.begins": set_to("noise.begins", 0, 1, "noise.kind=words", "run.epochs=2"),
    "noise.neighbours": set_to("noise.neighbours", 1, 5, "noise.kind=synonym", "noise.amount=0.5"),
    "optimizer.kind": set_to("optimizer.kind", "adamw", "sgd"),
    "optimizer.learning_rate": set_to("optimizer.learning_rate", 0.01, 0.02),
    "optimizer.weight_decay": set_to("optimizer.weight_decay", 0.0, 0.5),
    "optimizer.betas": set_to("optimizer.betas", [0.9, 0.999], [0.5, 0.9]),
    "optimizer.clip": set_to("optimizer.clip", 0.001, 9.0, "optimizer.kind=sgd"),
    "optimizer.clip_percentile": set_to("optimizer.clip_percentile", 5, 100, "run.epochs=5"),
    "optimizer.accumulate": set_to("optimizer.accumulate", 1, 3),
    "optimizer.skips": set_to(
        "optimizer.skips", 2, 4, "optimizer.learning_rate=1e38", "run.epochs=9", seen=lambda run: len(run.metrics)
    ),
    "schedule.kind": (
        ("run.epochs=2",),
        ("learner.schedule.kind=constant", "learner.schedule.kind=polynomial"),
        Ran.rates,
    ),
    "schedule.length": rate_of("polynomial", "length", 2, 4),
    "schedule.warmup": rate_of("warmup_cosine", "warmup", 1, 3),
    "schedule.start": rate_of("warmup_cosine", "start", 1e-8, 1e-3),
    "schedule.lowest": rate_of("polynomial", "lowest", 1e-6, 1e-3),
    "schedule.power": rate_of("polynomial", "power", 1, 2),
    "schedule.highest": rate_of("cyclical", "highest", 0.02, 0.03),
    "schedule.half_cycle": rate_of("cyclical", "half_cycle", 1, 2),
    "schedule.cycle": rate_of("cyclical", "cycle", "triangular", "triangular2", "half_cycle=1"),
    "schedule.gamma": rate_of("cyclical", "gamma", 0.9, 0.99, "cycle=exp_range"),
    "schedule.factor": rate_of("plateau", "factor", 0.5, 0.1, *_ALWAYS_BAD),
    "schedule.patience": rate_of("plateau", "patience", 0, 2, *_ALWAYS_BAD[1:]),
    "schedule.threshold": rate_of("plateau", "threshold", 0.0, 9.0, "patience=3", "smoothing=0"),
    "schedule.cooldown": rate_of("plateau", "cooldown", 0, 3, *_ALWAYS_BAD),
    "schedule.smoothing": rate_of("plateau", "smoothing", 0.0, 1.0, "patience=3", "threshold=0"),
    "schedule.first": rate_of("cosine_restarts", "first", 1, 2),
    "schedule.stretch": rate_of("cosine_restarts", "stretch", 1, 2, "first=1"),
    "schedule.decay": rate_of("cosine_restarts", "decay", 0.5, 0.9, "first=1"),
    "checkpoints.keep": set_to("checkpoints.keep", 1, 3, "checkpoints.mode=sync", "run.epochs=3", seen=Ran.kept),
    "teacher_forcing": set_to("teacher_forcing", 0.0, 1.0),
    "unforced": set_to("unforced", "predictions", "nothing"),
    "curriculum": (("run.epochs=3",), (phase(), "learner.curriculum=[]"), forced),
    "curriculum.epochs": (
        ("run.epochs=4",),
        (
            "learner.curriculum=[{epochs = 1, teacher_forcing = 0.9}, {epochs = 3, teacher_forcing = 0.1}]",
            "learner.curriculum=[{epochs = 2, teacher_forcing = 0.9}, {epochs = 2, teacher_forcing = 0.1}]",
        ),
        forced,
    ),
    "curriculum.teacher_forcing": of_phase("teacher_forcing", 0.9, 0.8, forced),
    "curriculum.until": of_phase("until", 0.9, 0.6, forced),
    "curriculum.rate": of_phase("rate", 1.0, 0.5, Ran.rates),
    "curriculum.longest": of_phase("longest", 5, 8, left_out),
    "evaluate_every": set_to("evaluate_every", 1, 2, "run.epochs=4", seen=lambda run: len(run.evaluations)),
    "patience": set_to("patience", 1, 3, "min_delta=9", "run.epochs=6", seen=lambda run: len(run.evaluations)),
    "min_delta": set_to("min_delta", 0.0, 9.0, "patience=2", "run.epochs=6", seen=lambda run: len(run.evaluations)),
    "stop_at": set_to("stop_at", -9.0, 0.999, "run.epochs=3", seen=lambda run: len(run.evaluations)),
    "threads": set_to("threads", 1, 2, seen=lambda run: run.totals["threads"]),
}
# Each has a test of its own below; there is one kind for this section.
APART = {"kind", "split.leakage", "optimizer.precision", "checkpoints.mode", "device"}
# Settings of the other sections that reach an autoencoder by ways of its own.
BESIDE: dict[str, Effect] = {
    "run.seed": ((), ("run.seed=1", "run.seed=2"), weights),
    "run.shuffle": ((), ("run.shuffle=true", "run.shuffle=false"), weights),
    "run.batch_tokens": ((), ("run.batch_tokens=64", "run.batch_tokens=128"), lambda run: len(run.metrics)),
    "run.epochs": ((), ("run.epochs=1", "run.epochs=2"), weights),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_home(tmp_path_factory.mktemp("settings"))


@pytest.fixture(scope="module")
def dataset(home: Path) -> Dataset:
    return build(plan_of(home).data, folder=home, cache=home / "datasets")


Train = Callable[..., Ran]


@pytest.fixture
def train(home: Path, dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    """A training in this process, without a record, that does not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    numbers = iter(range(99))

    def run(*overrides: str) -> Ran:
        folder = tmp_path / f"run-{next(numbers)}"
        folder.mkdir()
        ran = Ran(folder)
        try:
            learn(plan_of(home, *overrides), dataset, ran)
        except RunError as cause:
            ran.error = str(cause)
        return ran

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield run


def test_every_setting_is_listed() -> None:
    listed = {*_below(Section), *(f"curriculum.{name}" for name in settings(PhaseSection))}

    assert set(EFFECTS) | APART == listed


def _below(section: type, prefix: str = "") -> list[str]:
    return [
        path
        for name, setting in settings(section).items()
        for path in ([prefix + name] if setting.section is None else _below(setting.section, prefix=f"{prefix}{name}."))
    ]


@pytest.mark.parametrize("setting", [*EFFECTS, *BESIDE])
def test_a_setting_changes_something(train: Train, setting: str) -> None:
    beside, values, seen = (EFFECTS | BESIDE)[setting]

    one, two = (seen(train(*beside, *([value] if isinstance(value, str) else value))) for value in values)

    assert one != two


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("model.encoder", ["lstm", "gru", "rnn", "transformer"]),
        ("model.code_norm", ["none", "layer", "batch"]),
        ("model.attention", ["none", "code", "bypass"]),
        ("loss.kind", ["cosine", "mse", "cosine+mse"]),
        ("noise.kind", ["none", "gaussian", "dropout", "semantic", "words", "swap", "mask", "synonym"]),
        ("optimizer.kind", ["adam", "adamw", "sgd"]),
        ("window.ends", ["anywhere", "line", "stanza", "sentence"]),
        ("absent", ["random", "mean", "unk", "zero", "drop"]),
    ],
)
def test_every_choice_is_another_one(train: Train, path: str, values: list[str]) -> None:
    beside = ["learner.noise.amount=0.5"] if path == "noise.kind" else ["learner.optimizer.weight_decay=0.1"]
    found = [train(*beside, f"learner.{path}={value}").weights for value in values]

    assert all(found[i] != found[j] for i in range(len(found)) for j in range(i))


def test_the_same_settings_change_nothing(train: Train) -> None:
    assert train().weights == train().weights


def test_what_leaks_stops_a_run_unless_it_only_warns(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "overlap", lambda *_, **__: Overlap(0, 2, 1, 0.5))
    material._made.cache_clear()  # pyright: ignore[reportPrivateUsage]

    stopped, warned = train("learner.split.leakage=stop"), train("learner.split.leakage=warn")

    material._made.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert stopped.error is not None
    assert "held-out text is among what is learned" in stopped.error
    assert warned.error is None


def test_precision_is_that_of_the_arithmetic(train: Train) -> None:
    if "bf16" not in possible(torch.device("cpu")):
        pytest.skip("this processor has no bf16")

    assert train("learner.optimizer.precision=bf16").weights != train("learner.optimizer.precision=fp32").weights


def test_an_asynchronous_save_does_not_wait_for_the_disk(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    put, wait, waited_for = Shelf.put, Checkpoints.wait, Event()

    def late(self: Shelf, content: Any) -> int:
        assert waited_for.wait(60)
        return put(self, content)

    def tell(self: Checkpoints, timeout: float | None = None) -> None:
        waited_for.set()
        wait(self, timeout)

    assert train("learner.checkpoints.mode=sync").saved == [Position(1, 0)]
    monkeypatch.setattr(Shelf, "put", late)
    monkeypatch.setattr(Checkpoints, "wait", tell)
    assert train("learner.checkpoints.mode=async").saved == [None]


def test_the_device_is_the_one_asked_for(train: Train) -> None:
    assert train("learner.device=cpu").totals["device"] == "cpu"
    if torch.cuda.is_available():
        assert train("learner.device=cuda").totals["device"].startswith("cuda")
    else:
        assert "torch sees no GPU" in (train("learner.device=cuda").error or "")


@pytest.mark.parametrize(
    ("needs", "said"), [("stop_at=0.5", "stop_at: is a skill"), ("schedule.kind=plateau", "plateau follows")]
)
def test_what_needs_evaluations_is_refused_without_them(home: Path, needs: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        plan_of(home, "learner.evaluate_every=0", f"learner.{needs}")


@pytest.mark.parametrize("kind", ["synonym", "semantic"])
def test_words_that_are_alike_are_asked_of_no_made_up_vectors(home: Path, kind: str) -> None:
    with pytest.raises(PlanError, match=f"noise.kind: {kind} needs vectors that know which words are alike"):
        plan_of(home, "learner.vectors=random", f"learner.noise.kind={kind}")


@pytest.mark.parametrize("tokenizer", ["words", "gpt2", "bytes"])
def test_a_tokenizer_without_padding_is_refused_once_whatever_else_is_set(home: Path, tokenizer: str) -> None:
    with pytest.raises(PlanError) as error:
        plan_of(home, f"data.tokenizer={tokenizer}", "learner.min_count=2", "learner.noise.kind=mask")

    assert error.value.problems == [
        f'data.tokenizer: "{tokenizer}" has no signs for padding and unknown words, which an autoencoder needs; '
        'leave it at "verse"'
    ]


def test_curricula_that_do_not_add_up_are_refused(home: Path) -> None:
    with pytest.raises(PlanError, match="phases last 3 epochs"):
        plan_of(home, "run.epochs=5", phase())
