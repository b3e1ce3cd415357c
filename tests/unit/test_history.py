"""The index of runs says what the run folders say, whatever has happened to either."""

import os
import sqlite3
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from made_runs_folder import MACHINE, append, made, settled

from headway.errors import RunError
from headway.lock import NAME as LOCK
from headway.lock import Lock
from headway.machine.identity import machine_fingerprint
from headway.run.code import code_digest
from headway.run.facts import RunFacts, facts_or_damage
from headway.run.folders import RECORD, numbered
from headway.run.history import history as module
from headway.run.history import image, rows
from headway.run.history.growth import recorded_growth
from headway.run.history.history import History


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("b-001", "a-002", "a-010", "a-001"):
        made(tmp_path / "runs" / name)
    return tmp_path / "runs"


def index(runs: Path) -> Path:
    return runs / image.NAME


def opened(runs: Path) -> History:
    return History(runs, clock=settled)


def told(runs: Path) -> list[RunFacts]:
    """What the folders themselves say."""
    return [facts_or_damage(entry.folder) for entry in numbered(runs)]


def reads(runs: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs whose folders are read when a history is opened."""
    from headway.run.history import reading

    seen: list[str] = []

    def read(folder: Path, stamp: str | None) -> object:
        seen.append(folder.name)
        return actual(folder, stamp)

    actual = reading.read
    with monkeypatch.context() as patch:
        patch.setattr(reading, "read", read)
        opened(runs).close()
    return sorted(seen)


def test_the_index_knows_exactly_what_the_folders_say(runs: Path) -> None:
    first, again = opened(runs), opened(runs)

    assert first.facts == again.facts == told(runs)
    assert [run.name for run in again.briefs] == ["a-001", "a-002", "a-010", "b-001"]
    assert again.facts[0].evaluation == {"skill": 0.25, "gain": 0.125}
    assert again.facts[0].stages == {"save": {"count": 1, "seconds": 0.5, "median": None, "p95": None, "longest": 0.5}}


def test_what_was_not_recorded_stays_absent(tmp_path: Path) -> None:
    folder = made(tmp_path / "old-001")
    record = folder / RECORD
    record.write_text('{"time": 1.0, "event": "run_started"}\n')

    known = opened(tmp_path).facts[0]

    assert (known.plan, known.machine, known.versions, known.code, known.evaluation) == (None,) * 5
    assert (known.documents_per_second, known.stages) == (None, {})


def test_a_run_that_did_not_change_is_not_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads(runs, monkeypatch) == ["a-001", "a-002", "a-010", "b-001"]
    assert reads(runs, monkeypatch) == []


def test_only_what_changed_is_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(runs).close()
    append(runs / "a-002", time=2e9, event="warned", text="look")
    made(runs / "c-001")

    assert reads(runs, monkeypatch) == ["a-002", "c-001"]
    assert opened(runs).facts == told(runs)


def test_a_change_that_the_clock_of_the_disk_may_hide_is_not_missed(runs: Path) -> None:
    # Read as soon as written: what follows may carry the same time and, cut and written again, the same size.
    with History(runs) as history:
        assert len(history.facts) == 4
    record = runs / "a-001" / RECORD
    content = record.read_text()
    state = record.stat()
    record.write_text(content.replace('"documents": 300', '"documents": 500'))
    os.utime(record, ns=(state.st_atime_ns, state.st_mtime_ns))

    with History(runs) as history:
        assert history.facts[0].documents == 500


def test_a_run_that_is_gone_is_forgotten(runs: Path) -> None:
    opened(runs).close()
    (runs / "a-001" / "plan.resolved.json").unlink()
    (runs / "b-001").rename(runs.parent / "elsewhere")

    assert [run.name for run in opened(runs).briefs] == ["a-002", "a-010"]
    assert [run.name for run in opened(runs).briefs] == ["a-002", "a-010"]


def test_a_run_at_work_is_running_and_never_remembered_as_that(runs: Path) -> None:
    opened(runs).close()
    lock = Lock(runs / "a-001", doing="training")
    at_work = [run.status for run in opened(runs).briefs]
    lock.close()

    assert at_work == ["running", "finished", "finished", "finished"]
    assert [run.status for run in opened(runs).briefs] == ["finished"] * 4


def test_a_lock_that_a_killed_run_left_signed_is_not_a_run_at_work(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (runs / "a-001" / LOCK).write_text('{"pid": 1}')
    opened(runs).close()

    assert reads(runs, monkeypatch) == []
    assert opened(runs).briefs[0].status == "finished"


@pytest.mark.parametrize("damage", ["empty", "torn", "flipped", "text", "database of others", "older format", "folder"])
def test_a_damaged_index_is_made_anew(runs: Path, damage: str) -> None:
    opened(runs).close()
    path = index(runs)
    content = path.read_bytes()
    if damage == "database of others":
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE runs (name)")
    elif damage == "older format":
        connection = image.load(path)
        assert connection is not None
        connection.execute("PRAGMA user_version = 999999")
        connection.execute("DROP TABLE runs")
        connection.commit()
        image.save(connection, path, now=0)
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"empty": b"", "torn": content[:-100], "flipped": flipped, "text": b"hello"}[damage])

    assert opened(runs).facts == told(runs)
    assert opened(runs).facts == told(runs)


def test_every_single_byte_of_an_index_is_guarded(runs: Path) -> None:
    opened(runs).close()
    content = index(runs).read_bytes()
    for at in range(0, len(content), 97):
        index(runs).write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])

        assert image.load(index(runs)) is None, at


def test_the_index_is_an_ordinary_database(runs: Path) -> None:
    opened(runs).close()
    with sqlite3.connect(index(runs)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM runs ORDER BY name")]
        checked = database.execute("PRAGMA integrity_check").fetchone()

    assert (names, checked) == ([b"a-001", b"a-002", b"a-010", b"b-001"], ("ok",))


def test_copied_runs_are_read_where_they_are_now(runs: Path) -> None:
    opened(runs).close()
    moved = runs.rename(runs.parent / "moved")

    assert opened(moved).facts == told(moved)
    assert opened(moved).facts[0].folder == moved / "a-001"


def test_where_nothing_can_be_written_the_runs_are_listed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)

    assert opened(runs).facts == told(runs)
    assert not index(runs).exists()


def test_a_disk_that_is_full_leaves_the_index_as_it_was(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(runs).close()
    before = index(runs).read_bytes()
    made(runs / "c-001")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)

    assert len(opened(runs).facts) == 5
    assert index(runs).read_bytes() == before
    assert [path.name for path in runs.iterdir() if path.name.startswith(".")] == [image.NAME]


def test_what_a_killed_writer_left_is_removed_when_it_is_old(runs: Path) -> None:
    for name, age in (("old", 7200), ("young", 0)):
        draft = runs / f".history-{name}"
        draft.write_bytes(b"")
        now = settled() / 1e9
        os.utime(draft, (now - age, now - age))
    opened(runs).close()

    assert sorted(path.name for path in runs.glob(".history-*")) == [".history-young"]


def test_a_damaged_run_is_listed_as_that_and_read_again_when_it_is_repaired(runs: Path) -> None:
    record = runs / "a-001" / RECORD
    content = record.read_bytes()
    record.write_bytes(b"no record\n" + content)
    damaged = opened(runs).facts[0]
    record.write_bytes(content)

    assert damaged.status == "damaged"
    assert "line 1 is damaged" in damaged.warnings[0]
    assert opened(runs).facts == told(runs)


def test_names_and_facts_that_no_database_takes_are_kept(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9-001")
    folder = made(tmp_path / "b-001")
    append(folder, time=2e9, event="evaluated", position=[0, 0], metrics={"skill": [0.0, 0], "gain": float("nan")})
    made(tmp_path / odd, dataset=["no", "text"], code="\ud800", workers=1 << 70, machine="none", versions=[1])

    with opened(tmp_path) as first, opened(tmp_path) as again:
        assert repr(first.facts) == repr(again.facts) == repr(told(tmp_path))
        assert [run.name for run in again.briefs] == ["b-001", odd]


def test_a_folder_of_runs_that_cannot_be_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot read the folder of runs .*gone.* give another --runs-dir"):
        History(tmp_path / "gone")


def test_processes_that_list_at_once_all_see_every_run_and_leave_a_whole_index(runs: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom headway.run.history.history import History\n"
        "for _ in range(15):\n"
        "    with History(Path(sys.argv[1])) as history:\n"
        "        assert len(history.facts) >= 4, history.facts\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(runs)]) for _ in range(3)]
    for number in range(20):
        made(runs / f"new-{number:03d}")
        if number % 5 == 0:
            index(runs).write_bytes(b"damaged")

    assert [process.wait() for process in running] == [0, 0, 0]
    assert opened(runs).facts == told(runs)
    assert image.load(index(runs)) is not None


def test_a_fingerprint_tells_machines_apart_and_not_how_busy_they_are() -> None:
    same = MACHINE | {"memory_available_bytes": 1, "memory_bytes": (8 << 30) - (20 << 20), "python": "3.12"}

    assert machine_fingerprint(MACHINE) == machine_fingerprint(same)
    assert machine_fingerprint(MACHINE) != machine_fingerprint(MACHINE | {"usable_cores": 1})
    assert machine_fingerprint({}) is None
    assert machine_fingerprint(MACHINE | {"fingerprint": "recorded"}) == "recorded"


def test_the_names_of_files_are_those_of_runs() -> None:
    assert (f"/{RECORD}".encode(), f"/{LOCK}".encode()) == (module._RECORD, module._LOCK)


def test_the_format_is_raised_when_facts_change() -> None:
    # A row holds all facts of a run: raise rows.FORMAT with these names, or old indexes would be taken for whole.
    known = (
        "name folder status documents tokens seconds started documents_per_second tokens_per_second sessions workers "
        "memory dataset totals recorded warnings plan machine versions code evaluation peak_memory_bytes "
        "peak_shared_once_bytes counts_per_second stages cpu_cores not_measured"
    )

    assert (rows.FORMAT, " ".join(field.name for field in fields(RunFacts))) == (1, known)


def test_growth_is_told_by_the_ends_of_sessions_that_counted_it(runs: Path) -> None:
    many = {"level": 0, "observed": 70, "patterns": None}
    append(runs / "a-001", time=2e9, event="finished", reason="complete", totals={"learner": {"levels": [many]}})
    later = {"level": 0, "observed": 90, "patterns": 50}
    append(runs / "a-001", time=3e9, event="finished", reason="complete", totals={"learner": {"levels": [later]}})
    append(runs / "a-001", time=4e9, event="finished", reason="failed", totals={})

    assert recorded_growth(runs / "a-001") == {0: [(40, 30), (90, 50)]}
    assert recorded_growth(runs) == {}


def test_the_code_of_a_run_is_told_from_every_other(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "inner" / "b.py").write_text("two")
    digests = [code_digest.__wrapped__(tmp_path)]
    for name, content in (("a.py", "onet"), ("inner/b.py", "wo"), ("c.py", "")):
        (tmp_path / name).write_text(content)
        digests.append(code_digest.__wrapped__(tmp_path))

    assert len(set(digests)) == 4
    assert code_digest() == code_digest.__wrapped__()
