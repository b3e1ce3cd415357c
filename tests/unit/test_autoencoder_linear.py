"""The linear code as a learner: what principal components are, wherever it was interrupted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_learners import World, dataset_of, learn, poems, section

from headway.errors import RunError
from headway.learners.autoencoder.baselines import flat_rows
from headway.learners.autoencoder.config import SplitSection
from headway.learners.autoencoder.groundwork import groundwork
from headway.learners.autoencoder.linear import STATE, codec_of, read_sums
from headway.plan.values import Position

LINE = section(model={"encoder": "pca"})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("linear")
    return World(dataset_of(folder, poems(30)), folder / "run", LINE)


@pytest.fixture
def world(home: World, tmp_path: Path) -> World:
    return replace(home, folder=tmp_path / "run", said=[])


def epoch(world: World, learner, *, first: int = 0):
    """All batches of the first epoch from one on."""
    for batch, after in list(world.batches(Position(0, first))):
        if batch.position.epoch:
            return
        learn(learner, batch, after)
        learner.save(world.folder, after)


def everything(folder: Path):
    found = read_sums(folder / STATE)
    assert found is not None
    return (
        found.position,
        found.enough,
        found.evaluation,
        {name: each.tobytes() for name, each in found.sums.arrays().items()},
    )


def test_its_code_is_that_of_the_principal_components(world: World) -> None:
    learner = world.learner()
    epoch(world, learner)
    ground = groundwork(world.setup)
    windows = flat_rows(ground.corpus(ground.material.train), ground.table, size=8)
    found = read_sums(world.folder / STATE)
    assert found is not None

    codec = codec_of(found.sums, world.section, ground.table)

    centred = windows.astype(np.float64) - windows.mean(axis=0, dtype=np.float64)
    directions = np.linalg.svd(centred, full_matrices=False)[2][: codec.code]
    held = ground.corpus(ground.material.valid)
    expected = (flat_rows(held, ground.table, size=8) - windows.mean(axis=0, dtype=np.float64)) @ directions.T
    codes = codec.encode(held)
    signs = np.sign((codes * expected).sum(axis=0))
    assert codes == pytest.approx(expected * signs, abs=2e-5)
    whole = (codes @ (directions * signs[:, None]) + windows.mean(axis=0)).reshape(len(held), 8, -1)
    inside = np.arange(8) < held.lengths[:, None]
    assert codec.decode(codes, held.lengths) == pytest.approx(whole[inside], abs=2e-5)


def test_one_epoch_is_enough_and_its_skill_is_that_of_the_baseline(world: World) -> None:
    learner = world.learner()
    assert not learner.enough
    for batch, _ in world.batches():
        if batch.position.epoch == 0:
            learner.step(batch)

    found = learner.evaluate(Position(1, 0))

    assert learner.enough
    # The line that every report prints beside a model, gathered step by step.
    assert found["skill"] == pytest.approx(found["linear_skill"], abs=1e-5)
    assert learner.totals()["evaluation"] == found


def test_resumed_after_any_batch_it_has_the_same_bytes(world: World) -> None:
    undisturbed = world.within("undisturbed")
    epoch(undisturbed, undisturbed.learner())
    batches = sum(batch.position.epoch == 0 for batch, _ in world.batches())

    for cut in range(1, batches):
        there = world.within(f"cut-{cut}")
        first = there.learner()
        for batch, after in list(there.batches())[: cut + 1]:
            first.step(batch)
            if after == Position(0, cut):
                # What comes after this was never saved.
                first.save(there.folder, after)
        second = there.learner()
        assert second.restore(there.folder) == Position(0, cut)
        epoch(there, second, first=cut)

        assert everything(there.folder) == everything(undisturbed.folder)


def test_without_held_out_text_it_learns_and_says_nothing_of_itself(world: World) -> None:
    plan = section(model={"encoder": "pca"}, split=SplitSection(train=1.0, valid=0.0, test=0.0))
    whole = replace(world, section=plan)
    learner = whole.learner()
    epoch(whole, learner)

    assert learner.evaluate(Position(1, 0)) is None
    assert "evaluation" not in learner.totals()
    assert learner.enough


def test_more_numbers_than_a_window_has_are_refused(world: World) -> None:
    with pytest.raises(RunError, match=r"a window of 8 vectors of 6 has 48 numbers.*fewer than a linear code of 49"):
        replace(world, section=section(model={"encoder": "pca", "code": 49})).learner()


def test_fewer_windows_than_numbers_make_a_code_all_the_same(tmp_path: Path) -> None:
    few = World(
        dataset_of(tmp_path, poems(8, lines=1)), tmp_path / "run", section(model={"encoder": "pca", "code": 40})
    )
    learner = few.learner()

    epoch(few, learner)

    assert learner.totals()["windows"] < 40
    assert -1 < learner.totals()["evaluation"]["skill"] < 1


def test_a_single_window_is_too_little(world: World) -> None:
    learner = world.learner()
    sums = learner._sums

    with pytest.raises(RunError, match=r"needs 2 windows or more, the learned side has 0; give more text"):
        codec_of(sums, world.section, groundwork(world.setup).table)


@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "other"])
def test_a_damaged_file_is_named(world: World, damage: str) -> None:
    epoch(world, world.learner())
    path = world.folder / STATE
    content = path.read_bytes()
    middle = len(content) // 2
    other = world.folder / "other.npz"
    np.savez(other, position=np.zeros(3, int))
    path.write_bytes(
        {
            "torn": content[:-40],
            "flipped": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
            "empty": b"",
            "other": other.read_bytes(),
        }[damage]
    )

    with pytest.raises(RunError, match=r"linear\.npz is damaged .*restore it from a copy"):
        world.learner().restore(world.folder)


def test_no_torch_is_needed() -> None:
    import subprocess
    import sys

    program = "import sys, headway.learners.autoencoder.linear; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
