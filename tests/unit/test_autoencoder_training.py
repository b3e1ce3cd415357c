"""A network that learns: the same every time, wherever it was interrupted, and honest when it goes wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from made_learners import RUN, WORDS, World, dataset_of, learn, poems, saved, section, weights, write_vectors

from headway.errors import RunError
from headway.learners import registry
from headway.learners.autoencoder.config import NoiseSection, PhaseSection, SplitSection
from headway.learners.autoencoder.yardstick import Yardstick
from headway.learners.gradient import threads
from headway.learners.gradient.config import ScheduleSection
from headway.learners.gradient.shelf import Shelf
from headway.plan.values import Mean, Place, Position

# Everything that draws chance or remembers.
LIVELY: dict[str, Any] = {
    "model": {"dropout": 0.3, "layers": 2, "code_norm": "batch"},
    "noise": NoiseSection(kind="words", from_amount=0.1, amount=0.4, ramp=2),
    "teacher_forcing": 0.5,
    "schedule": ScheduleSection(kind="plateau", patience=0, threshold=1.0),
    "optimizer": {"clip_percentile": 20.0, "accumulate": 3},
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("training")
    return World(dataset_of(folder, poems(14)), folder / "run")


@pytest.fixture
def world(home: World, tmp_path: Path) -> World:
    """The same poems for every test, and a folder of its own."""
    return replace(home, folder=tmp_path / "run", said=[])


def finished(world: World) -> World:
    """The same after it went through all of it."""
    world.learned().close()
    return world


@pytest.mark.parametrize("settings", [{}, LIVELY], ids=["plain", "lively"])
def test_the_same_plan_gives_the_same_bytes(world: World, settings: dict[str, Any]) -> None:
    plan = section(**settings)

    one, two = (finished(world.within(name, section=plan)) for name in ("one", "two"))

    assert saved(one.folder) == saved(two.folder)


def test_another_seed_gives_other_weights(world: World) -> None:
    other = finished(world.within("other", run=replace(world.run, seed=1)))

    assert saved(finished(world).folder)[2] != saved(other.folder)[2]


@pytest.mark.parametrize("settings", [{}, LIVELY], ids=["plain", "lively"])
def test_resumed_at_any_position_it_ends_in_the_same_bytes(world: World, settings: dict[str, Any]) -> None:
    plan = section(**settings)
    undisturbed = saved(finished(world.within("undisturbed", section=plan)).folder)
    total = sum(1 for _ in world.batches())
    assert total >= 6

    for steps in range(1, total):
        cut = world.within(f"cut-{steps}", section=plan)
        first = cut.learner()
        stopped = cut.go_on(first, Position.START, steps=steps)
        first.close()
        second = cut.learner()
        assert second.restore(cut.folder) == stopped
        cut.go_on(second, stopped)
        second.close()

        assert saved(cut.folder) == undisturbed, f"after {steps} of {total} steps"


def test_what_was_not_saved_is_learned_again_to_the_same_bytes(world: World) -> None:
    plan = section(**LIVELY)
    undisturbed = saved(finished(world.within("undisturbed", section=plan)).folder)
    lost = world.within("lost", section=plan)
    first = lost.learner()
    stopped = lost.go_on(first, Position.START, steps=2)
    for batch, after in list(lost.batches(stopped))[:3]:
        learn(first, batch, after)
    first.close()

    again = lost.learner()
    lost.go_on(again, again.restore(lost.folder))
    again.close()

    assert saved(lost.folder) == undisturbed


@pytest.mark.parametrize("parts", [2, 3, 99])
def test_parts_of_a_batch_add_up_to_one_step(world: World, parts: int) -> None:
    plain: dict[str, Any] = {"kind": "sgd", "learning_rate": 0.1}

    whole = finished(world.within("whole", section=section(optimizer=plain)))
    divided = finished(world.within("divided", section=section(optimizer=plain | {"accumulate": parts})))

    assert saved(whole.folder)[2] != saved(divided.folder)[2]
    for name, tensor in weights(whole.folder).items():
        assert torch.allclose(tensor, weights(divided.folder)[name], rtol=0, atol=1e-6), name


def test_a_batch_of_one_window_is_learned_under_batch_norm(world: World) -> None:
    plan = section(model={"code_norm": "batch"}, most_rows=1)

    found = weights(finished(replace(world, section=plan)).folder)

    assert all(tensor.isfinite().all() for tensor in found.values())


def test_losses_are_told_every_20_steps_and_at_the_end_of_each_epoch(world: World) -> None:
    single = replace(world, section=section(most_rows=1))
    learner = single.learner()

    told = [batch.position for batch, _ in single.batches() if "loss" in learner.step(batch)]

    learner.close()
    epoch = single.feed.total_batches // 2
    after = {position.epoch * epoch + position.batch + 1 for position in told}
    assert epoch > 20
    assert after == {epoch, 2 * epoch} | set(range(20, 2 * epoch + 1, 20))


def test_the_mean_loss_of_an_epoch_weighs_every_token_alike(world: World) -> None:
    learner = world.learner()
    found = [learner.step(batch) for batch, _ in world.batches()]
    learner.close()

    targets = sum(batch.tokens for batch, _ in world.batches())
    assert sum(each["loss"].weight for each in found if "loss" in each) == targets
    assert sum(each["sequences"] for each in found) == 2 * len(world.feed.layout.rows.offsets) - 2
    assert sum(each["padding"].weight - each["padding"].total for each in found) == targets


def test_context_that_weighs_nothing_is_no_target(world: World) -> None:
    bare = replace(world, section=section(window=replace(world.section.window, context_weight=0.0)))
    learner = bare.learner()

    weight = sum(metrics["loss"].weight for batch, _ in bare.batches() if "loss" in (metrics := learner.step(batch)))

    learner.close()
    assert weight == sum(int(batch.mask.sum()) for batch, _ in bare.batches())


def test_a_phase_leaves_long_windows_out_and_says_so(world: World) -> None:
    phases = (
        PhaseSection(epochs=1, teacher_forcing=0.9, longest=4),
        PhaseSection(epochs=1, teacher_forcing=0.4, rate=0.5),
    )
    phased = replace(world, section=section(curriculum=phases))
    learner = phased.learner()

    found = [(batch, learner.step(batch)) for batch, _ in phased.batches()]

    learner.close()
    for batch, metrics in found:
        lengths = batch.starts[1:] - batch.starts[:-1]
        assert metrics["left_out"] == (int((lengths > 4).sum()) if batch.position.epoch == 0 else 0)
    rates = {metrics["rate"] for batch, metrics in found if batch.position.epoch == 1}
    assert rates == {Mean(0.005, 1)}
    # A batch of which nothing is left is no step.
    assert any(metrics["sequences"] == 0 and "rate" not in metrics for _, metrics in found)


def test_what_has_no_direction_is_no_target(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, poems(14))
    write_vectors(tmp_path / "vectors.txt", WORDS[:9])
    blank = World(
        dataset, tmp_path / "run", section(vectors="vectors.txt", dimensions=None, absent="zero", coverage=0.0)
    )
    learner = blank.learner()

    weight = sum(metrics["loss"].weight for batch, _ in blank.batches() if "loss" in (metrics := learner.step(batch)))

    learner.close()
    symbols = dataset.vocabulary
    there = {*range(1, symbols.specials), *(symbols.index[word] for word in WORDS[:9] if word in symbols.index)}
    assert weight == sum(token in there for batch, _ in blank.batches() for token in batch.ids.tolist())


def test_the_best_is_kept_apart_from_the_newest(world: World) -> None:
    longer = replace(world, run=replace(world.run, epochs=4), section=section(optimizer={"learning_rate": 0.05}))
    learner = longer.learner()
    skills = {}
    for batch, after in longer.batches():
        learner.step(batch)
        if after.epoch > batch.position.epoch:
            skills[after] = learner.evaluate(after)["skill"]
    learner.settle()

    position, facts, _ = saved(longer.folder, "best")

    assert position == max(skills, key=lambda each: skills[each])
    assert facts["learner"]["judgement"]["best"] == max(skills.values())
    assert learner.totals()["best_skill"] == max(skills.values())
    learner.close()


def test_one_state_is_written_once_however_often_it_is_saved(world: World) -> None:
    learner = world.learner()
    batches = world.batches()
    for _ in range(2):
        batch, after = next(batches)
        learner.step(batch)
        for _ in range(3):
            learner.save(world.folder, after)
            learner.settle()

    kept = sorted(path.name for path in (world.folder / "checkpoints").glob("0*"))

    assert kept == ["000000-00000001", "000000-00000002"]
    learner.close()


def test_patience_that_is_raised_lets_a_run_learn_on(world: World) -> None:
    impatient = replace(world, section=section(patience=1, min_delta=9.0))
    learner = impatient.learned()
    assert learner.enough
    learner.close()

    same, patient = impatient.learner(), replace(world, section=section(patience=3, min_delta=9.0)).learner()
    for each in (same, patient):
        each.restore(world.folder)

    assert same.enough
    assert not patient.enough
    same.close()
    patient.close()


def test_patience_waits_for_the_last_phase(world: World) -> None:
    phases = tuple(PhaseSection(epochs=epochs, teacher_forcing=0.5) for epochs in (3, 4))
    impatient = section(patience=2, min_delta=9.0, curriculum=phases)
    learner = replace(world, section=impatient, run=replace(RUN, epochs=7)).learner()
    learner.step(next(world.batches())[0])

    enough: list[bool] = []
    for epoch in range(1, 6):
        learner.evaluate(Position(epoch, 0))
        enough.append(learner.enough)

    # The first is the best, 2 and 3 are of the first phase, 4 and 5 are the two that patience waits for.
    assert enough == [False, False, False, False, True]
    learner.close()


def test_phases_that_are_added_ask_for_patience_anew(world: World) -> None:
    phases = tuple(PhaseSection(epochs=1, teacher_forcing=share) for share in (0.9, 0.5))
    impatient = section(patience=1, min_delta=9.0, curriculum=phases)
    first = replace(world, section=impatient).learned()
    assert first.enough
    first.close()
    longer = replace(impatient, curriculum=(*phases, PhaseSection(epochs=2, teacher_forcing=0.1)))

    again = replace(world, section=longer, run=replace(RUN, epochs=4)).learner()
    again.restore(world.folder)

    assert not again.enough
    again.evaluate(Position(3, 0))
    assert again.enough
    again.close()


def test_evaluations_come_as_often_as_asked_and_never_without_held_out_text(world: World) -> None:
    rare = replace(world, section=section(evaluate_every=3), run=replace(RUN, epochs=7)).learner()
    whole = world.within("whole", section=section(split=SplitSection(train=1.0, valid=0.0, test=0.0))).learner()

    # The last epoch has one, however it falls.
    evaluated = [epoch for epoch in range(1, 8) if rare.evaluate(Position(epoch, 0)) is not None]
    assert evaluated == [3, 6, 7]
    assert whole.evaluate(Position(1, 0)) is None
    rare.close()
    whole.close()


@pytest.mark.parametrize("encoder", ["lstm", "pca"])
def test_without_evaluations_nothing_is_made_for_them(
    world: World, monkeypatch: pytest.MonkeyPatch, encoder: str
) -> None:
    monkeypatch.setattr(Yardstick, "of", lambda *_: pytest.fail("held-out windows were measured"))
    silent = replace(world, section=section(evaluate_every=0, model={"encoder": encoder}))

    learner = silent.learned()

    assert learner.evaluate(Position(RUN.epochs, 0)) is None
    assert "evaluation" not in learner.totals()
    learner.close()


def test_ranks_begin_alike_and_draw_apart(world: World) -> None:
    lively = replace(world, section=section(**LIVELY))

    def after_a_step(place: Place) -> dict[str, torch.Tensor]:
        learner = registry.make(replace(lively.setup, place=place))
        assert all(torch.equal(one, two) for one, two in zip(learner._model.parameters(), begun, strict=True))
        learner.step(next(lively.batches())[0])
        learner.close()
        return dict(learner._model.state_dict())

    begun = list(lively.learner()._model.parameters())
    one, same, other = (after_a_step(Place(rank=rank, world=2)) for rank in (1, 1, 0))
    alone = after_a_step(Place())

    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
    assert all(torch.equal(other[name], alone[name]) for name in other)


def test_a_trial_of_threads_leaves_nothing_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 1)
    tried = finished(world.within("tried", section=section(**LIVELY, threads=None)))

    given = finished(world.within("given", section=section(**LIVELY, threads=1)))

    assert saved(tried.folder) == saved(given.folder)
    assert json.loads((tried.folder / "model" / "threads.json").read_text())["threads"] == 1


def test_a_trial_is_made_once_for_a_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 1)
    measuring = replace(world, section=section(threads=None))
    first = finished(measuring).learner()
    first.restore(world.folder)
    path = world.folder / "model" / "threads.json"
    path.write_text('{"threads": 1}')
    monkeypatch.setattr(threads, "_cores", lambda: pytest.fail("measured again"))

    first.step(next(measuring.batches())[0])

    assert first.totals()["threads"] == 1
    first.close()


def test_the_threads_of_the_process_are_given_back_whatever_happens(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    learner = replace(world, section=section(threads=2)).learner()
    learner.step(next(world.batches())[0])
    assert torch.get_num_threads() == 2
    monkeypatch.setattr(Shelf, "put", full)
    learner.save(world.folder, Position(0, 1))

    with pytest.raises(RunError, match="the disk is full"):
        learner.close()

    assert torch.get_num_threads() == 1
