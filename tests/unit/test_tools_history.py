"""TrainingHistory as programs of the seeds use it; only the import line is another."""

import csv
import json
import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from headway.errors import DataError, RunError
from headway.run.history.ledger import Ledger
from headway.tools import HierarchicalConceptLearner, TrainingHistory, train_hierarchical_single_pass

CONFIGS: list[dict[str, Any]] = [
    {"num_levels": 3, "chunk_sizes": [15, 15, 15], "batch_size": 1, "num_workers": 2},
    {"num_levels": 4, "chunk_sizes": [15, 15, 15, 15], "batch_size": 50, "num_workers": 6},
    {"num_levels": 4, "chunk_sizes": [4, 5, 10, 15], "batch_size": 50, "num_workers": 6},
]


@pytest.fixture
def history(tmp_path: Path) -> TrainingHistory:
    return TrainingHistory(db_path=str(tmp_path / "history.db"), verbose=False)


def recorded(history: TrainingHistory, errors: list[float], **more: Any) -> list[str]:
    """Trainings of 100 s whose forecasts were so many per cent off."""
    return [
        history.record_run(config=CONFIGS[0], estimated_time=100 + error, actual_time=100, **more) for error in errors
    ]


def test_the_program_of_the_original_runs(history: TrainingHistory, tmp_path: Path) -> None:
    for i, config in enumerate(CONFIGS):
        estimated, storage = 100 + i * 20, 2.0 + i * 0.5
        history.record_run(
            config=config,
            estimated_time=estimated,
            actual_time=estimated * (1.2 - i * 0.05),
            estimated_storage_gb=storage,
            actual_storage_gb=storage * (1.15 - i * 0.03),
            samples_processed=1000 * (i + 1),
            patterns_learned={"node0": 500 + i * 100, "node1": 80 + i * 20},
            dataset_key="wikitext",
            hardware_tier="medium",
            notes=f"Test run {i + 1}",
        )
    history.print_summary()
    history.export_csv(str(tmp_path / "training_history.csv"))

    names = [run.run_id for run in history.get_all_runs()]
    assert names == ["run_c4-5-10-15_w6_s3000", "run_c15x4_w6_s2000", "run_c15x3_w2_s1000"]
    assert history.get_run_count() == 3
    with (tmp_path / "training_history.csv").open(newline="") as file:
        assert [line["run_id"] for line in csv.DictReader(file)] == names


def test_a_run_is_what_was_recorded_and_nothing_is_made_up(history: TrainingHistory) -> None:
    report = {"avg_memory_mb": 10.0, "peak_memory_mb": 20.0, "cpu_avg_percent": 150.0}
    name = history.record_run(config=CONFIGS[0], actual_time=10.0, profiling_report=report)

    run = history.get_run(name)
    assert run is not None
    assert (run.config, run.actual_time_seconds, run.peak_memory_mb) == (CONFIGS[0], 10.0, 20.0)
    assert (run.actual_memory_mb, run.avg_cpu_percent) == (10.0, 150.0)
    assert (run.estimated_time_seconds, run.samples_processed, run.disk_write_speed_mbps) == (None, None, None)
    assert (run.get_time_error_percent(), run.get_storage_error_percent()) == (None, None)
    assert run.machine["usable_cores"] >= 1
    assert history.get_run("run_of_nobody") is None


def test_names_are_never_shortened_and_never_given_twice(history: TrainingHistory) -> None:
    names = [history.record_run(config=CONFIGS[2], samples_processed=100) for _ in range(5)]

    assert names[0] == "run_c4-5-10-15_w6_s100"
    assert len(set(names)) == 5
    assert all(name.startswith(names[0]) for name in names)
    assert set(history.compare_runs()["Run ID"]) == set(names)


def test_runs_without_a_forecast_do_not_count_as_perfect(history: TrainingHistory) -> None:
    recorded(history, [10, -30])
    history.record_run(config=CONFIGS[0], actual_time=100)

    found = history.get_estimation_accuracy()

    assert (found.total_runs, found.time.forecasts) == (3, 2)
    assert found.avg_time_error_percent == pytest.approx(20)
    assert found.time.signed_percent == pytest.approx(-10)
    assert (found.avg_storage_error_percent, found.storage_improvement_trend) == (None, "insufficient_data")


@pytest.mark.parametrize(
    ("errors", "trend"),
    [([40, 30, 10, 5], "improving"), ([5, 10, 30, 40], "degrading"), ([10, 10, 10, 10], "stable"), ([0] * 4, "stable")],
)
def test_a_trend_is_read_in_the_order_of_time(history: TrainingHistory, errors: list[float], trend: str) -> None:
    recorded(history, errors)

    assert history.get_estimation_accuracy().time_improvement_trend == trend


def test_intervals_of_forecasts_are_held_against_what_came(history: TrainingHistory) -> None:
    recorded(history, [10], intervals={"time": (90, 120)})
    recorded(history, [10], intervals={"time": (101, 120)})

    assert history.get_estimation_accuracy().time.coverage == 0.5


def test_similar_runs_know_levels_sizes_data_and_machine(history: TrainingHistory) -> None:
    for config, dataset in ((CONFIGS[0], "c4"), (CONFIGS[1], "pile"), (CONFIGS[1], "c4"), (CONFIGS[2], "c4")):
        history.record_run(config=config, dataset_key=dataset)

    alike = history.find_similar_runs(CONFIGS[1], max_results=2)
    with_data = history.find_similar_runs(CONFIGS[1], dataset_key="pile")

    assert [run.config for run in alike] == [CONFIGS[1], CONFIGS[1]]
    assert [run.dataset_key for run in alike] == ["c4", "pile"]
    assert (with_data[0].config, with_data[0].dataset_key) == (CONFIGS[1], "pile")


def test_a_comparison_has_the_columns_of_the_original(history: TrainingHistory) -> None:
    for config in CONFIGS:
        history.record_run(config=config, actual_time=10.0, samples_processed=100, actual_storage_gb=0.5)

    table = history.compare_runs(n_recent=2)

    assert table["Chunk Pattern"] == ["increasing", "uniform"]
    assert (table["Chunk Size"], table["Chunk Mean"]) == (["4,5,10,15", "15"], [8.5, 15.0])
    assert (table["Rate (samples/s)"], table["Storage (MB)"]) == ([10.0, 10.0], [512.0, 512.0])
    assert (len(table), table["Peak Mem (MB)"]) == (2, [None, None])
    assert str(table).splitlines()[0].split()[:2] == ["Run", "ID"]
    assert history.compare_runs(["run_c15x3_w2_s100"])["Levels"] == [3]
    with pytest.raises(RunError, match=r"has no run 'run_1'; ask get_all_runs\(\)"):
        history.compare_runs(["run_1"])


def test_a_history_of_nothing_says_so(history: TrainingHistory, capsys: pytest.CaptureFixture[str]) -> None:
    history.print_summary()

    assert "training history: 0 runs" in capsys.readouterr().out
    assert history.compare_runs().empty
    assert history.get_estimation_accuracy().avg_time_error_percent is None


def test_all_runs_can_be_cleared(history: TrainingHistory) -> None:
    recorded(history, [1, 2])
    history.clear_all_runs()

    assert (history.get_run_count(), history.get_all_runs()) == (0, [])


def test_a_snapshot_of_a_learner_is_kept_beside_its_run(history: TrainingHistory, tmp_path: Path) -> None:
    learner = HierarchicalConceptLearner(
        tokenizer_name="bytes", num_nodes=2, chunk_size=2, folder=tmp_path / "learner", verbose_init=False
    )
    books = [{"title": "t", "author": "a", "paragraphs": ["the cat sat on the mat"] * 2}]
    train_hierarchical_single_pass(books, learner, verbose=False)
    name = history.record_run(config=CONFIGS[0])

    taken = history.capture_snapshot(learner, name, snapshots_dir=tmp_path / "snapshots")
    run = history.get_run(name)

    assert history.load_snapshot(name) == taken
    assert run is not None
    assert (run.total_patterns, run.total_observations) == (taken.total_patterns, taken.total_observations)
    assert taken.total_patterns == len(learner.memory)
    assert taken.nodes["node0"].top_patterns[0]["frequency"] == learner.memory.top(1)[0].frequency
    assert run.nodes["node1"]["patterns"] == learner.memory.levels[1].unique
    (tmp_path / "snapshots" / f"{name}_snapshot.json").write_text("{}")
    with pytest.raises(DataError, match="is no snapshot of a memory"):
        history.load_snapshot(name)


def test_a_run_without_a_snapshot_has_none_and_one_of_nobody_is_an_error(history: TrainingHistory) -> None:
    (name,) = recorded(history, [1])

    assert history.load_snapshot(name) is None
    with pytest.raises(RunError, match="has no run"):
        history.load_snapshot("run_of_nobody")


def test_a_file_of_the_original_is_carried_on(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE training_runs (run_id TEXT PRIMARY KEY, timestamp REAL, config TEXT, "
                    "estimated_time_seconds REAL, actual_time_seconds REAL, node0_patterns INTEGER)")  # fmt: skip
        config = json.dumps(CONFIGS[0])
        old.execute("INSERT INTO training_runs VALUES ('run_c15x3_w2_s5', 1.0, ?, 90.0, 100.0, 7)", (config,))
    history = TrainingHistory(path, verbose=False)

    new = history.record_run(config=CONFIGS[0], samples_processed=5)

    assert [run.run_id for run in history.get_all_runs()] == [new, "run_c15x3_w2_s5"]
    assert history.get_estimation_accuracy().avg_time_error_percent == pytest.approx(10)


def test_a_file_that_is_no_history_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("a text that is long enough not to be taken for an empty database" * 20)

    with pytest.raises(RunError, match=r"text.db cannot be used as a history .*; give another file as db_path"):
        TrainingHistory(tmp_path / "text.db")


def _record(path: Path, number: int) -> None:
    history = TrainingHistory(path, verbose=False)
    for _ in range(number):
        history.record_run(config=CONFIGS[0], samples_processed=1)


def test_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    Ledger(path)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_record, args=(path, 10)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len({entry.run_id for entry in Ledger(path).entries()}) == 30
