import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import counting
import psutil
import pytest

from headway.data.build import build
from headway.data.config import DataSection
from headway.errors import DataError, PlanError, RunError
from headway.feed.feed import Feed
from headway.feed.layouts import Whole
from headway.learners.base import Setup
from headway.plan.values import Place, Position
from headway.run.launch.local import Pool, WorkerError
from headway.run.launch.messages import Job, Prepare
from headway.run.launch.process import Servant

BATCH_TOKENS = 1024
# Whatever other tests have loaded into this process, torch for one, is a part of what a pool holds.
MEMORY = 8 << 30
Start = Callable[..., Pool]


def started(prepare: Prepare, job: Job) -> Servant:
    servant = Servant(prepare, workers=job.workers)
    servant.begin(job)
    return servant


@pytest.fixture(scope="module")
def feed(shared: Path) -> Feed:
    section = DataSection(sources=(str(shared / "corpus.jsonl"),), tokenizer="words")
    return Feed(Whole(build(section, folder=shared, cache=shared / "datasets"), BATCH_TOKENS))


@pytest.fixture
def start(feed: Feed, tmp_path: Path) -> Iterator[Start]:
    pools: list[Pool] = []

    def begin(*, workers: int = 2, memory: int = MEMORY, **section: object) -> Pool:
        asked = counting.Section(**section)  # type: ignore[arg-type]
        servant = started(Prepare(counting.prepare, asked), Job(counting.make, asked, feed.spec(), tmp_path, workers))
        setup = Setup(asked, feed.dataset, tmp_path, Place(0, workers + 1), MEMORY)
        pools.append(Pool(counting.make(setup), servant, memory=memory))
        return pools[-1]

    yield begin
    for pool in pools:
        pool.close()


def learn(pool: Pool, feed: Feed, *, batches: int | None = None) -> Position:
    position = Position.START
    for number, (batch, after) in enumerate(feed.batches(Position.START)):
        if number == batches:
            break
        pool.step(batch)
        position = after
    return position


def processes() -> tuple[psutil.Process, list[psutil.Process]]:
    """The fork server below this process, and the workers below that."""
    workers = [child for child in psutil.Process().children(recursive=True) if child.ppid() != os.getpid()]
    return psutil.Process(workers[0].ppid()), workers


def one_pass(feed: Feed) -> dict[int, int]:
    total: dict[int, int] = {}
    for batch, _ in feed.batches(Position.START):
        for token in batch.ids.tolist():
            total[token] = total.get(token, 0) + 1
    return total


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_workers_counts_what_one_pass_counts(
    start: Start, feed: Feed, tmp_path: Path, workers: int
) -> None:
    pool = start(workers=workers)

    position = learn(pool, feed)
    pool.finish()
    pool.save(tmp_path, position)

    assert counting.counts(tmp_path) == one_pass(feed)
    assert pool.restore(tmp_path) == feed.end


def test_the_metrics_of_every_batch_arrive_once(start: Start, feed: Feed, tmp_path: Path) -> None:
    pool, counted = start(), 0.0

    for batch, _ in feed.batches(Position.START):
        counted += pool.step(batch).get("counted", 0.0)
    pool.save(tmp_path, feed.end)
    counted += pool.leftover().get("counted", 0.0)

    assert counted == feed.total_tokens


def test_a_save_covers_every_batch_that_was_handed_out(start: Start, feed: Feed, tmp_path: Path) -> None:
    pool = start()

    position = learn(pool, feed, batches=3)
    pool.save(tmp_path, position)

    assert sum(counting.counts(tmp_path).values()) == feed.done(position).tokens


def test_workers_are_gone_after_close(start: Start, feed: Feed) -> None:
    pool = start()
    learn(pool, feed, batches=2)
    children = psutil.Process().children(recursive=True)

    pool.close()
    pool.close()

    assert len(children) == 3
    assert not any(child.is_running() for child in children)


def test_closing_does_not_wait_for_a_step(start: Start, feed: Feed) -> None:
    pool = start(step_seconds=60)
    learn(pool, feed, batches=2)
    children = psutil.Process().children(recursive=True)

    pool.close()

    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize(
    ("fault", "said"),
    [("kill", "was ended by SIGKILL"), ("exit", "ended with exit code 7")],
)
def test_a_worker_that_dies_is_named_with_its_end(start: Start, feed: Feed, fault: str, said: str) -> None:
    pool = start(fault=fault, fault_at=1)

    with pytest.raises(RunError, match=f"worker . .process .*{said}.*(.|\n)*continue with the same command"):
        learn(pool, feed)
        pool.finish()


def test_a_worker_that_dies_between_two_messages_is_noticed(start: Start, feed: Feed) -> None:
    pool = start(workers=1)
    learn(pool, feed, batches=1)
    _, (worker,) = processes()
    worker.send_signal(signal.SIGKILL)

    with pytest.raises(RunError, match="SIGKILL"):
        learn(pool, feed, batches=3)


def test_without_its_fork_server_a_pool_says_so(start: Start, feed: Feed) -> None:
    pool = start()
    learn(pool, feed, batches=1)
    server, _ = processes()
    server.send_signal(signal.SIGKILL)

    with pytest.raises(RunError, match="fork server"):
        learn(pool, feed)
        pool.finish()


def test_an_error_of_a_worker_keeps_its_type_and_message(start: Start, feed: Feed) -> None:
    pool = start(fault="refuse", fault_at=1)

    with pytest.raises(PlanError, match="no such thing") as caught:
        learn(pool, feed)
        pool.finish()
    assert caught.value.problems == ["no such thing"]


def test_an_error_of_a_worker_is_met_in_a_save_too(start: Start, feed: Feed, tmp_path: Path) -> None:
    pool = start(fault="unreadable", fault_at=1)
    position = learn(pool, feed, batches=2)

    with pytest.raises(DataError, match="shard 3"):
        pool.save(tmp_path, position)


def test_a_full_disk_in_a_worker_is_an_error_for_people(start: Start, feed: Feed) -> None:
    pool = start(fault="raw-full", fault_at=1)

    with pytest.raises(RunError, match="the disk is full"):
        learn(pool, feed)
        pool.finish()


def test_a_bug_in_a_worker_shows_its_traceback(start: Start, feed: Feed) -> None:
    pool = start(fault="bug", fault_at=1)

    with pytest.raises(WorkerError, match="ZeroDivisionError: a bug in a learner") as caught:
        learn(pool, feed)
        pool.finish()
    assert "counting.py" in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("prepare-refuse", DataError, "cannot prepare"),
        ("prepare-bug", RuntimeError, "a bug while preparing"),
        ("prepare-exit", RunError, "ended with code 9"),
    ],
)
def test_a_server_that_cannot_start_says_why(
    start: Start, feed: Feed, fault: str, error: type[Exception], said: str
) -> None:
    pool = start(fault=fault)

    with pytest.raises(error, match=said):
        learn(pool, feed)


def test_too_little_memory_names_what_is_needed(start: Start, feed: Feed) -> None:
    pool = start(workers=2, memory=32 << 20)

    with pytest.raises(RunError, match=r"memory = 32 MiB is too little for 2 workers.*Set memory to"):
        learn(pool, feed)


PROGRAM = """
    import sys
    sys.path.insert(0, {contract!r})
    import counting, os, time
    from pathlib import Path
    from headway.feed.feed import Feed
    from headway.feed.layouts import Whole
    from headway.learners.base import Setup
    from headway.plan.values import Place, Position
    from headway.run.launch.local import Pool
    from headway.run.launch.messages import Job, Prepare
    from headway.run.launch.process import Servant

    folder, feed = Path({folder!r}), Feed.from_spec({spec!r})
    section = counting.Section(step_seconds={seconds})
    servant = Servant(Prepare(counting.prepare, section), workers=2)
    servant.begin(Job(counting.make, section, feed.spec(), folder, 2))
    pool = Pool(counting.make(Setup(section, feed.dataset, folder, Place(0, 3), 1 << 30)), servant, memory=1 << 30)
    for batch, after in feed.batches(Position.START):
        pool.step(batch)
        print("stepped", *servant.pids, flush=True)
    pool.save(folder, after)
    pool.close()
"""


def program(feed: Feed, folder: Path, *, seconds: float = 0.0) -> str:
    contract = str(Path(counting.__file__).parent)
    return textwrap.dedent(PROGRAM).format(contract=contract, folder=str(folder), spec=feed.spec(), seconds=seconds)


@pytest.mark.parametrize("how", ["script", "command", "prompt"])
def test_a_program_without_a_main_guard_can_have_workers(feed: Feed, tmp_path: Path, how: str) -> None:
    text = program(feed, tmp_path)
    (tmp_path / "program.py").write_text(text)
    command = {"script": [str(tmp_path / "program.py")], "command": ["-c", text], "prompt": ["-"]}[how]

    done = subprocess.run(
        [sys.executable, *command], input=text if how == "prompt" else "", capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stderr
    assert counting.counts(tmp_path) == one_pass(feed)


def test_workers_end_when_their_owner_is_killed(feed: Feed, tmp_path: Path) -> None:
    text = program(feed, tmp_path, seconds=60.0)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()[1:]]
        owner.kill()

    until = time.monotonic() + 60
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.05)

    assert len(pids) == 4
    assert not alive(pids)


def alive(pids: list[int]) -> list[int]:
    def runs(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    return [pid for pid in pids if runs(pid)]


def test_the_environment_of_the_user_goes_before_ours() -> None:
    from headway.run.launch.process import environment

    found = environment({"OMP_NUM_THREADS": "3", "HOME": "/home/me"})

    assert found["OMP_NUM_THREADS"] == "3"
    assert found["HOME"] == "/home/me"
    assert found["RAYON_NUM_THREADS"] == "1"


def test_no_pool_without_fork(monkeypatch: pytest.MonkeyPatch, feed: Feed, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "fork")

    with pytest.raises(RunError, match="workers = 1"):
        started(Prepare(None, counting.Section()), Job(counting.make, counting.Section(), feed.spec(), tmp_path, 2))
