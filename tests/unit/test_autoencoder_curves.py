"""Pictures of a run from its record: what is drawn is what was recorded."""

import sys
from pathlib import Path
from typing import Any

import pytest

from headway.errors import RunError
from headway.learners.autoencoder.curves import course, draw


def step(epoch: int, batch: int, total: float, weight: float = 10) -> dict[str, Any]:
    return {"event": "step", "position": [epoch, batch], "metrics": {"loss": [total, weight], "windows": 3.0}}


def evaluated(epoch: int, skill: float, **more: Any) -> dict[str, Any]:
    return {"event": "evaluated", "position": [epoch, 0], "metrics": {"skill": skill, "linear_skill": 0.16, **more}}


STARTED = {"event": "run_started"}


def run(skills: list[float]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [STARTED]
    for epoch, skill in enumerate(skills):
        events += [step(epoch, 5, 8 - epoch), step(epoch + 1, 0, 7 - epoch)]
        events += [evaluated(epoch + 1, skill, valid_loss=[4.0 - epoch, 10.0], valid_forced_loss=0.3)]
    return events


def test_an_epoch_s_training_loss_is_the_mean_over_its_tokens() -> None:
    found = course([STARTED, step(0, 4, 8, 10), {"event": "saved"}, step(1, 0, 10, 30), step(1, 2, 3, 10)])

    assert found.losses() == [((1, 0), 18 / 40), ((2, 0), 0.3)]


def test_steps_that_a_crash_undid_are_not_drawn() -> None:
    crashed = [STARTED, step(0, 4, 8), step(1, 0, 8), evaluated(1, 0.1), step(1, 4, 100), evaluated(2, 0.9)]
    resumed = [STARTED, {"event": "resumed", "position": [1, 0]}, step(1, 4, 5), step(2, 0, 5), evaluated(2, 0.2)]

    found = course([*crashed, *resumed])

    assert found.evaluated["skill"] == [((1, 0), 0.1), ((2, 0), 0.2)]
    assert found.losses() == [((1, 0), 0.8), ((2, 0), 0.5)]


def test_a_run_that_began_again_from_nothing_shows_the_second_beginning() -> None:
    found = course([STARTED, step(1, 0, 9), evaluated(1, 0.5), STARTED, step(1, 0, 4), evaluated(1, 0.1)])

    assert found.evaluated["skill"] == [((1, 0), 0.1)]
    assert found.losses() == [((1, 0), 0.4)]


def test_means_in_evaluations_are_read_as_what_they_are() -> None:
    assert course(run([0.1])).evaluated["valid_loss"] == [((1, 0), 0.4)]


def test_figures_of_other_learners_are_no_loss() -> None:
    assert course([{"event": "step", "position": [0, 1], "metrics": {"patterns": 7.0}}]).losses() == []


@pytest.mark.parametrize("name", ["curves.svg", "curves.png"])
def test_equal_records_are_equal_pictures(tmp_path: Path, name: str) -> None:
    pytest.importorskip("matplotlib")
    events, others = run([-0.05, 0.05, 0.2]), {"larger": run([0.0, 0.1])}

    draw(events, tmp_path / name, others=others)
    first = (tmp_path / name).read_bytes()
    draw(iter(events), tmp_path / name, others=others)

    assert (tmp_path / name).read_bytes() == first
    assert first.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")


def test_a_picture_names_what_each_line_is(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        draw(run([0.1, 0.2]), tmp_path / "c.svg", others={"larger": run([0.3])})

    text = (tmp_path / "c.svg").read_text()

    for name in (
        "constant direction (0)",
        "PCA with as many numbers as this run (0.160)",
        "this run",
        "larger",
        "training loss",
    ):
        assert name in text
    for name in ("validation loss", "from the code alone", "teacher-forced", "epochs"):
        assert name in text


def test_a_picture_says_what_the_record_does_not_hold(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        draw([STARTED, {"event": "evaluated", "position": [1, 0], "metrics": {"skill": 0.1}}], tmp_path / "c.svg")

    text = (tmp_path / "c.svg").read_text()

    assert text.count("not in the record") == 2
    assert "PCA" not in text


def test_a_record_without_evaluations_gives_no_picture(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="train an epoch first"):
        draw([STARTED, step(0, 1, 3)], tmp_path / "c.svg")

    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"c\.pdf is no \.svg or \.png file"):
        draw(run([0.1]), tmp_path / "c.pdf")


def test_without_matplotlib_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(RunError, match=r"pip install 'headway\[plots\]'"):
        draw(run([0.1]), tmp_path / "c.svg")
