"""When learning goes wrong: it ends with a message, and what was good stays."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from made_learners import World, dataset_of, poems, saved, section, weights

from headway.errors import RunError
from headway.learners.gradient.config import CheckpointSection, ScheduleSection
from headway.plan.plan import RunSection
from headway.plan.values import Mean, Position


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("trouble")
    return World(dataset_of(folder, poems(14)), folder / "run")


@pytest.fixture
def world(home: World, tmp_path: Path) -> World:
    """The same poems for every test, and a folder of its own."""
    return replace(home, folder=tmp_path / "run", said=[])


def diverging(world: World, *, rate: float = 1e38, **optimizer: Any) -> World:
    """One good step, then a rate that makes the next gradients no numbers."""
    plan = section(
        optimizer={"learning_rate": rate} | optimizer,
        schedule=ScheduleSection(kind="warmup_cosine", start=1e-3, warmup=1.0),
        checkpoints=CheckpointSection(mode="sync"),
    )
    return replace(world, section=plan, run=RunSection(batch_tokens=64, epochs=30))


def test_gradients_that_are_no_numbers_end_a_run_with_its_position_and_what_is_kept(world: World) -> None:
    bad = diverging(world, skips=3)
    learner = bad.learner()
    steps = 0

    with pytest.raises(
        RunError, match=r"3 gradients in a row .* up to step (\d+) \(epoch \d+, batch \d+\).*checkpoint"
    ) as error:
        for batch, after in bad.batches():
            learner.step(batch)
            steps += 1
            kept = learner.save(bad.folder, after)

    learner.close()
    assert f"up to step {steps + 1} " in str(error.value)
    # Neither a step nor a save was made of what came after the last good one.
    assert kept == Position(0, 1)
    assert "The checkpoint of epoch 0, batch 1 is good and kept" in str(error.value)
    assert all(tensor.isfinite().all() for tensor in weights(bad.folder).values())


def test_weights_that_are_no_numbers_are_never_saved(world: World) -> None:
    bad = diverging(world, skips=99)
    learner = bad.learner()
    batches = bad.batches()
    batch, after = next(batches)
    learner.step(batch)
    assert learner.save(bad.folder, after) == after
    for _ in range(2):
        batch, last = next(batches)
        learner.step(batch)
    assert learner.save(bad.folder, last) == after

    with pytest.raises(
        RunError, match=r"after step 3, epoch 0, batch 3, .* The checkpoint of epoch 0, batch 1 is good"
    ):
        learner.settle()

    assert saved(bad.folder)[0] == after
    learner.close()


@pytest.mark.parametrize("skips", [1, 3])
def test_a_skipped_step_leaves_no_trace_but_that_it_is_counted(world: World, skips: int) -> None:
    plan = section(model={"code_norm": "batch"}, optimizer={"skips": skips + 1})
    learner = replace(world, section=plan).learner()
    batches = world.batches()
    learner.step(next(batches)[0])
    before = {name: tensor.clone() for name, tensor in learner._model.state_dict().items()}
    with torch.no_grad():
        table, learner._model.unit = learner._model.unit, torch.full_like(learner._model.unit, math.nan)

    for _ in range(skips):
        learner.step(next(batches)[0])

    after = learner._model.state_dict()
    assert any("running_mean" in name for name in after)
    assert all(torch.equal(after[name], before[name]) for name in before)
    learner._model.unit = table
    learner.step(next(batches)[0])
    assert not any(torch.equal(after[name], before[name]) for name in before if "running" in name)
    assert learner._stepper.has_numbers
    learner.close()


def test_who_stops_while_gradients_are_no_numbers_still_has_it_saved(world: World) -> None:
    learner = world.learner()
    batches = world.batches()
    batch, first = next(batches)
    learner.step(batch)
    learner.save(world.folder, first)
    learner.settle()
    learner._stepper.scale = lambda loss: loss * math.nan
    batch, after = next(batches)
    learner.step(batch)

    # It may never recover: what was good stays the newest, unless this is the end.
    assert learner.save(world.folder, after) == first
    learner.settle()

    assert saved(world.folder)[0] == after
    learner.close()


def test_what_was_held_back_is_given_up_with_the_next_step(world: World) -> None:
    learner = world.learner()
    batches = world.batches()
    scale, learner._stepper.scale = learner._stepper.scale, lambda loss: loss * math.nan
    batch, after = next(batches)
    learner.step(batch)
    assert learner.save(world.folder, after) is None
    learner._stepper.scale = scale

    learner.step(next(batches)[0])
    learner.settle()

    # A state of now under a position of then would be learned from twice.
    assert learner.restore(world.folder) is None
    learner.close()


@pytest.mark.parametrize("rate", [1e8, 1e18, 1e30, 1e38])
def test_whatever_the_rate_every_figure_is_finite_or_the_run_ends(world: World, rate: float) -> None:
    bad = diverging(world, rate=rate, skips=5)
    learner = bad.learner()

    with pytest.raises(RunError, match=r"step \d+"):
        for batch, after in list(bad.batches())[:60]:
            metrics = learner.step(batch)
            if after.epoch > batch.position.epoch:
                metrics |= learner.evaluate(after)
            figures = [each for value in metrics.values() for each in (value if isinstance(value, Mean) else [value])]
            assert all(map(math.isfinite, figures)), metrics

    learner.close()


def test_an_evaluation_that_fails_says_after_which_step(world: World) -> None:
    learner = world.learner()
    learner.step(next(world.batches())[0])
    with torch.no_grad():
        for each in learner._model.parameters():
            each.fill_(float("nan"))

    with pytest.raises(RunError, match=r"after step 1, epoch 1, batch 0, failed: .* have diverged"):
        learner.evaluate(Position(1, 0))
    learner.close()


def test_a_checkpoint_that_is_damaged_is_named(world: World) -> None:
    world.learned().close()
    path = next((world.folder / "checkpoints").glob("*0/state.safetensors"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    learner = world.learner()

    with pytest.raises(RunError, match=r"state\.safetensors does not have the checksum.*it is damaged"):
        learner.restore(world.folder)
    learner.close()


def test_a_checkpoint_of_another_model_is_refused(world: World) -> None:
    world.learned().close()
    other = replace(world, section=section(model={"hidden": 12})).learner()

    with pytest.raises(RunError, match=r"the checkpoint is of another model .*restore the plan it was trained with"):
        other.restore(world.folder)
    other.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(RunError, match=r"learner\.device: torch sees no GPU here; set device to auto or cpu"):
        replace(world, section=section(device="cuda")).learner()


def test_doubtful_models_are_built_and_doubted(world: World) -> None:
    doubtful = replace(world, section=section(model={"attention": "bypass", "heads": 2}))

    learner = doubtful.learner()

    assert any("nothing is compressed" in text for text in world.said)
    assert learner.totals()["bottleneck"] is False
    learner.close()
