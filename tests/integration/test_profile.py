"""Runs and commands are measured with real processes, and whatever happens to the measuring, they go on."""

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from made_runs import PATIENCE_SECONDS, Trained, wait_until

from headway.cli.main import main
from headway.errors import PlanError
from headway.record.lines import LineFile
from headway.record.record import read_record
from headway.record.ticklog import FOLDER, read_ticks
from headway.run.facts import facts

COMMAND = [sys.executable, "-m", "headway.cli.main", "profile"]
MEBI = 1 << 20
# Holds memory in a child of its own until it is told to go on.
FAMILY = """
import subprocess, sys
child = "held = bytearray(64 << 20); print('held', flush=True); input()"
process = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.stdout.readline()
print(process.pid, flush=True)
sys.stdin.readline()
process.communicate(b"\\n")
"""


def opened_by(pid: int) -> set[str]:
    """The files that a process has open."""
    found: set[str] = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(link.readlink()))
    return found


def profiled(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=text, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )  # fmt: skip


def test_a_command_keeps_its_streams_and_its_exit_code() -> None:
    program = "import sys; print(input().upper()); print('aside', file=sys.stderr); sys.exit(7)"
    done = profiled("--", sys.executable, "-c", program, text="words\n")

    assert (done.returncode, done.stdout) == (7, "WORDS\n")
    assert done.stderr.startswith("aside\n")
    assert "exit code 7" in done.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="sees by /proc when the sampler has looked")
def test_what_children_hold_belongs_to_the_command() -> None:
    process = subprocess.Popen(
        [*COMMAND, "--interval", "0.02", "--json", sys.executable, "-c", FAMILY],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    child = process.stdout.readline().strip()
    # Looked at through a file that stays open, so that one can see when it was found.
    wait_until(lambda: f"/proc/{child}/stat" in opened_by(process.pid))
    said, _ = process.communicate("\n", timeout=PATIENCE_SECONDS)

    found = json.loads(said.splitlines()[-1])
    assert found["exit_code"] == 0
    assert found["usage"]["peaks"]["processes"] >= 2
    assert found["usage"]["peaks"]["rss"] >= 64 * MEBI
    assert found["largest_process_bytes"] >= 64 * MEBI
    assert found["usage"]["sums"]["cpu"] > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_signals_are_passed_on(number: int) -> None:
    program = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(42))\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    process = subprocess.Popen(
        [*COMMAND, sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)

    assert process.wait(PATIENCE_SECONDS) == 42


def test_a_command_that_a_signal_ends_has_the_code_a_shell_would_give() -> None:
    assert profiled("--", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is no command to profile"),
        (["no-such-program"], "cannot run 'no-such-program' (No such file or directory)"),
        (["--interval", "0.001", "true"], "0.001 should be a number of seconds, 0.01 or more"),
    ],
)
def test_a_wrong_call_says_what_to_do(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("counting")
class TestTraining:
    """Of the counting learner."""

    def sampled(self, folder: Path) -> list[dict[str, Any]]:
        return [event for event in read_record(folder / "record.jsonl") if event["event"] == "sampled"]

    def test_every_training_is_measured(self, trained: Trained) -> None:
        result = trained()

        (said,) = self.sampled(result.folder)
        known = facts(result.folder)
        assert result.peak_memory_bytes is not None
        assert result.cpu_cores is not None
        assert known.peak_memory_bytes == result.peak_memory_bytes == said["usage"]["peaks"]["rss"]
        assert known.not_measured == said["absent"]
        assert sum(tick.sums.get("documents", 0) for tick in read_ticks(result.folder)) == result.documents

    def test_workers_that_come_and_go_are_measured(self, trained: Trained) -> None:
        result = trained(workers=2, run__profile='"full"', run__sample_every='"20ms"', learner__step_seconds=0.3)

        (said,) = self.sampled(result.folder)
        # This process, the fork server and two workers.
        assert said["usage"]["peaks"]["processes"] >= 4
        assert said["interval"] == 0.02

    def test_switched_off_nothing_is_measured_and_it_says_so(
        self, trained: Trained, capsys: pytest.CaptureFixture[str]
    ) -> None:
        result = trained(run__profile='"off"')

        assert (result.peak_memory_bytes, result.cpu_cores) == (None, None)
        assert not (result.folder / FOLDER).exists()
        assert main(["runs", "show", str(result.folder)]) == 0
        assert re.search("peak memory +not measured", capsys.readouterr().out)

    def test_a_disk_that_takes_no_ticks_ends_no_training(
        self, trained: Trained, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = LineFile.append

        def full(file: LineFile, line: bytes) -> None:
            if file.path.parent.name == FOLDER:
                raise OSError(28, "No space left on device")
            whole(file, line)

        monkeypatch.setattr(LineFile, "append", full)
        result = trained()

        (said,) = self.sampled(result.folder)
        assert result.status == "finished"
        assert said["usage"]["unwritten"] >= 1
        assert "No space left" in said["absent"]["some ticks on disk"]

    def test_an_interval_that_is_too_short_is_refused(self, trained: Trained) -> None:
        with pytest.raises(PlanError, match=r"run\.sample_every"):
            trained(run__sample_every='"1ms"')


def test_what_was_measured_outlives_a_kill(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"text": "a b c d e f g h"}\n' * 2000)
    (tmp_path / "plan.toml").write_text(
        '[data]\nsources = "corpus.jsonl"\ntokenizer = "words"\n[learner]\nkind = "patterns"\nwidths = [3, 2]\n'
        '[run]\nepochs = 100000\nbatch_tokens = 64\nsample_every = "50ms"\n'
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "headway.cli.main", "train", "plan.toml", "--quiet", "--workers", "1"],
        cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    folder = tmp_path / "runs" / "plan-001"
    try:
        wait_until(lambda: process.poll() is not None or len(read_ticks(folder)) >= 5)
    finally:
        process.kill()

    assert process.wait() == -signal.SIGKILL
    ticks = read_ticks(folder)
    assert [tick.first for tick in ticks] == [*range(len(ticks))]
    assert all(tick.gauges["rss"] > 0 for tick in ticks)
    assert facts(folder).peak_memory_bytes == max(round(tick.peaks["rss"]) for tick in ticks)
