"""Whatever is wrong with the input of an autoencoder, the message says what, where and what to do; nothing is lost."""

import json
import re
from pathlib import Path

import pytest
import torch
from made_mistakes import explained

from bad_input import Case, prepared
from bad_poems import CASES, GOOD, POEMS, poems
from headway.cli.main import main

torch.set_num_threads(1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_mistake_is_explained(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with prepared(case, tmp_path):
        saved = files(tmp_path / "runs")
        code = main(case.arguments)

    explained(case, code, capsys.readouterr().err)
    if case.during is None:
        kept = files(tmp_path / "runs")
        assert all(kept[name] == content for name, content in saved.items() if "checkpoints" in name)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()} if folder.is_dir() else {}


def test_nothing_wrong_with_the_input_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The good plan of the cases is good: what they show is the mistake each of them adds."""
    monkeypatch.chdir(tmp_path)

    with prepared(Case("none", (), good=GOOD), tmp_path):
        assert main(["train", "plan.toml", "--quiet"]) == 0


def test_what_is_refused_before_anything_is_learned_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = [
        case for case in CASES if case.name in ("no vectors for most words", "a linear code longer than a window")
    ]
    for case in refused:
        with prepared(case, tmp_path):
            assert main(case.arguments) == 2

    assert len(refused) == 2
    assert not list((tmp_path / "runs").glob("*"))


def test_an_empty_poem_among_others_is_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = Case("none", (), good=GOOD, files=(("poems.jsonl", poems([*POEMS, "", "  \n"])),))
    with prepared(case, tmp_path):
        assert main(["train", "plan.toml", "--json"]) == 0

    manifest = json.loads(next((tmp_path / "datasets").glob("*/manifest.json")).read_text())
    assert manifest["documents"] == len(POEMS)
    assert sum(manifest["skipped"].values()) == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["learner.device=cuda"], r"learner\.device: torch sees no GPU here; set device to auto or cpu"),
        (["learner.device=auto", "learner.optimizer.precision=fp16"], r"optimizer\.precision: fp16 needs a GPU"),
    ],
)
def test_what_needs_a_gpu_says_so(
    settings: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with prepared(Case("none", (), good=GOOD), tmp_path):
        code = main(["train", "plan.toml", "--quiet", *(word for each in settings for word in ("--set", each))])

    assert code == 2
    assert re.search(said, capsys.readouterr().err)
