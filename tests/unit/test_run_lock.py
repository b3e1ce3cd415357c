import errno
import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headway.errors import RunError
from headway.lock import Holder, Lock, holder


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    lock = Lock(tmp_path, doing="training", clock=lambda: 12.5)

    assert holder(tmp_path) == Holder(os.getpid(), socket.gethostname(), 12.5, "training")
    lock.close()


def test_a_second_lock_is_refused_with_process_host_and_folder(tmp_path: Path) -> None:
    lock = Lock(tmp_path, doing="training")

    with pytest.raises(RunError) as caught:
        Lock(tmp_path, doing="training")
    for said in (str(os.getpid()), socket.gethostname(), str(tmp_path), "is training", "two writers in one folder"):
        assert said in str(caught.value)
    lock.close()


def test_a_closed_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = Lock(tmp_path, doing="training")
    lock.close()
    lock.close()

    assert holder(tmp_path) is None
    Lock(tmp_path, doing="training").close()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from headway.lock import Lock; "
        "lock = Lock(Path(sys.argv[1]), doing='training'); os.kill(os.getpid(), 9)"
    )

    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == -9
    assert (tmp_path / "lock").is_file()
    assert holder(tmp_path) is None
    Lock(tmp_path, doing="training").close()


def test_asking_who_holds_a_folder_creates_nothing(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_text_was_lost_still_locks(tmp_path: Path) -> None:
    lock = Lock(tmp_path, doing="training")
    (tmp_path / "lock").write_bytes(b"")

    assert holder(tmp_path) == Holder(None, None, None, None)
    with pytest.raises(RunError, match="another process is at work"):
        Lock(tmp_path, doing="training")
    lock.close()


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(descriptor: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)

    with pytest.raises(RunError, match="No locks available"):
        Lock(tmp_path, doing="training")


def test_an_unwritable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", denied)

    with pytest.raises(RunError, match="cannot write to"):
        Lock(tmp_path, doing="training")
    with pytest.raises(RunError, match="cannot read"):
        holder(tmp_path)
