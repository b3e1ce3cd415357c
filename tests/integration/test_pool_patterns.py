import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

import headway
from headway.errors import RunError
from headway.learners.patterns.compactor import groups
from headway.run.result import RunResult


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan that trains patterns on 400 documents in many small batches."""
    folder = tmp_path_factory.mktemp("pool")
    rng = random.Random(5)
    texts = [" ".join(rng.choices("abcdefgh", k=rng.randint(1, 90))) for _ in range(400)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "letters.toml").write_text(
        'memory = "3GiB"\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
        '[learner]\nkind = "patterns"\nwidths = [3, 2]\n[run]\nbatch_tokens = 1024\nsave_every = 0\n'
    )
    return folder


def trained(corpus: Path, *overrides: str, **settings: Any) -> RunResult:
    return headway.train(
        corpus / "letters.toml",
        overrides=overrides,
        runs_dir=settings.pop("runs", corpus / "runs"),
        datasets_dir=corpus / "datasets",
        listeners=(),
        **settings,
    )


def patterns(folder: Path) -> list[tuple[str, int]]:
    with headway.open_memory(folder) as memory:
        return sorted((pattern.name, pattern.frequency) for pattern in memory)


@pytest.fixture(scope="module")
def alone(corpus: Path) -> list[tuple[str, int]]:
    """The patterns that one process learns."""
    return patterns(trained(corpus, "workers=1", mode="new").folder)


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_learn_exactly_what_one_process_learns(
    corpus: Path, alone: list[tuple[str, int]], workers: int
) -> None:
    result = trained(corpus, f"workers={workers}", mode="new")

    assert result.workers == workers
    assert patterns(result.folder) == alone


def test_there_are_never_more_workers_than_batches(corpus: Path) -> None:
    assert trained(corpus, "workers=8", "run.batch_tokens=1048576", mode="new").workers == 1


def test_the_number_of_workers_may_change_when_a_run_continues(
    corpus: Path, alone: list[tuple[str, int]], tmp_path: Path
) -> None:
    program = textwrap.dedent(
        f"""
        import os, signal, sys
        import headway
        saves = 0
        def stop(event):
            global saves
            saves += event["event"] == "saved"
            if saves == 3:
                os.kill(os.getpid(), signal.SIGINT)
                saves = 99
        headway.train(
            {str(corpus / "letters.toml")!r}, overrides=["workers=2"], runs_dir={str(tmp_path)!r},
            datasets_dir={str(corpus / "datasets")!r}, listeners=[stop],
        )
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)

    finished = trained(corpus, "workers=3", mode="resume", runs=tmp_path)

    assert finished.resumed
    assert 0 < finished.learned_documents < 400
    assert patterns(finished.folder) == alone


def test_a_killed_worker_loses_nothing_that_was_saved(
    corpus: Path, alone: list[tuple[str, int]], tmp_path: Path
) -> None:
    from headway.record.events import Saved

    killed: list[int] = []

    def kill(event: dict[str, Any]) -> None:
        if event["event"] == Saved.kind and not killed:
            worker = next(child for child in psutil.Process().children(recursive=True) if child.ppid() != os.getpid())
            killed.append(worker.pid)
            worker.send_signal(signal.SIGKILL)

    with pytest.raises(RunError, match=r"SIGKILL(.|\n)*saved and safe: [1-9]"):
        headway.train(
            corpus / "letters.toml",
            overrides=["workers=2"],
            runs_dir=tmp_path,
            datasets_dir=corpus / "datasets",
            listeners=[kill],
        )
    finished = trained(corpus, "workers=2", mode="resume", runs=tmp_path)

    assert patterns(finished.folder) == alone
    assert not [child for child in psutil.Process().children(recursive=True) if child.pid in killed]


def test_a_second_interrupt_ends_every_process_at_once(corpus: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headway.cli.main", "train", str(corpus / "letters.toml"), "--json"]
    folders = ["--runs-dir", str(tmp_path), "--datasets-dir", str(corpus / "datasets")]
    many = ["--set", "workers=2", "--set", "run.epochs=100000"]
    with subprocess.Popen([*command, *folders, *many], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "saved")
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    until = time.monotonic() + 60
    while any(child.is_running() for child in children) and time.monotonic() < until:
        time.sleep(0.05)

    assert process.returncode == 130
    assert len(children) == 3
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


def test_what_a_run_left_piled_up_is_merged_beside_its_next_session_and_recorded(
    corpus: Path, alone: list[tuple[str, int]], tmp_path: Path
) -> None:
    # As many batches as workers, all of about one size: each worker learns one, whatever else the machine is doing.
    settings = ("workers=4", "run.batch_tokens=4700", "learner.compact_after=3", 'run.save_every="1h"')
    result = trained(corpus, *settings, runs=tmp_path)
    with headway.open_memory(result.folder) as memory:
        left = groups(memory.manifest, after=3)
    assert [len(runs) for runs in left] == [4, 4]
    assert patterns(result.folder) == alone

    again = trained(corpus, *settings, "run.epochs=40", "run.save_every=0", mode="resume", runs=tmp_path)

    events = [json.loads(line) for line in (result.folder / "record.jsonl").read_text().splitlines()]
    assert "8 run files were merged into 2" in [event["text"] for event in events if event["event"] == "upkeep"]
    assert patterns(again.folder) == [(name, 40 * count) for name, count in alone]


def test_every_worker_has_its_turn_though_every_batch_may_be_saved(corpus: Path, tmp_path: Path) -> None:
    result = trained(corpus, "workers=2", "learner.compact_after=1000", runs=tmp_path)

    files = (path.name.split(".")[0] for path in (result.folder / "memory" / "runs").iterdir())
    assert len({name.rsplit("-", 1)[1] for name in files}) == 2
