"""A full or read-only disk stops a training with a message; nothing is lost, and with room again it goes on."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import write_corpus

COMMAND = [sys.executable, "-m", "headway.cli.main"]
MOUNT = "mounting needs root and a system that lets it"


class Work:
    """A plan in a folder, and headway on it as a user runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_corpus(folder / "corpus.jsonl", 3000)
        (folder / "plan.toml").write_text(
            'memory = "3GiB"\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
            '[learner]\nkind = "patterns"\nwidths = [3, 2]\n[run]\nbatch_tokens = 2048\nsave_every = 0\n'
        )

    def __call__(
        self, *arguments: str | Path, before: Callable[[], None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ)
        if before is not None:
            # A process that may not write cannot write what was covered either, and would say so.
            environment.pop("COVERAGE_PROCESS_CONFIG", None)
        return subprocess.run(
            [*COMMAND, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=300,
            preexec_fn=before, env=environment,
        )  # fmt: skip

    def train(
        self, runs: Path, *more: str, workers: int = 1, before: Callable[[], None] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self(
            "train", "plan.toml", "--quiet", "--runs-dir", runs, "--workers", str(workers), *more, before=before
        )

    def finished(self, runs: Path) -> dict[str, bytes]:
        """The compacted memory of the finished run, every file of it."""
        memory = runs / "plan-001" / "memory"
        for action in ("compact", "verify"):
            done = self("memory", action, memory)
            assert done.returncode == 0, done.stderr
        return {path.name: path.read_bytes() for path in memory.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work(tmp_path_factory.mktemp("disk"))


@pytest.fixture(scope="module")
def undisturbed(work: Work) -> dict[str, bytes]:
    """The memory that a run with room enough ends with."""
    runs = work.folder / "undisturbed"
    assert work.train(runs).returncode == 0
    return work.finished(runs)


@contextmanager
def mounted(place: Path, *options: str) -> Iterator[None]:
    """Something mounted at a place; skips where that is not allowed."""
    place.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", *options, str(place)], capture_output=True).returncode:
        pytest.skip(MOUNT)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def refused(done: subprocess.CompletedProcess[str], *said: str) -> None:
    """The command ended as a refusal has to, and said this."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for text in said:
        assert text in done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_on_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(
    work: Work, undisturbed: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=3m", "tmpfs"):
        runs = disk / "runs"
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(2_300_000))
        full = work.train(runs, workers=workers)
        again = work.train(runs, "--resume", workers=workers)
        state = work("memory", "stats", runs / "plan-001")
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        resumed = work.train(runs, "--resume", workers=3 - workers)

        refused(full, "the disk is full at", "free some space, then continue", "saved and safe:")
        refused(again, "the disk is full at")
        assert state.returncode == 0, state.stderr
        assert resumed.returncode == 0, resumed.stderr
        assert work.finished(runs) == undisturbed


def test_a_dataset_that_does_not_fit_is_built_when_there_is_room(
    work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    disk, runs = tmp_path / "disk", tmp_path / "runs"
    with mounted(disk, "-t", "tmpfs", "-o", "size=64k", "tmpfs"):
        full = work.train(runs, "--datasets-dir", str(disk / "datasets"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        then = work.train(runs, "--datasets-dir", str(disk / "datasets"))

        refused(full, "the disk is full at", "free some space, then continue")
        assert then.returncode == 0, then.stderr
        assert work.finished(runs) == undisturbed


def test_compaction_and_export_on_a_full_disk_leave_the_memory_as_it_was(
    work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=64m", "tmpfs"):
        runs = disk / "runs"
        assert work.train(runs).returncode == 0
        memory = runs / "plan-001" / "memory"
        manifest = (memory / "manifest.json").read_bytes()
        with (disk / "ballast").open("wb") as ballast:
            room = os.statvfs(disk)
            ballast.write(bytes(room.f_bavail * room.f_frsize - 40_000))

        refused(work("memory", "compact", memory), "the disk is full at", "the memory is as it was")
        exported = work("memory", "export", "--format", "jsonl", "--output", disk / "out.jsonl", memory)
        refused(exported, "the disk is full at", "the memory is untouched")
        assert not (disk / "out.jsonl").exists()
        assert (memory / "manifest.json").read_bytes() == manifest
        (disk / "ballast").unlink()
        assert work.finished(runs) == undisturbed


def test_a_limit_on_the_size_of_files_is_met_like_a_full_disk(
    work: Work, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """No root needed: the limit is that of `ulimit -f`."""
    runs = tmp_path / "runs"
    # More than the plan, the record and the vocabulary take, less than the one run file that one batch of all makes.
    limit = 16_000
    one_batch = ("--set", "run.batch_tokens=1048576")

    limited = work.train(runs, *one_batch, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    resumed = work.train(runs, "--resume", *one_batch)

    refused(limited, "may not become as large as it must", "ulimit -f", "everything up to the last save is safe")
    assert resumed.returncode == 0, resumed.stderr
    assert work.finished(runs) == undisturbed


def test_a_read_only_folder_can_be_read_and_says_why_it_cannot_be_written(work: Work, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=64m", "tmpfs"):
        runs = disk / "runs"
        # Unfinished: stopped where the documents end for now.
        assert work.train(runs, "--set", "run.documents=1000").returncode == 0
        record = runs / "plan-001" / "record.jsonl"
        record.write_bytes(b"".join(record.read_bytes().splitlines(keepends=True)[:-1]))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        memory = runs / "plan-001" / "memory"

        for action in ("resume", "new"):
            done = work.train(runs, f"--{action}", "--set", "run.documents=1000")
            refused(done, "cannot write to", "Read-only file system", "choose another folder")
        for action in ("compact", "repair"):
            refused(work("memory", action, memory), "cannot write to", "Read-only file system")
        for action in ("stats", "verify", "top"):
            assert work("memory", action, memory).returncode == 0
        assert work("runs", "show", runs / "plan-001").returncode == 0

        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        resumed = work.train(runs, "--resume", "--set", "run.documents=1000")
        assert resumed.returncode == 0, resumed.stderr
        assert work("memory", "verify", memory).returncode == 0
