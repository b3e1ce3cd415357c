"""Whatever is wrong with the input, the message says what, where and what to do, and the exit code is 2."""

import json
from pathlib import Path

import pytest
from made_mistakes import explained

from bad_input import CASES, PLAN, Case, large, prepared
from headway.cli.main import main


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_mistake_is_explained(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with prepared(case, tmp_path):
        code = main(case.arguments)

    explained(case, code, capsys.readouterr().err)


def test_nothing_wrong_with_the_input_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The good plan of the cases is good: what they show is the mistake each of them adds."""
    monkeypatch.chdir(tmp_path)

    with prepared(Case("none", ()), tmp_path):
        assert main(["train", "plan.toml", "--quiet"]) == 0


@pytest.mark.parametrize("split", ["simple", "article", "book"])
def test_a_width_of_1_is_accepted_where_kato_defines_it(
    split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    text = "one two three four five six seven\n\none two three four five six eight\n"
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"text": text}) + "\n")

    assert main(["train", "plan.toml", "--quiet", "--set", "learner.widths=[1]", "--set", f"data.split={split}"]) == 0


def test_a_document_of_20_megabytes_on_one_line_is_learned(tmp_path: Path) -> None:
    said = large(tmp_path, megabytes=20)

    assert said.startswith("exit 0, 0 ")
    assert "every count adds up" in said
