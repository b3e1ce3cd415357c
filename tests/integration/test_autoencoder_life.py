"""How a run of gradients ends, is continued, and when it may not be."""

import os
from pathlib import Path

import pytest
import torch
from made_children import Folder

from headway.cli.main import main

torch.set_num_threads(1)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")
# Whatever is reached, it is no improvement.
EARLY = ("--set", "learner.patience=1", "--set", "learner.min_delta=9")


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("life")
    # In this process: all that is forked from it has everything loaded.
    assert main([*Folder(home / "plan", home / "datasets").words, "--set", "run.epochs=1"]) == 0
    return home / "datasets"


@pytest.fixture
def folder(datasets: Path, tmp_path: Path) -> Folder:
    return Folder(tmp_path / "plan", datasets)


def test_a_run_that_has_enough_is_finished(folder: Folder) -> None:
    folder.train(*EARLY)

    last = folder.events()[-1]
    assert (last["event"], last["reason"], last["position"]) == ("finished", "complete", [2, 0])
    notes = [event["text"] for event in folder.events() if event["event"] == "note"]
    assert notes == ["ending before the last epoch: learning more would be in vain"]
    folder.train(*EARLY, "--resume")
    assert folder.runs() == ["plan-001"]
    folder.train(*EARLY)
    assert folder.runs() == ["plan-001", "plan-002"]


def test_epochs_that_are_added_are_learned_as_if_they_had_always_been_there(folder: Folder) -> None:
    constant = ("--set", "learner.schedule.kind=constant")
    folder.train(*constant, "--set", "run.epochs=4")
    folder.train("--new", *constant, "--set", "run.epochs=2")

    folder.train("--resume", *constant, "--set", "run.epochs=4")

    assert folder.runs() == ["plan-001", "plan-002"]
    assert folder.state(1) == folder.state(2)
    warned = [event["text"] for event in folder.events(2) if event["event"] == "warned"]
    assert any(text.startswith("run.epochs") for text in warned)


def phases(*shares: float, epochs: int | None = None) -> tuple[str, ...]:
    """The settings of a curriculum of so many phases, an epoch each."""
    listed = ", ".join(f"{{epochs = 1, teacher_forcing = {share}}}" for share in shares)
    settings = ("schedule.kind=constant", f"curriculum=[{listed}]")
    words = [word for each in settings for word in ("--set", f"learner.{each}")]
    return (*words, "--set", f"run.epochs={epochs or len(shares)}")


def test_phases_that_are_added_are_learned_as_if_they_had_always_been_there(folder: Folder) -> None:
    folder.train(*phases(0.9, 0.5, 0.1))
    folder.train("--new", *phases(0.9, 0.5))

    folder.train("--resume", *phases(0.9, 0.5, 0.1))

    assert folder.runs() == ["plan-001", "plan-002"]
    (whole, best_whole), (added, best_added) = folder.state(1), folder.state(2)
    assert whole == added
    # The best may have been saved before there was a third phase, which its facts say; its weights are the same.
    assert best_whole[2] == best_added[2]
    warned = [event["text"] for event in folder.events(2) if event["event"] == "warned"]
    assert any(text.startswith("learner.curriculum") for text in warned)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (phases(0.9, 0.4, 0.1), "learner.curriculum: "),
        (phases(0.9, 0.5, 0.1, epochs=4), "its phases last 3 epochs, run.epochs is 4; make them equal"),
        (phases(0.9), "has learned more documents than run.documents and run.epochs allow now"),
    ],
)
def test_phases_that_were_learned_are_fixed(folder: Folder, changed: tuple[str, ...], said: str) -> None:
    folder.train(*phases(0.9, 0.5))

    refused = folder.start("--resume", *changed)

    assert refused.wait() == 2
    assert said in refused.said


def test_epochs_that_are_added_to_a_run_that_had_enough_change_nothing(folder: Folder) -> None:
    folder.train(*EARLY)
    before = folder.state()

    folder.train("--resume", *EARLY, "--set", "run.epochs=6")

    assert folder.state()[0][2] == before[0][2]
    assert folder.events()[-1]["position"] == [2, 0]


def test_patience_that_is_raised_continues_a_run_that_had_enough(folder: Folder) -> None:
    folder.train(*EARLY)

    folder.train("--resume", "--set", "learner.patience=2", "--set", "learner.min_delta=9")

    assert folder.events()[-1]["position"] == [3, 0]
    assert folder.runs() == ["plan-001"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("learner.optimizer.weight_decay=0.5", "learner.optimizer.weight_decay: 1e-05 when the run began, 0.5 now"),
        ("learner.model.hidden=12", "learner.model.hidden: 16 when the run began, 12 now"),
        ("learner.window.size=9", "learner.window.size: 10 when the run began, 9 now"),
        ("learner.split.seed=1", "learner.split.seed: 0 when the run began, 1 now"),
        ("run.seed=1", "run.seed: 0 when the run began, 1 now"),
    ],
)
def test_what_a_run_is_made_of_is_fixed(folder: Folder, setting: str, said: str) -> None:
    folder.train("--set", "run.epochs=1")

    refused = folder.start("--resume", "--set", "run.epochs=1", "--set", setting)

    assert refused.wait() == 2
    assert said in refused.said
    assert "put them back, or start a new run with --new" in refused.said


def test_who_lowers_the_rate_goes_on_from_before_it_went_wrong(folder: Folder) -> None:
    # A first step by a small rate is good; the next ones are not.
    schedule = [f"learner.schedule.{each}" for each in ("kind=warmup_cosine", "start=0.001", "warmup=1")]
    wild = [f"learner.optimizer.{each}" for each in ("learning_rate=1e38", "skips=3")]
    settings = [word for each in (*schedule, *wild) for word in ("--set", each)]
    failed = folder.start(*settings)

    assert failed.wait() == 2, failed.said
    assert "The checkpoint of epoch 0, batch 1 is good and kept" in failed.said
    assert "--resume --set learner.optimizer.learning_rate=" in failed.said
    assert "the same command would fail again" in failed.said
    assert "the same command continues" not in failed.said
    again = folder.start(*settings)
    assert again.wait() == 2, again.said
    folder.train("--resume", *settings, "--set", "learner.optimizer.learning_rate=0.01")
    assert folder.runs() == ["plan-001"]
    assert folder.events()[-1]["reason"] == "complete"


def test_a_run_that_was_wrong_from_its_first_step_says_to_start_anew(folder: Folder) -> None:
    failed = folder.start("--set", "learner.optimizer.learning_rate=1e38", "--set", "learner.optimizer.skips=1")

    assert failed.wait() == 2, failed.said
    assert "the same command continues" not in failed.said


def test_how_a_run_is_saved_is_free(folder: Folder) -> None:
    folder.train("--set", "run.epochs=1")

    changes = ("learner.checkpoints.mode=sync", "learner.checkpoints.keep=1", "run.save_every=1h")
    continued = folder.train(
        "--resume", "--set", "run.epochs=2", *(word for each in changes for word in ("--set", each))
    )

    assert folder.events()[-1]["position"] == [2, 0]
    assert "learner.checkpoints" not in continued.said
