"""What differs comes first, and nothing is called faster that was not run several times in turns."""

import json
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from made_runs_folder import MACHINE, PLAN, VERSIONS, made

from headway.cli.main import main
from headway.run.facts import facts
from headway.run.history.compare import Comparison, compare, results
from headway.run.history.history import History
from headway.run.history.verdict import Measured, least_runs, verdict

WIDER: dict[str, Any] = PLAN | {"learner": {"kind": "patterns", "widths": [4, 2]}}


def compared(runs: Path, *names: str) -> Comparison:
    with History(runs) as history:
        return compare([facts(runs / name) for name in names], history)


def measured(*values: float, began: int = 0, step: int = 2) -> list[Measured]:
    return [Measured(value, began + step * i) for i, value in enumerate(values)]


def repeated(runs: Path, *, one: list[float], two: list[float], turns: bool = True, **started: Any) -> None:
    """Runs of two plans with these seconds of training, made in turns or one plan after the other."""
    for i, seconds in enumerate(one):
        made(runs / f"a-{i + 1:03d}", began=1e9 + 1000 * i, seconds=seconds)
    for i, seconds in enumerate(two):
        began = 1e9 + 1000 * i + (500 if turns else 1e6)
        made(runs / f"b-{i + 1:03d}", began=began, seconds=seconds, plan=WIDER, plan_fingerprint="e" * 32, **started)


def test_what_differs_is_named_by_plan_data_machine_and_code(tmp_path: Path) -> None:
    made(tmp_path / "a-001")
    other = {"dataset": "e" * 32, "machine": MACHINE | {"usable_cores": 8}, "versions": VERSIONS | {"numpy": "3.0"}}
    made(tmp_path / "b-001", plan=WIDER, workers=8, **other)

    found = compared(tmp_path, "a-001", "b-001")

    told = {(each.part, each.name): each.values for each in found.differences}
    fingerprints = told.pop(("machine", "fingerprint"))
    assert told == {
        ("plan", "learner.widths"): ([3, 2], [4, 2]),
        ("plan", "workers"): (2, 8),
        ("data", "dataset"): ("d" * 32, "e" * 32),
        ("machine", "usable_cores"): (2, 8),
        ("code", "numpy"): ("2.4.0", "3.0"),
    }
    assert fingerprints[0] != fingerprints[1]
    assert found.parts == ("plan", "data", "machine", "code")
    assert found.verdicts == ()


def test_runs_under_the_same_conditions_are_found_and_make_a_spread(tmp_path: Path) -> None:
    repeated(tmp_path, one=[10, 12, 11], two=[10])
    made(tmp_path / "a-004", reason="stopped")
    made(tmp_path / "a-005", code="other")

    found = compared(tmp_path, "a-002", "b-001")

    assert [run.name for run in found.groups[0].runs] == ["a-002", "a-001", "a-003"]
    seconds = next(figure for figure in found.figures if figure.name == "seconds").spreads[0]
    assert seconds is not None
    assert (seconds.median, seconds.least, seconds.most, seconds.number) == (12, 11, 13, 3)


def test_runs_of_one_plan_are_one_side(tmp_path: Path) -> None:
    repeated(tmp_path, one=[10, 12], two=[])

    found = compared(tmp_path, "a-001", "a-002")

    assert (len(found.groups), found.differences, found.verdicts) == (1, (), ())


def test_what_was_not_measured_is_no_figure(tmp_path: Path) -> None:
    made(tmp_path / "a-001")
    folder = made(tmp_path / "b-001", plan=WIDER)
    (folder / "record.jsonl").write_text('{"time": 1.0, "event": "run_started"}\n')

    figures = {figure.name: figure.spreads for figure in compared(tmp_path, "a-001", "b-001").figures}

    assert figures["tokens_per_second"][1] is None
    assert figures["skill"][1] is None
    assert figures["learned.levels.0.patterns"][0] is not None


def test_every_number_that_came_of_a_run_is_a_result(tmp_path: Path) -> None:
    known = facts(made(tmp_path / "a-001"))
    given = {"started", "recorded", "workers", "memory"}
    numbers = {each.name for each in fields(known) if isinstance(getattr(known, each.name), int | float)} - given

    found = results(known)

    assert numbers <= found.keys()
    assert list(found)[:3] == ["tokens_per_second", "documents_per_second", "seconds"]
    assert (found["spent.save"], found["skill"], found["warnings"]) == (0.5, 0.25, 0)
    assert "learned.levels.0.width" not in found


def test_one_run_is_no_comparison() -> None:
    assert verdict(measured(1.0), measured(2.0)).said == "one run"
    assert verdict(measured(1.0), measured(2.0, 2.1, 2.2, 2.3, 2.4)).said == "one run"
    assert verdict(measured(1.0), measured(2.0)).ratio is None


def test_so_few_that_chance_could_part_them_are_too_few() -> None:
    assert verdict(measured(1, 1, 1), measured(9, 9, 9)).said == "too few"
    assert least_runs() == 4


def test_faster_is_said_of_runs_in_turns_that_chance_does_not_explain() -> None:
    first, second = measured(10, 11, 10.5, 10.2), measured(20, 21, 20.5, 22, began=1)

    found, back = verdict(first, second), verdict(second, first)

    assert (found.said, back.said) == ("faster", "slower")
    assert found.ratio is not None
    assert found.least is not None
    assert found.most is not None
    assert found.least <= found.ratio <= found.most
    assert found.ratio == pytest.approx(2, rel=0.05)


def test_one_after_the_other_is_not_in_turns() -> None:
    assert verdict(measured(10, 11, 12, 13), measured(20, 21, 22, 23, began=100)).said == "not in turns"


def test_equal_plans_are_not_called_faster() -> None:
    assert verdict(measured(10, 12, 11, 13), measured(11, 13, 10, 12, began=1)).said == "not shown"


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1, 2, 2, 2, 3, 3, 9, 9]])
def test_chance_is_counted_out_over_all_divisions(values: list[float]) -> None:
    ranks = [(sum(b < a for b in values) + (sum(b == a for b in values) + 1) / 2) for a in values]
    middle = 4 * sum(ranks) / len(ranks)

    for taken in list(combinations(range(9), 4))[::9]:
        first = [values[i] for i in taken]
        second = [value for i, value in enumerate(values) if i not in taken]
        own = abs(sum(ranks[i] for i in taken) - middle)
        ways = list(combinations(range(9), 4))
        far = sum(abs(sum(ranks[i] for i in way) - middle) >= own - 1e-9 for way in ways)

        assert verdict(measured(*first), measured(*second, began=1)).chance == pytest.approx(far / len(ways))


def test_a_comparison_on_the_command_line_names_differences_before_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repeated(tmp_path, one=[10, 10.1, 10.2, 10.3], two=[20, 20.1, 20.2, 20.3])

    assert main(["runs", "compare", "a-001", "b-001", "--runs-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out

    assert "a-001 and 3 finished runs like it" in shown
    assert shown.index("learner.widths") < shown.index("tokens_per_second")
    assert "the same: data, machine, code" in shown
    assert "B is slower: 0.504 times the rate of A" in shown.splitlines()[-1]


def test_the_command_line_says_that_one_run_is_no_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repeated(tmp_path, one=[10], two=[20])

    assert main(["runs", "compare", "a-001", "b-001", "--json", "--runs-dir", str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)

    assert told["conclusions"] == ["B and A: one run is no comparison; make 4 of each, in turns"]
    assert told["differences"] == [{"part": "plan", "name": "learner.widths", "values": [[3, 2], [4, 2]]}]
    assert told["figures"]["skill"][0]["median"] == 0.25


def test_several_differences_are_not_laid_to_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repeated(tmp_path, one=[10, 10.1, 10.2, 10.3], two=[20, 20.1, 20.2, 20.3], code="e" * 16)

    main(["runs", "compare", "a-001", "b-001", "--runs-dir", str(tmp_path)])

    assert "plan and code differ, so none of them alone is shown to be why" in capsys.readouterr().out


def test_rates_on_other_data_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repeated(tmp_path, one=[10] * 4, two=[20] * 4, dataset="e" * 32)

    main(["runs", "compare", "a-001", "b-001", "--runs-dir", str(tmp_path)])

    assert "the data differ: rates of training on other data are no comparison" in capsys.readouterr().out


def test_fewer_than_two_and_damaged_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path / "a-001")
    (made(tmp_path / "b-001") / "record.jsonl").write_text("no record\n")

    where = ["--runs-dir", str(tmp_path)]
    codes = [main(["runs", "compare", *names, *where]) for names in (["a-001"], ["a-001", "b-001"], ["a-001", "x"])]
    said = capsys.readouterr().err

    assert codes == [2, 2, 2]
    assert "a-001 is one run; name another one to compare it with" in said
    assert "b-001 cannot be compared" in said
