"""What summaries say of an autoencoder's run, from its plan and its record."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway.cli.learned import commands, kind_of, rows
from headway.cli.main import main

TOTALS = {
    "model": "lstm 1 x 256, recurrent decoder",
    "parameters": 1_234_567,
    "code": 64,
    "dimensions": 100,
    "bottleneck": True,
    "vectors": "glove.txt",
    "coverage": 0.9321,
    "device": "cpu",
    "threads": 2,
    "checkpoints": {
        "written": 14,
        "bytes": 12 << 20,
        "coalesced": 0,
        "blocking": {"count": 14, "median": 0.00091, "max": 0.0073},
    },
}


def plan(*, epochs: int = 30, encoder: str = "lstm", **learner: Any) -> dict[str, Any]:
    model = {"encoder": encoder, "code": 64, "attention": "none"}
    split = {"train": 0.8, "valid": 0.15, "test": 0.05}
    usual = {"kind": "autoencoder", "model": model, "split": split, "window": {"size": 50}}
    usual |= {"evaluate_every": 1, "stop_at": None}
    return {"learner": usual | learner, "run": {"epochs": epochs}}


def evaluated(epoch: int, skill: float, *, since: int | None = 0, line: float = 0.163) -> dict[str, Any]:
    metrics = {"skill": skill, "constant": 0.634, "cosine": 0.64, "linear_skill": line}
    more = {} if since is None else {"since_best": since}
    return {"time": 1.0, "event": "evaluated", "position": [epoch, 0], "metrics": metrics | more}


def finished(epoch: int, reason: str = "complete") -> dict[str, Any]:
    return {
        "time": 2.0, "event": "finished", "position": [epoch, 0], "seconds": 2.0, "reason": reason,
        "totals": {"documents": 10, "tokens": 100, "learner": TOTALS}, "why": None,
    }  # fmt: skip


def saved(epoch: int) -> dict[str, Any]:
    return {"time": 1.5, "event": "saved", "position": [epoch, 3], "seconds": 0.1, "documents": 10, "tokens": 100}


STARTED = {"time": 0.0, "event": "run_started", "run": "x-001", "workers": 1, "memory": 1 << 30, "dataset": "d"}


def made(folder: Path, events: list[dict[str, Any]], **changes: Any) -> Path:
    """A run folder with this record."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "plan.resolved.json").write_text(json.dumps(plan(**changes)))
    (folder / "record.jsonl").write_text("".join(json.dumps(event) + "\n" for event in [STARTED, *events]))
    return folder


def said(folder: Path, totals: dict[str, Any] | None = None) -> dict[str, str]:
    return dict(rows(folder, TOTALS if totals is None else totals))


def test_a_run_is_told_with_everything_a_person_wants(tmp_path: Path) -> None:
    run = made(tmp_path, [evaluated(1, 0.001), evaluated(2, 0.012), finished(2)], epochs=2)

    assert said(run) == {
        "model": "lstm 1 x 256, recurrent decoder, 1,234,567 parameters; cpu, 2 threads",
        "code": "64 numbers for up to 50 vectors of 100, 1 : 78",
        "vectors": "glove.txt, 93.2% of the learned words have one",
        "epochs": "2 of 2",
        "skill": "0.0120 over a constant (0.6340); PCA of 64 numbers: 0.1630: the line is better",
        "checkpoints": "14 written, 12 MiB; a save blocks for 0.91 ms, 7.3 ms at most",
    }


@pytest.mark.parametrize(
    ("skill", "line", "judged"),
    [
        (0.2, 0.163, "PCA of 64 numbers: 0.1630: the model is better"),
        (0.2, -0.1, "PCA of 64 numbers: -0.1000: the model is better"),
        (0.163, 0.163, "PCA of 64 numbers: 0.1630: the line is better"),
        (-0.2, 0.163, "PCA of 64 numbers: 0.1630: the line is better, and so is a constant"),
        (-0.2, -0.3, "PCA of 64 numbers: -0.3000: neither is better than a constant"),
    ],
)
def test_a_skill_is_judged_by_a_line_and_by_a_constant(tmp_path: Path, skill: float, line: float, judged: str) -> None:
    run = made(tmp_path, [evaluated(1, skill, line=line), finished(1)])

    assert said(run)["skill"] == f"{skill:.4f} over a constant (0.6340); {judged}"


def test_a_linear_code_is_not_compared_with_itself(tmp_path: Path) -> None:
    run = made(tmp_path, [evaluated(1, 0.16, since=None), finished(1)], encoder="pca")
    bad = made(tmp_path / "bad", [evaluated(1, -0.1, since=None), finished(1)], encoder="pca")

    assert said(run)["skill"] == "0.1600 over a constant (0.6340)"
    assert said(run)["epochs"] == "1 of 30; a linear code has learned all there is in one"
    assert said(bad)["skill"] == "-0.1000 over a constant (0.6340): no better than a constant"


def test_a_run_that_ended_early_says_why(tmp_path: Path) -> None:
    waited = [evaluated(1, 0.01), evaluated(2, 0.03), evaluated(3, 0.02, since=1), evaluated(4, 0.01, since=2)]
    patient = made(tmp_path / "a", [*waited, finished(4)])
    reached = made(tmp_path / "b", [evaluated(1, 0.25), finished(1)], stop_at=0.2)
    whole = made(tmp_path / "c", [*waited, finished(4)], epochs=4)

    assert said(patient)["epochs"] == "4 of 30, best after 2; ended early: no better evaluation in 2 (learner.patience)"
    assert said(patient)["skill"].startswith("0.0300 over")
    assert said(patient)["last"] == "skill 0.0100 after epoch 4"
    assert said(reached)["epochs"] == "1 of 30; ended early: the skill reached learner.stop_at = 0.2"
    assert said(whole)["epochs"] == "4 of 4, best after 2"


def test_a_run_that_was_stopped_did_not_end_early(tmp_path: Path) -> None:
    run = made(tmp_path, [evaluated(1, 0.01), finished(1, "stopped")])

    assert said(run)["epochs"] == "1 of 30"


def test_a_run_at_work_is_told_as_far_as_its_record_goes(tmp_path: Path) -> None:
    young = said(made(tmp_path / "young", []), {})
    older = said(made(tmp_path / "older", [evaluated(1, 0.01), saved(1)]), {})

    assert young == {
        "code": "64 numbers for up to 50 vectors",
        "epochs": "0 of 30",
        "skill": "not measured: no epoch was evaluated yet",
    }
    assert older["epochs"] == "1 of 30"
    assert older["skill"].startswith("0.0100 over")


def test_evaluations_that_a_crash_undid_do_not_count(tmp_path: Path) -> None:
    again = [STARTED, {"time": 1.0, "event": "resumed", "position": [1, 0]}, evaluated(2, 0.02)]
    run = made(tmp_path, [evaluated(1, 0.01), evaluated(2, 0.9), *again, finished(2)], epochs=2)

    assert said(run)["skill"].startswith("0.0200 over")


def test_where_evaluation_is_off_no_skill_is_claimed(tmp_path: Path) -> None:
    run = made(tmp_path, [finished(2)], epochs=2, evaluate_every=0)

    assert said(run)["skill"] == "not measured: learner.evaluate_every = 0"
    assert not any("curves" in command for command in commands("x-001", run))


def test_where_nothing_is_held_out_no_skill_is_claimed(tmp_path: Path) -> None:
    run = made(tmp_path, [finished(2)], epochs=2, split={"train": 1, "valid": 0, "test": 0})

    assert said(run)["skill"] == "not measured: nothing is held out (learner.split.valid = 0)"
    assert commands("x-001", run) == ["headway autoencoder generate x-001"]


def test_a_bypass_is_no_compression(tmp_path: Path) -> None:
    run = made(tmp_path, [], model={"encoder": "lstm", "code": 64, "attention": "bypass"})

    assert said(run, TOTALS | {"bottleneck": False})["code"].endswith("(bypass): this is no compression")
    assert not any("generate" in command for command in commands("x-001", run))


def test_vectors_that_are_made_up_are_said_to_be(tmp_path: Path) -> None:
    assert said(made(tmp_path, []), TOTALS | {"vectors": "random"})["vectors"].startswith("random: made up")


def test_on_a_gpu_threads_are_not_told(tmp_path: Path) -> None:
    assert said(made(tmp_path, []), TOTALS | {"device": "cuda"})["model"].endswith("parameters; cuda")


def test_snapshots_that_newer_ones_replaced_are_told(tmp_path: Path) -> None:
    checkpoints = TOTALS["checkpoints"] | {"coalesced": 3}

    assert said(made(tmp_path, []), {"checkpoints": checkpoints})["checkpoints"].endswith("; 3 replaced by newer ones")


def test_what_to_try_next_are_commands_that_parse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path / "runs" / "x-001", [evaluated(1, 0.01)])
    line = made(tmp_path / "runs" / "y-001", [evaluated(1, 0.01)], encoder="pca")

    assert commands("R", run) == [
        "headway autoencoder evaluate R",
        "headway autoencoder generate R",
        "headway autoencoder curves R --output curves.svg",
    ]
    assert commands("R", line)[1] == 'headway autoencoder rebuild R --text "..."'


def test_only_a_plan_tells_the_kind(tmp_path: Path) -> None:
    run = made(tmp_path / "x", [])
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "plan.resolved.json").write_text("{")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "plan.resolved.json").write_text("{}")

    assert kind_of(run) == "autoencoder"
    assert [kind_of(tmp_path / name) for name in ("damaged", "empty", "none")] == [None, None, None]


def test_a_run_is_shown_with_what_it_learned_and_without_raw_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "runs" / "x-001", [evaluated(1, 0.012), finished(1)], epochs=1)

    assert main(["runs", "show", "x-001", "--runs-dir", str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr().out

    assert "skill         0.0120 over a constant (0.6340); PCA of 64 numbers: 0.1630: the line is better\n" in shown
    assert "checkpoints   14 written" in shown
    assert "{" not in shown
