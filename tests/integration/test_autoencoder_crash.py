"""Killed, interrupted and out of disk: a run of gradients goes on to the bytes of an undisturbed one."""

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made_children import Folder
from made_runs import interrupt_twice, wait_until

import torture_autoencoder
from headway.cli.main import main
from headway.learners.autoencoder import training
from headway.learners.gradient.shelf import Shelf
from headway.run.stop import Stop

torch.set_num_threads(1)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A run that was left alone, and saved nothing but its end."""
    home = tmp_path_factory.mktemp("undisturbed")
    found = Folder(home / "plan", home / "datasets")
    # In this process: all that is forked from it has everything loaded.
    assert main([*found.words, "--set", "run.save_every=10h"]) == 0
    return found


@pytest.fixture
def folder(undisturbed: Folder, tmp_path: Path) -> Folder:
    return Folder(tmp_path / "plan", undisturbed.datasets)


def held(name: str, owner: Any, sign: Path, *, at: int = 3) -> Callable[[], None]:
    """Have the so-manieth call of something leave a sign, and go no further while that is there."""

    def prepare() -> None:
        original, calls = getattr(owner, name), [0]

        def hold(*arguments: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] == at:
                sign.touch()
                wait_until(lambda: not sign.exists())
            return original(*arguments, **more)

        setattr(owner, name, hold)

    return prepare


def unhurried(sign: Path) -> None:
    """Take so long for every step that whoever watches comes in time, and go no further while the sign is there."""
    requested = Stop.requested

    def ask(self: Stop) -> bool:
        time.sleep(0.02)
        wait_until(lambda: not sign.exists())
        return requested(self)

    Stop.requested = ask  # type: ignore[method-assign]


def test_killed_ten_times_it_ends_in_the_bytes_of_an_undisturbed_run(folder: Folder, undisturbed: Folder) -> None:
    chance, kills = random.Random(4), 0
    # A checkpoint half written, an index about to be replaced, a checkpoint that is whole, any moment after a step.
    aims = [f"runs/*/checkpoints/{name}" for name in ("*.draft", "*.tmp", "0*[0-9t]")] + ["runs/*/record.jsonl"]
    for number in range(10):
        aim = aims[number % len(aims)]
        before = folder.files(aim)
        child = folder.start(before=lambda: unhurried(folder.folder / "sign"))
        child.until(lambda aim=aim, before=before: folder.files(aim) - before)
        time.sleep(chance.uniform(0, 0.02))
        child.signal(signal.SIGKILL)
        kills += child.wait() == -signal.SIGKILL
    if folder.runs() == ["plan-001"]:
        folder.train()

    assert folder.state() == undisturbed.state()
    # Whatever the luck of the kills: most hit, and some sessions went on from what one before them had saved.
    assert kills >= 5
    assert any(event["event"] == "resumed" for event in folder.events())


def test_killed_in_a_process_of_its_own_it_ends_in_the_same_bytes_and_leaves_none_behind(tmp_path: Path) -> None:
    """Forked children share what this process drew when it began; those of a shell do not."""
    torture_autoencoder.write_texts(tmp_path, poems=40)

    # This seed aims at a checkpoint half written.
    tally = torture_autoencoder.Torture(tmp_path, seed=48, epochs=3, hidden=32).run(1)

    # The bytes are compared in there; what follows says that the kill was worth it, whatever its luck.
    assert (tally.kills, tally.left) == (1, 0)
    assert tally.saves > 0


def test_interrupted_during_a_save_it_keeps_it_and_goes_on(folder: Folder, undisturbed: Folder) -> None:
    sign = folder.folder / "sign"

    def prepare() -> None:
        # The save goes on in a thread; without waiting as well, the steps beside it might come to their end.
        held("put", Shelf, sign)()
        unhurried(sign)

    child = folder.start(before=prepare)
    assert child.until(sign.exists), child.said
    child.signal(signal.SIGINT)
    sign.unlink()

    assert child.wait() == 130, child.said
    before = folder.events()[-1]
    assert (before["event"], before["reason"]) == ("finished", "stopped")
    folder.train("--resume")
    assert folder.state() == undisturbed.state()
    again = next(event for event in folder.events() if event["event"] == "resumed")
    assert again["position"] == before["position"]


def test_interrupted_during_an_evaluation_it_keeps_what_is_learned_and_goes_on(
    folder: Folder, undisturbed: Folder
) -> None:
    sign = folder.folder / "sign"
    child = folder.start(before=held("glance", training, sign, at=2))
    assert child.until(sign.exists), child.said
    child.signal(signal.SIGINT)
    sign.unlink()

    assert child.wait() == 130, child.said
    assert folder.events()[-1]["position"] == [2, 0]
    folder.train()
    assert folder.state() == undisturbed.state()


def test_a_second_interrupt_ends_at_once_and_loses_nothing_that_was_saved(folder: Folder, undisturbed: Folder) -> None:
    sign = folder.folder / "sign"
    child = folder.start(before=held("glance", training, sign, at=2))
    assert child.until(sign.exists), child.said
    interrupt_twice(lambda: child.signal(signal.SIGINT), child.ended)

    assert child.wait() == 130, child.said
    assert "saved and safe" in child.said
    assert "Traceback" not in child.said
    folder.train()
    assert folder.state() == undisturbed.state()


def full(at: int) -> Callable[[], None]:
    """Have the disk be full at the so-manieth checkpoint, and from then on."""

    def prepare() -> None:
        original, calls = Shelf.put, [0]

        def put(self: Shelf, content: Any) -> int:
            calls[0] += 1
            if calls[0] >= at:
                raise OSError(errno.ENOSPC, "No space left on device")
            return original(self, content)

        Shelf.put = put  # type: ignore[method-assign]

    return prepare


@pytest.mark.parametrize("at", [1, 6])
def test_a_full_disk_ends_a_run_with_a_message_and_with_room_it_goes_on(
    folder: Folder, undisturbed: Folder, at: int
) -> None:
    child = folder.start(before=full(at))

    assert child.wait() == 2, child.said
    assert "the disk is full at" in child.said
    assert ("there is no checkpoint yet" if at == 1 else "is safe; free some space, then continue") in child.said
    assert "Traceback" not in child.said
    assert bool(folder.state()) == (at > 1)
    folder.train()
    assert folder.state() == undisturbed.state()


def test_a_limit_on_the_size_of_files_is_met_like_a_full_disk(folder: Folder, undisturbed: Folder) -> None:
    """What `ulimit -f` does to a checkpoint, met by the system itself."""
    # More than the plan and the record take, less than the weights.
    limit = 40_000
    environment = {name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"}

    limited = subprocess.run(
        [sys.executable, "-m", "headway.cli.main", *folder.words],
        capture_output=True, text=True, env=environment, timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip

    assert limited.returncode == 2, limited.stderr
    assert "may not become as large as it must" in limited.stderr
    assert "ulimit -f" in limited.stderr
    assert "Traceback" not in limited.stderr
    folder.train()
    assert folder.state() == undisturbed.state()
