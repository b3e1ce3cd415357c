"""A run whose memory is gone says so, rather than learning it all again from nothing."""

import json
import shutil
from pathlib import Path

import pytest

import headway
from headway.data.config import DataSection
from headway.errors import RunError
from headway.learners.patterns.config import Section
from headway.learners.patterns.memory import open_memory
from headway.plan.plan import Plan, RunSection
from headway.plan.values import Position
from headway.run.result import RunResult
from headway.run.run import Run
from headway.run.stop import Stop


def resumed(folder: Path, *, epochs: int = 1) -> RunResult:
    """The run of this folder, begun where there is none."""
    (folder / "texts.jsonl").write_text('{"text": "abcabcabc"}\n')
    plan = Plan(
        name="gone",
        data=DataSection(sources=("texts.jsonl",), tokenizer="bytes"),
        learner=Section(widths=(3, 2)),
        run=RunSection(epochs=epochs),
        workers=1,
        memory=2 << 30,
        folder=folder,
    )
    runs, datasets = folder / "runs", folder / "datasets"
    mode = "resume" if runs.is_dir() else "new"
    return headway.train(plan, runs_dir=runs, datasets_dir=datasets, mode=mode, listeners=())


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize("was_killed", [False, True])
def test_a_memory_that_is_gone_is_not_learned_again_from_nothing(tmp_path: Path, epochs: int, was_killed: bool) -> None:
    run = resumed(tmp_path).folder
    record = run / "record.jsonl"
    if was_killed:
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(line for line in lines if json.loads(line)["event"] != "finished"))
    aside = (run / "memory").rename(tmp_path / "aside")

    for _ in range(2):
        with pytest.raises(RunError, match=r"what it learned is gone.*restore it from a copy.*with --new"):
            resumed(tmp_path, epochs=epochs)

    shutil.rmtree(run / "memory", ignore_errors=True)
    aside.rename(run / "memory")
    assert resumed(tmp_path, epochs=epochs).documents == epochs
    with open_memory(run) as memory:
        assert memory.manifest.documents == epochs


def test_a_run_that_was_killed_before_its_first_save_begins_again(tmp_path: Path) -> None:
    run = resumed(tmp_path).folder
    record = run / "record.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if json.loads(line)["event"] not in ("saved", "finished")))
    shutil.rmtree(run / "memory")

    assert resumed(tmp_path).documents == 1


def test_a_new_run_whose_learner_was_handed_a_save_is_no_longer_untouched(tmp_path: Path) -> None:
    """One that is not durable yet may become so before the error that ends the run is known."""
    plan = Plan(name="p", data=DataSection(sources=("texts.jsonl",)), learner=Section(), folder=tmp_path)
    with Stop() as stop, Run(tmp_path, plan, stop=stop) as run:
        run.begin(Position.START)
        before = run.untouched
        run.save_due()
        run.saved(None)

        assert before
        assert not run.untouched
