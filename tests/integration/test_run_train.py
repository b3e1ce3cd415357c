import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import counting
import pytest
from made_runs import Trained

from headway.data.dataset import open_dataset
from headway.errors import DataError, PlanError, RunError
from headway.lock import Lock
from headway.record.record import read_record
from headway.run.facts import facts
from headway.run.result import RunResult
from headway.run.train import read_plan, train

pytestmark = pytest.mark.usefixtures("counting")
Event = dict[str, Any]


def words(result: RunResult) -> dict[str, int]:
    assert result.dataset is not None
    symbols = open_dataset(Path(result.dataset)).vocabulary.symbols
    return {symbols[token]: number for token, number in counting.counts(result.folder).items()}


def test_a_plan_becomes_a_finished_run(trained: Trained, expected: dict[str, int]) -> None:
    result = trained()

    assert (result.folder.name, result.status, result.resumed) == ("demo-001", "finished", False)
    assert words(result) == expected
    assert (result.documents, result.tokens) == (300, sum(expected.values()))
    assert result.totals == {"tokens": sum(expected.values())}
    assert facts(result.folder).status == "finished"
    assert (result.folder / "plan.toml").read_text() == trained.plan.read_text()


def test_speeds_are_measured_and_consistent(trained: Trained) -> None:
    result = trained()

    assert result.seconds
    assert result.build_seconds is not None
    assert result.start_seconds is not None
    whole = result.build_seconds + result.start_seconds + result.seconds
    assert result.seconds_end_to_end == pytest.approx(whole, rel=1e-12)
    assert result.tokens_per_second == result.tokens / result.seconds
    assert result.documents_per_second == result.documents / result.seconds
    assert result.tokens_per_second_end_to_end == result.tokens / result.seconds_end_to_end
    assert result.documents_per_second_end_to_end == result.documents / result.seconds_end_to_end


def test_a_stopped_run_is_saved_and_continued_exactly(trained: Trained, expected: dict[str, int]) -> None:
    trained.stopping_after(3)
    stopped = trained()
    trained.then = lambda event: None
    finished = trained()

    assert (stopped.status, stopped.signal) == ("stopped", signal.SIGINT)
    assert 0 < stopped.documents < 300
    assert (finished.folder, finished.status, finished.resumed) == (stopped.folder, "finished", True)
    assert stopped.learned_documents + finished.learned_documents == 300
    assert words(finished) == expected
    assert f"continuing {finished.folder}" in trained.notes()


def test_sigterm_stops_as_well(trained: Trained) -> None:
    trained.stopping_after(1, signal.SIGTERM)

    result = trained()

    assert (result.status, result.signal) == ("stopped", signal.SIGTERM)
    assert facts(result.folder).status == "stopped"


def test_a_stopped_build_leaves_as_its_signal_would_and_begins_no_run(
    trained: Trained, plan: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.jsonl").write_text('{"text": "never seen before"}\n')
    trained.datasets = tmp_path / "datasets"

    def stop(event: Event) -> None:
        if event["event"] == "build" and event["stage"] == "checking":
            os.kill(os.getpid(), signal.SIGINT)

    trained.then = stop

    with pytest.raises(KeyboardInterrupt):
        trained(data__sources=[str(tmp_path / "other.jsonl")])
    assert not trained.runs.exists()


def test_a_crashed_run_is_continued_from_its_last_save(trained: Trained, expected: dict[str, int]) -> None:
    with pytest.raises(ZeroDivisionError):
        trained(learner__fault="bug", learner__fault_at=4)
    folder = trained.runs / "demo-001"
    crashed = facts(folder)
    rewritten = (folder / "plan.resolved.json").read_text().replace('"bug"', '""').replace(": 4", ": -1")
    (folder / "plan.resolved.json").write_text(rewritten)

    finished = trained()

    assert crashed.status == "interrupted"
    assert finished.folder == folder
    assert finished.documents - finished.learned_documents == crashed.documents > 0
    assert words(finished) == expected


def test_after_a_finished_run_a_new_one_begins(trained: Trained) -> None:
    assert [trained().folder.name, trained().folder.name] == ["demo-001", "demo-002"]


def test_new_begins_another_run_beside_an_unfinished_one(trained: Trained) -> None:
    trained.stopping_after(1)
    trained()
    trained.then = lambda event: None

    assert trained(mode="new").folder.name == "demo-002"


def test_resume_shows_a_finished_run_as_it_stands(trained: Trained) -> None:
    first = trained()
    again = trained(mode="resume")

    assert again.folder == first.folder
    assert (again.documents, again.tokens, again.totals) == (first.documents, first.tokens, first.totals)
    assert (again.seconds, again.learned_documents, again.tokens_per_second) == (None, 0, None)
    assert again.tokens_per_second_end_to_end is None
    assert any("already finished" in note for note in trained.notes())


def test_resume_without_a_run_is_an_error(trained: Trained) -> None:
    with pytest.raises(RunError, match="no run of 'demo'"):
        trained(mode="resume")


def test_a_changed_plan_cannot_continue_and_all_changes_are_listed(trained: Trained) -> None:
    trained.stopping_after(1)
    trained()
    trained.then = lambda event: None

    with pytest.raises(PlanError) as caught:
        trained(mode="resume", run__batch_tokens=2048, run__seed=5)
    assert {"run.batch_tokens", "run.seed"} == {problem.split(":")[0] for problem in caught.value.problems}


def test_without_resume_a_changed_plan_begins_a_new_run_and_says_so(trained: Trained) -> None:
    trained.stopping_after(1)
    trained()
    trained.then = lambda event: None

    result = trained(run__batch_tokens=2048)

    assert result.folder.name == "demo-002"
    assert any("demo-001 is unfinished" in note and "run.batch_tokens" in note for note in trained.notes())


def test_a_careful_change_is_a_warning_on_the_record(trained: Trained) -> None:
    trained.stopping_after(1)
    trained()
    trained.then = lambda event: None

    result = trained(run__epochs=2)

    assert result.documents == 600
    assert any("run.epochs" in warning for warning in facts(result.folder).warnings)


def test_memory_and_save_times_may_change(trained: Trained, expected: dict[str, int]) -> None:
    trained.stopping_after(2)
    trained()
    trained.then = lambda event: None

    result = trained(mode="resume", memory='"3GiB"', run__save_every='"1h"')

    assert words(result) == expected


def test_a_limit_inside_a_batch_cannot_be_moved_afterwards(trained: Trained) -> None:
    result = trained(run__documents=101)
    with (result.folder / "record.jsonl").open("rb+") as record:
        # As if killed after the last save, before the record could say that the run is complete.
        lines = record.readlines()
        record.truncate(sum(len(line) for line in lines[:-1]))

    for _ in range(2):
        with pytest.raises(RunError, match="inside a batch"):
            trained(mode="resume", run__documents=200)
    assert trained(mode="resume", run__documents=101).documents == 101


def test_two_runs_on_one_directory_are_refused(trained: Trained) -> None:
    trained.stopping_after(1)
    stopped = trained()
    trained.then = lambda event: None
    lock = Lock(stopped.folder, doing="training")

    for mode in ("auto", "resume"):
        with pytest.raises(RunError, match=f"process {os.getpid()} on .* is training in .*demo-001.*--new"):
            trained(mode=mode)
    lock.close()
    assert trained().folder == stopped.folder


def test_changed_sources_do_not_continue_a_run(trained: Trained, plan: Path, tmp_path: Path, shared: Path) -> None:
    corpus = tmp_path / "mine.jsonl"
    corpus.write_bytes((shared / "corpus.jsonl").read_bytes())
    sources = [str(corpus)]
    trained.stopping_after(1)
    trained(data__sources=sources)
    trained.then = lambda event: None
    with corpus.open("a") as file:
        file.write('{"text": "one more"}\n')

    before = set(trained.datasets.iterdir())
    with pytest.raises(RunError, match=r"was trained on dataset .*: sources changed: "):
        trained(data__sources=sources)
    # What the sources are is known before hours go into a dataset of them.
    assert set(trained.datasets.iterdir()) == before


@pytest.mark.parametrize("fault", ["full", "raw-full"])
def test_a_full_disk_says_what_is_safe_and_the_run_can_be_continued(trained: Trained, fault: str) -> None:
    with pytest.raises(RunError, match=r"the disk is full(.|\n)*safe: [1-9][0-9]* of 300 documents"):
        trained(learner__fault=fault, learner__fault_at=4)

    ended = list(read_record(trained.runs / "demo-001" / "record.jsonl"))[-1]
    assert (ended["event"], ended["reason"]) == ("finished", "failed")
    assert facts(trained.runs / "demo-001").status == "interrupted"


def test_a_full_disk_that_holds_the_record_too_is_no_traceback(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if b'"event"' in content:
            raise OSError(28, "No space left on device")
        return write(descriptor, content)

    trained.then = lambda event: monkeypatch.setattr(os, "write", full) if event["event"] == "saved" else None

    with pytest.raises(RunError, match="the disk is full"):
        trained()
    monkeypatch.undo()


def test_other_errors_of_a_learner_keep_their_type(trained: Trained) -> None:
    with pytest.raises(DataError, match="shard 3 cannot be read"):
        trained(learner__fault="unreadable", learner__fault_at=2)
    assert "shard 3" in list(read_record(trained.runs / "demo-001" / "record.jsonl"))[-1]["why"]


def test_a_plan_object_is_as_good_as_a_file(plan: Path, shared: Path, tmp_path: Path) -> None:
    given = replace(read_plan(plan), name="made")

    result = train(
        given, overrides=["run.documents=50"], runs_dir=tmp_path, datasets_dir=shared / "datasets", listeners=()
    )

    assert (result.folder.name, result.documents) == ("made-001", 50)
    assert not (result.folder / "plan.toml").exists()


def test_the_record_tells_the_run(trained: Trained) -> None:
    result = trained()

    events = [event["event"] for event in read_record(result.folder / "record.jsonl")]

    assert events[0] == "run_started"
    assert events[-1] == "finished"
    assert {"step", "saved", "spans"} <= set(events)


def test_training_loads_nothing_it_has_no_use_for(tmp_path: Path) -> None:
    """pandas and awkward are installed beside it and offer themselves: a quarter second and 50 MB in every process."""
    (tmp_path / "c.jsonl").write_text('{"text": "' + "a few words of text " * 500 + '"}\n')
    program = (
        "import sys, headway; from headway.plan.load import plan_from; from headway.run.train import plan_kinds\n"
        "plan = {'name': 'n', 'workers': 1, 'data': {'sources': ['c.jsonl']}, 'learner': {'kind': 'patterns'}}\n"
        "from pathlib import Path\n"
        "run = headway.train(plan_from(plan, folder=Path(), kinds=plan_kinds()), listeners=())\n"
        "assert run.tokens > 1000\n"
        "print([name for name in ('pandas', 'awkward', 'torch', 'datasets') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert shown.stdout == "[]\n"


def test_a_finished_run_goes_on_where_the_limits_ask_for_more(trained: Trained, expected: dict[str, int]) -> None:
    first = trained(run__epochs=1)
    again = trained(mode="resume", run__epochs=2)

    assert (again.folder, again.documents, again.learned_documents) == (first.folder, 600, 300)
    assert words(again) == {word: 2 * count for word, count in expected.items()}
    assert any("was finished under other settings" in note for note in trained.notes())


def test_a_finished_run_refuses_other_fixed_settings(trained: Trained) -> None:
    trained()

    with pytest.raises(PlanError, match=r"run\.batch_tokens"):
        trained(mode="resume", run__batch_tokens=5000)


def test_limits_below_what_is_learned_are_refused_once_and_change_nothing(trained: Trained) -> None:
    finished = trained(run__epochs=2)
    told = len(trained.told)

    with pytest.raises(RunError, match="Raise the limits to continue") as refused:
        trained(mode="resume", run__epochs=1)

    assert "same command" not in str(refused.value)
    assert not any("more documents than" in str(event.get("text")) for event in trained.told[told:])
    known = facts(finished.folder)
    assert (known.status, known.documents) == ("finished", 600)


def test_a_mode_that_is_none_and_a_plan_that_is_none_are_named(trained: Trained) -> None:
    with pytest.raises(RunError, match="there is no mode 'fresh'; modes are auto, resume, new"):
        trained(mode="fresh")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"give the path of a \.toml or \.json file, or a Plan"):
        train({"data": {}})  # type: ignore[arg-type]
