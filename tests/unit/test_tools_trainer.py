"""The trainer of the seeds, over their networks and over any other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from headway.errors import DataError, PlanError, RunError
from headway.learners.gradient.precision import possible
from headway.tools import (
    BucketingSampler,
    CollateFunction,
    OptimizedRNNTrainer,
    RNNAutoencoder,
    TrainingConfig,
    curriculum_learning,
)
from headway.tools.loaders import EpochLoader

SIZE = 5


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def network(seed: int = 0, **settings: Any) -> RNNAutoencoder:
    given = {"input_size": SIZE, "hidden_size": 8, "bottleneck_dim": 3, "rnn_type": "lstm", **settings}
    return RNNAutoencoder(given, seed=seed)


class Plain(nn.Module):
    """Two linear maps over whatever a batch is."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.maps = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Dropout(dropout), nn.Linear(SIZE, SIZE))

    def forward(self, batch: Any) -> Tensor:
        return self.maps(batch if isinstance(batch, Tensor) else batch["input_sequences"])


def plain(dropout: float = 0.0) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    model = Plain(dropout)
    with torch.no_grad():
        for each in model.parameters():
            each.normal_(generator=generator)
    return model


def windows(count: int = 12, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(2 + number % 5, SIZE, generator=generator) for number in range(count)]


def loader(rows: list[Tensor], batch_size: int = 4, *, shuffle: bool = True) -> EpochLoader:
    sampler = BucketingSampler([len(row) for row in rows], batch_size, shuffle=shuffle)
    return EpochLoader(rows, sampler, collate_fn=CollateFunction())


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: each.detach().clone() for name, each in model.named_parameters()}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def test_a_network_of_the_seeds_learns_and_every_figure_is_measured() -> None:
    config = {"epochs": 4, "lr": 0.01, "bottleneck_regularization": 0.001, "num_workers": 4, "max_grad_norm": 0.1}
    trainer = OptimizedRNNTrainer(network(), loader(windows()), loader(windows(4, 1)), config)
    found = trainer.train()

    history = found["history"]
    assert (found["epochs"], found["steps"], found["stopped_early"]) == (4, 12, False)
    assert history["train_loss"][-1] < history["train_loss"][0]
    assert found["best_val_loss"] == min(history["val_loss"])
    assert found["best_epoch"] == 1 + history["val_loss"].index(found["best_val_loss"])
    assert history["clipped"] == [3.0] * 4
    assert found["performance"]["sequences"] == 48
    assert found["performance"]["tokens"] == 4 * sum(map(len, windows()))
    assert set(found["performance"]["spans"]) == {"wait", "step", "evaluate", "other"}
    assert found["gradients"]["looks"] == 1 and found["checkpoints"] is None
    assert found["notes"] == [
        "lr is learning_rate",
        "num_workers changes nothing: the loader decides",
        "max_grad_norm is gradient_clip",
    ]


def test_parts_of_a_step_add_up_to_one_large_batch() -> None:
    rows = windows()
    results = []
    for size, parts in ((12, 1), (4, 3), (5, 3)):
        model = plain()
        config = {"epochs": 1, "gradient_accumulation": parts, "gradient_clip": None}
        found = OptimizedRNNTrainer(model, loader(rows, size), config=config).train()
        results.append((weights(model), found))

    for found, result in results[1:]:
        assert result["steps"] == 1
        assert result["history"]["train_loss"] == pytest.approx(results[0][1]["history"]["train_loss"], rel=1e-6)
        assert all(torch.allclose(found[name], each, atol=1e-6) for name, each in results[0][0].items())


def test_the_last_group_of_an_epoch_is_stepped_though_it_is_not_full() -> None:
    found = OptimizedRNNTrainer(plain(), loader(windows(), 4), config={"epochs": 2, "accumulation_steps": 2}).train()

    assert found["steps"] == 2 * 2


@pytest.mark.parametrize("kind", ["network", "plain"])
def test_a_training_that_is_continued_ends_as_one_that_never_stopped(tmp_path: Path, kind: str) -> None:
    def made(epochs: int, folder: Path) -> tuple[OptimizedRNNTrainer, nn.Module]:
        if kind == "network":
            model, rows = network(), loader(windows())
            config: dict[str, Any] = {"teacher_forcing_ratio": 0.5}
        else:
            model, rows = plain(0.5), DataLoader(windows(), 4, shuffle=True, collate_fn=CollateFunction())
            config = {}
        config |= {"epochs": epochs, "lr": 0.01, "scheduler": "plateau", "scheduler_params": {"patience": 0}}
        return OptimizedRNNTrainer(model, rows, loader(windows(4, 1)), config, checkpoint_dir=folder), model

    state = torch.get_rng_state()
    try:
        torch.set_rng_state(torch.Generator().manual_seed(9).get_state())
        unbroken, straight = made(4, tmp_path / "a")
        whole = unbroken.train()
        torch.set_rng_state(torch.Generator().manual_seed(9).get_state())
        made(2, tmp_path / "b")[0].train()
        torch.set_rng_state(torch.Generator().manual_seed(5).get_state())
        again, continued = made(4, tmp_path / "b")
        rest = again.train()
    finally:
        torch.set_rng_state(state)

    assert same(weights(straight), weights(continued))
    for name in ("train_loss", "val_loss", "learning_rate"):
        assert rest["history"][name] == whole["history"][name]
    assert (rest["steps"], rest["best_epoch"]) == (whole["steps"], whole["best_epoch"])


def test_the_best_epoch_comes_back_as_it_was(tmp_path: Path) -> None:
    config = {"epochs": 8, "lr": 0.5, "patience": 2, "async_checkpointing": False}
    rows, held = loader(windows()), loader(windows(4, 1), shuffle=False)
    trainer = OptimizedRNNTrainer(network(), rows, held, config, checkpoint_dir=tmp_path)
    found = trainer.train()

    assert found["stopped_early"] and found["epochs"] == found["best_epoch"] + 2
    assert trainer.validate() != found["best_val_loss"]
    assert trainer.load_best() == found["best_epoch"]
    assert trainer.validate() == pytest.approx(found["best_val_loss"], rel=1e-6)
    assert found["checkpoints"]["written"] >= found["epochs"]
    assert trainer.train()["epochs"] == found["epochs"]


def test_without_a_folder_nothing_is_kept_and_without_held_out_data_the_training_decides() -> None:
    trainer = OptimizedRNNTrainer(plain(), loader(windows()), config={"epochs": 2})
    found = trainer.train()

    assert found["best_train_loss"] == min(found["history"]["train_loss"])
    assert found["history"]["val_loss"] == [None, None]
    with pytest.raises(RunError, match="no best epoch is saved"):
        trainer.load_best()
    with pytest.raises(RunError, match="there is nothing to validate on"):
        trainer.validate()
    assert trainer.validate([]) is None


def test_the_share_of_true_words_follows_the_curriculum() -> None:
    model = network()
    found = OptimizedRNNTrainer(model, loader(windows()), config=curriculum_learning(2, [1, 2])).train()

    assert found["history"]["teacher_forcing"] == [0.9, 0.1, 0.1]
    assert model.settings.teacher_forcing_ratio == 0.1
    own = OptimizedRNNTrainer(network(teacher_forcing_ratio=0.7), loader(windows()), config={"epochs": 1}).train()
    assert own["history"]["teacher_forcing"] == [0.7]
    other = OptimizedRNNTrainer(plain(), loader(windows()), config=TrainingConfig(epochs=1, batch_size=2)).train()
    assert other["history"]["teacher_forcing"] == [None]


def test_a_phase_has_a_rate_of_its_own_and_the_schedule_is_that_of_the_steps() -> None:
    phases = [{"epochs": 1, "teacher_forcing": 0.9}, {"epochs": 1, "teacher_forcing": 0.1, "rate": 0.5}]
    config = {"phases": phases, "learning_rate": 0.1, "scheduler": "polynomial", "scheduler_params": {"eta_min": 0.0}}
    found = OptimizedRNNTrainer(network(), loader(windows()), config=config).train()

    # Six steps fall from 0.1 to 0; the last of the third is 0.1 * (1 - 2 / 6), of the sixth 0.1 * (1 - 5 / 6) / 2.
    assert found["history"]["learning_rate"] == pytest.approx([0.1 * 4 / 6, 0.1 / 12])


def test_the_penalty_of_the_code_is_the_networks_unless_it_is_told() -> None:
    ended = []
    for own, told in ((0.0, {}), (5.0, {}), (0.0, {"bottleneck_regularization": 5.0})):
        model = network(bottleneck_regularization=own, use_batch_norm=True, dropout=0.0)
        OptimizedRNNTrainer(model, loader(windows()), config={"epochs": 1, **told}).train()
        ended.append(weights(model))

    assert same(ended[1], ended[2]) and not same(ended[0], ended[1])


def test_a_loss_is_chosen_by_name_or_given() -> None:
    losses = []
    for config, criterion in (
        ({}, None),
        ({"loss_type": "cosine"}, None),
        ({"loss_type": "mse"}, None),
        ({"mse_weight": 0.5}, None),
        ({}, lambda output, targets, mask: {"total": (output - targets).square().mean()}),
    ):
        trainer = OptimizedRNNTrainer(plain(), loader(windows()), config={"epochs": 1, **config}, criterion=criterion)
        losses.append(trainer.train()["history"]["train_loss"][0])

    assert len(set(losses)) == 5


def test_batches_may_be_dicts_pairs_or_tensors() -> None:
    rows = torch.stack([torch.ones(3, SIZE), torch.arange(3.0 * SIZE).reshape(3, SIZE)])
    every = (
        rows,
        (rows, rows),
        [rows, rows],
        {"input_sequences": rows, "attention_mask": torch.ones(2, 3, dtype=torch.bool), "title": "t"},
        CollateFunction()(list(rows)),
    )
    losses = []
    for batch in every:
        model: nn.Module = network() if isinstance(batch, dict) or hasattr(batch, "ids") else plain()
        losses.append(OptimizedRNNTrainer(model, [batch], config={"epochs": 1}).train()["history"]["train_loss"][0])

    assert len(set(losses[:3])) == 1 and losses[3] == losses[4]


def test_padding_weighs_nothing_and_an_empty_batch_is_no_step() -> None:
    rows = torch.ones(2, 3, SIZE)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    empty = {"input_sequences": rows, "attention_mask": torch.zeros(2, 3, dtype=torch.bool)}

    batches = [{"input_sequences": rows, "attention_mask": mask}, empty]
    found = OptimizedRNNTrainer(plain(), batches, config={"epochs": 1}).train()

    assert (found["steps"], found["performance"]["tokens"], found["performance"]["places"]) == (1, 3, 6)
    assert found["history"]["padding"] == [0.5]


def test_gradients_that_are_no_numbers_end_the_training_and_change_nothing(tmp_path: Path) -> None:
    model = plain()
    before = weights(model)
    trainer = OptimizedRNNTrainer(
        model,
        loader(windows(), 1),
        config={"epochs": 3},
        criterion=lambda output, targets, mask: output.sum() * float("nan"),
        checkpoint_dir=tmp_path,
    )
    with pytest.raises(RunError, match="gradients in a row were not finite"):
        trainer.train()

    assert same(weights(model), before)


def test_reduced_precision_is_used_where_there_is_any() -> None:
    if "bf16" not in possible(torch.device("cpu")):
        pytest.skip("this processor has no bf16")
    ended = []
    for precision in (False, True):
        model = network(dropout=0.0)
        OptimizedRNNTrainer(model, loader(windows()), config={"epochs": 1, "mixed_precision": precision}).train()
        ended.append(weights(model))

    assert not same(*ended)
    assert all(torch.allclose(ended[0][name], ended[1][name], atol=1e-2) for name in ended[0])


def test_a_network_that_draws_for_itself_leaves_the_generator_of_torch_alone() -> None:
    before = torch.get_rng_state()
    OptimizedRNNTrainer(network(dropout=0.5), [torch.ones(2, 3, SIZE)], config={"epochs": 2}).train()

    assert torch.equal(torch.get_rng_state(), before)


def test_threads_are_those_that_were_asked_for_and_then_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    OptimizedRNNTrainer(plain(), loader(windows()), config={"epochs": 1, "threads": 3}).train()

    assert asked == [3, torch.get_num_threads()]


def test_each_epoch_is_said_where_somebody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    OptimizedRNNTrainer(plain(), loader(windows()), config={"epochs": 2}, verbose=True).train()

    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 1 of 2", "epoch 2 of 2"]
    assert "train_loss" in lines[0] and "val_loss" not in lines[0]


def endless() -> Iterator[Tensor]:
    yield torch.ones(2, 3, SIZE)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"epoch": 3}, "epoch: is no setting; did you mean epochs?"),
        ({"stop_at": 0.5}, "stop_at: is no setting"),
        (TrainingConfig(stop_at=0.5), "stop_at: changes nothing here; leave it out"),
        ({"teacher_forcing": 0.5}, "teacher_forcing_ratio: a Plain is not given true words"),
        ({"loss_type": "token"}, "loss_type: token needs to know the words"),
        ({"scheduler": "polynomial"}, "scheduler: polynomial needs a loader that says how many batches"),
        (7, "config: should be a TrainingConfig or a dict, not a int"),
        ({"learning_rate": 0}, "learning_rate: learner.optimizer.learning_rate: should be greater than 0"),
    ],
)
def test_what_a_trainer_cannot_do_is_an_error(config: Any, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        OptimizedRNNTrainer(plain(), endless(), config=config)

    assert said in str(caught.value)


def test_what_belongs_to_another_is_an_error() -> None:
    def mean(output: Tensor, targets: Tensor, mask: Tensor | None) -> Tensor:
        return (output - targets).square().mean()

    with pytest.raises(PlanError, match="loss_type: criterion decides"):
        OptimizedRNNTrainer(plain(), loader(windows()), config={"loss_type": "mse"}, criterion=mean)
    phases = [{"epochs": 1, "teacher_forcing": 0.9, "longest": 3}]
    with pytest.raises(PlanError, match="longest: the loader decides which windows there are"):
        OptimizedRNNTrainer(network(), loader(windows()), config={"phases": phases})
    trainer = OptimizedRNNTrainer(plain(), [torch.ones(1, 2, SIZE)], config={"bottleneck_regularization": 0.1})
    with pytest.raises(PlanError, match="needs a network that gives a dict with 'bottleneck'"):
        trainer.train()


class Wrong(nn.Module):
    """Gives something else than a network should."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.output = output

    def forward(self, batch: Any) -> Any:
        return self.output


@pytest.mark.parametrize(
    ("model", "batch", "criterion", "said"),
    [
        (Wrong({"made": 1}), torch.ones(1, 2, SIZE), None, "a dict with 'reconstructed', not a dict with made"),
        (Wrong(None), torch.ones(1, 2, SIZE), None, "not a NoneType"),
        (plain(), torch.ones(1, 2, SIZE), lambda *_: torch.ones(3), "one number, .* not a tensor of 1 dimensions"),
        (plain(), torch.ones(1, 2, SIZE), lambda *_: {"part": 1}, "one number, .* not a NoneType"),
        (plain(), {"words": 1}, None, "a batch that is a dict has 'input_sequences', not words"),
        (plain(), "text", None, "a batch should be a dict, a pair of tensors or a tensor, not a str"),
    ],
)
def test_what_is_no_batch_output_or_loss_is_an_error_that_shows_it(
    model: nn.Module, batch: Any, criterion: Any, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        OptimizedRNNTrainer(model, [batch], criterion=criterion, config={"epochs": 1}).train()
