"""The check of the documentation finds what is missing and what is wrong in a guide."""

import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "scripts"))

import check_docs  # noqa: E402 - a script is no package

GUIDE = check_docs.GUIDES["autoencoder"].read_text(encoding="utf-8")


def found(folder: Path, text: str) -> list[str]:
    (folder / "guide.md").write_text(text, encoding="utf-8")
    return [*check_docs.undescribed("autoencoder", folder / "guide.md")]


def test_the_guides_describe_every_setting() -> None:
    assert [
        problem for kind, guide in check_docs.GUIDES.items() for problem in check_docs.undescribed(kind, guide)
    ] == []


@pytest.mark.parametrize(
    "name", ["run.seed", "learner.patience", "learner.optimizer.clip", "learner.curriculum.longest"]
)
def test_a_setting_that_is_not_described_is_found_at_any_depth(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, GUIDE.replace(f"`{name}`", "")) == [f"the setting {name} is not described"]


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ("| `learner.window.size` | `50` |", "| `learner.window.size` | `40` |"),
        ("| `run.epochs` | `30` |", "| `run.epochs` | `1` |"),
        ('| `run.save_every` | `"60s"` |', '| `run.save_every` | `"5s"` |'),
        ("| `learner.model.residual` | `false` |", "| `learner.model.residual` | `0` |"),
        ("| `learner.optimizer.clip` | `1.0` |", "| `learner.optimizer.clip` | none |"),
    ],
)
def test_a_default_that_is_another_one_is_found(tmp_path: Path, row: str, other: str) -> None:
    (problem,) = found(tmp_path, GUIDE.replace(row, other))

    assert problem.startswith(f"the default of {row.split('`')[1]} is ")
