"""Runs in other programs' hands: nothing lost, nothing twice, and a clear word where a package is missing."""

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_runs_folder import append, made

from headway.cli.main import main
from headway.errors import RunError
from headway.run.facts import facts
from headway.run.history.portable import Portable, portable
from headway.run.history.trackers import to_mlflow, to_trackio


class Refusal(Exception):
    """What the made MLflow raises."""


class MadeMlflow:
    """A client that keeps what it is given."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.experiments: list[str] = []
        self.fails = False

    def load(self, name: str) -> Any:
        entities = SimpleNamespace(Metric=lambda *given: SimpleNamespace(given=given, timestamp=given[2]), Param=_pair)
        package = SimpleNamespace(
            MlflowClient=lambda tracking_uri: self, exceptions=SimpleNamespace(MlflowException=Refusal)
        )
        return {"mlflow": package, "mlflow.entities": entities}[name]

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=name) if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        if self.fails:
            raise Refusal("no space")
        self.experiments.append(name)
        return name

    def search_runs(self, numbers: list[str], filter_string: str) -> list[Any]:
        (number,) = numbers
        found = [(key, run) for key, run in self.runs.items() if f"'{run['name']}'" in filter_string]
        return [
            SimpleNamespace(data=SimpleNamespace(tags=run["tags"]), info=SimpleNamespace(run_id=key))
            for key, run in found
            if run["experiment"] == number
        ]

    def delete_run(self, key: str) -> None:
        del self.runs[key]

    def create_run(self, experiment: str, *, start_time: int, run_name: str, tags: dict[str, str]) -> Any:
        key = f"key{len(self.runs)}{len(tags)}{run_name}"
        self.runs[key] = {"experiment": experiment, "start": start_time, "name": run_name, "tags": dict(tags)}
        self.runs[key] |= {"metrics": [], "params": {}, "files": []}
        return SimpleNamespace(info=SimpleNamespace(run_id=key))

    def log_batch(self, key: str, *, metrics: Any = (), params: Any = ()) -> None:
        assert len(metrics) <= 1000
        assert len(params) <= 100
        self.runs[key]["metrics"] += [metric.given for metric in metrics]
        self.runs[key]["params"] |= dict(params)

    def log_artifact(self, key: str, path: str) -> None:
        self.runs[key]["files"].append(Path(path).name)

    def set_terminated(self, key: str, status: str, *, end_time: int) -> None:
        self.runs[key] |= {"status": status, "end": end_time}

    def set_tag(self, key: str, name: str, value: str) -> None:
        self.runs[key]["tags"][name] = value


def _pair(name: str, value: str) -> tuple[str, str]:
    return name, value


class MadeTrackio:
    """A package that keeps what it is given."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.open: list[str] = []

    def load(self, name: str) -> Any:
        assert name == "trackio"
        return SimpleNamespace(Api=lambda: self, init=self.init, log=self.log, finish=self.finish)

    def runs(self, project: str) -> list[Any]:
        if not self.kept:
            raise ValueError(f"Project {project!r} does not exist")
        return [SimpleNamespace(name=name) for name in self.kept]

    def init(self, *, project: str, name: str, group: str, config: dict[str, Any], **_: Any) -> None:
        print("noise of a package")
        self.kept[name] = {"project": project, "group": group, "config": config, "points": []}
        self.open.append(name)

    def log(self, figures: dict[str, float], *, step: int) -> None:
        self.kept[self.open[-1]]["points"].append((step, figures))

    def finish(self) -> None:
        self.open.pop()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("a-001", "b-001"):
        made(tmp_path / "runs" / name)
    return tmp_path / "runs"


def taken(runs: Path) -> list[Portable]:
    return [portable(facts(folder)) for folder in sorted(runs.iterdir()) if folder.is_dir()]


def test_a_csv_has_a_line_for_each_run_and_a_column_for_all_that_any_has(runs: Path, tmp_path: Path) -> None:
    made(runs / "c-001", plan={"learner": {"kind": "other", "more": 1}})
    (runs / "c-001" / "record.jsonl").unlink()

    assert main(["runs", "export", "--csv", str(tmp_path / "runs.csv"), "--runs-dir", str(runs)]) == 0
    with (tmp_path / "runs.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))

    assert [line["run"] for line in lines] == ["a-001", "b-001", "c-001"]
    assert [line["results.tokens"] for line in lines] == ["6000", "6000", ""]
    assert [line["plan.learner.more"] for line in lines] == ["", "", "1"]
    assert lines[0]["plan.learner.widths"] == "[3, 2]"
    assert (lines[0]["machine.cpu"], lines[0]["code.numpy"], lines[0]["data.dataset"]) == ("Made 1", "2.4.0", "d" * 32)


def test_json_keeps_numbers_and_says_their_units(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs.json"

    assert main(["runs", "export", "a-001", "--json", str(file), "--runs-dir", str(runs)]) == 0
    told = json.loads(file.read_text())

    assert (told["schema"], told["version"], len(told["runs"])) == ("headway-runs", 1, 1)
    assert told["runs"][0]["results"]["skill"] == 0.25
    assert told["runs"][0]["settings"]["plan.run.documents"] is None
    assert told["units"]["results.spent.*"] == "s"


def test_an_export_never_lies_inside_what_headway_keeps(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = str(runs / "a-001" / "out.csv")

    assert main(["runs", "export", "--csv", inside, "--runs-dir", str(runs)]) == 2
    assert "give --csv a place elsewhere" in capsys.readouterr().err


def test_damaged_runs_are_left_out_and_named(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "a-001" / "record.jsonl").write_text("no record\n")

    assert main(["runs", "export", "--csv", str(tmp_path / "runs.csv"), "--runs-dir", str(runs)]) == 0
    shown = capsys.readouterr()

    assert "left out: a-001" in shown.err
    assert "1 run" in shown.out


def test_mlflow_gets_settings_results_the_course_and_the_record_itself(runs: Path, tmp_path: Path) -> None:
    store = MadeMlflow()

    done = to_mlflow(taken(runs), tmp_path / "ml", load=store.load)
    run = next(iter(store.runs.values()))

    assert (done.written, done.known) == (("a-001", "b-001"), ())
    assert store.experiments == ["a", "b"]
    assert (run["status"], run["start"], run["files"]) == ("FINISHED", 10**12, ["record.jsonl", "plan.resolved.json"])
    assert ("loss", 1.5, 10**12 + 1000, 2) in run["metrics"]
    assert ("evaluation.skill", 0.25, 10**12 + 1000, 2) in run["metrics"]
    assert ("results.tokens_per_second", 600.0, 10**12 + 1000, 2) in run["metrics"]
    assert run["params"]["plan.learner.widths"] == "[3, 2]"
    assert "plan.run.documents" not in run["params"]


def test_a_run_is_written_once_and_again_only_when_it_went_on(runs: Path, tmp_path: Path) -> None:
    store = MadeMlflow()
    to_mlflow(taken(runs), tmp_path / "ml", load=store.load)
    again = to_mlflow(taken(runs), tmp_path / "ml", load=store.load)
    append(runs / "a-001", time=2e9, event="warned", text="look")
    more = to_mlflow(taken(runs), tmp_path / "ml", load=store.load)

    assert (again.written, again.known) == ((), ("a-001", "b-001"))
    assert (more.written, more.known) == (("a-001",), ("b-001",))
    assert sorted(run["name"] for run in store.runs.values()) == ["a-001", "b-001"]


def test_what_mlflow_refuses_is_an_error_with_its_reason(runs: Path, tmp_path: Path) -> None:
    store = MadeMlflow()
    store.fails = True

    with pytest.raises(RunError, match=r"MLflow cannot write to .*ml: no space; choose another folder for --mlflow"):
        to_mlflow(taken(runs), tmp_path / "ml", load=store.load)


def test_trackio_gets_the_same_and_its_noise_is_not_ours(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = MadeTrackio()

    first = to_trackio(taken(runs), "project", load=store.load)
    again = to_trackio(taken(runs), "project", load=store.load)
    run = store.kept["a-001"]

    assert (first.written, again.written, again.known) == (("a-001", "b-001"), (), ("a-001", "b-001"))
    assert (run["project"], run["group"], run["config"]["plan.learner.widths"]) == ("project", "a", [3, 2])
    assert run["points"][0] == (2, {"loss": 1.5, "headway.time": 1e9 + 1})
    assert run["points"][-1][1]["results.tokens"] == 6000
    assert capsys.readouterr().out == ""


def test_the_course_of_a_run_goes_on_where_it_was_saved(runs: Path) -> None:
    folder = runs / "a-001"
    append(folder, time=2e9, event="run_started")
    append(folder, time=2e9, event="step", steps=3, documents=1, tokens=1, metrics={"loss": [0.0, 0]})

    points = list(portable(facts(folder)).points())

    assert [point.step for point in points] == [2, 2, 5]
    assert points[-1].figures == {}


@pytest.mark.parametrize("name", ["mlflow", "trackio"])
def test_a_package_that_is_not_installed_is_named_with_what_to_do(runs: Path, tmp_path: Path, name: str) -> None:
    def load(package: str) -> Any:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    writers: dict[str, Callable[[], Any]] = {
        "mlflow": lambda: to_mlflow(taken(runs), tmp_path / "ml", load=load),
        "trackio": lambda: to_trackio(taken(runs), "project", load=load),
    }

    with pytest.raises(RunError, match=rf"needs the package {name}.*pip install 'headway\[{name}\]'"):
        writers[name]()
    assert not (tmp_path / "ml").exists()


def test_a_package_that_is_missing_inside_of_another_is_not_hidden(runs: Path) -> None:
    def load(package: str) -> Any:
        raise ModuleNotFoundError("No module named 'inner'", name="inner")

    with pytest.raises(ModuleNotFoundError, match="inner"):
        to_trackio(taken(runs), "project", load=load)


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_itself_reads_what_was_written(runs: Path, tmp_path: Path) -> None:
    import mlflow  # pyright: ignore[reportMissingImports] # an extra

    assert to_mlflow(taken(runs), tmp_path / "ml").written == ("a-001", "b-001")
    assert to_mlflow(taken(runs), tmp_path / "ml").known == ("a-001", "b-001")

    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "ml").as_uri())
    (run,) = client.search_runs([client.get_experiment_by_name("a").experiment_id])
    assert run.data.metrics["results.tokens_per_second"] == 600
    assert [point.value for point in client.get_metric_history(run.info.run_id, "loss")] == [1.5]


@pytest.mark.skipif(importlib.util.find_spec("trackio") is None, reason="trackio is not installed")
def test_trackio_itself_reads_what_was_written(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    import trackio  # pyright: ignore[reportMissingImports] # an extra

    assert to_trackio(taken(runs), "made").written == ("a-001", "b-001")
    assert to_trackio(taken(runs), "made").known == ("a-001", "b-001")
    assert {run.name for run in trackio.Api().runs("made")} == {"a-001", "b-001"}
