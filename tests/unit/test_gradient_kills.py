"""Killed at any instant, a run has a checkpoint to go on from that is whole, and never an older one than it was told.

Everything happens in processes forked from one that has loaded torch.
"""

import json
import subprocess
import sys
from pathlib import Path

_COMMON = """
import json, os, random, signal, sys, time
from pathlib import Path
import torch
from headway.learners.gradient.checkpoints import Checkpoints
from headway.learners.gradient.config import CheckpointSection
from headway.learners.gradient.restore import restore
from headway.learners.gradient.state import State
from headway.plan.values import Position

torch.set_num_threads(1)
folder = Path(sys.argv[1])

def state(n):
    return State({"w": torch.arange(n, n + 20_000), "n": torch.tensor(n)}, {"n": n})

def check(index):
    found = restore(folder, index)
    if found is None:
        return 0
    n = found.facts["n"]
    assert found.position == Position(0, n) and all(
        torch.equal(found.tensors[name], tensor) for name, tensor in state(n).tensors.items()
    ), (index, n)
    return n
"""

_RANDOM = (
    _COMMON
    + """
def train(told):
    checkpoints = Checkpoints(folder, CheckpointSection(keep=1))
    found = checkpoints.restore()
    begin = n = found.facts["n"] if found else 0
    while True:
        n += 1
        durable = checkpoints.save(state(n), kind="periodic", position=Position(0, n))
        if durable and durable.batch > begin:
            os.write(told, durable.batch.to_bytes(4, "big"))
        if n % 3 == 0:
            checkpoints.save(state(n), kind="best", position=Position(0, n))

rng = random.Random(11)
seen = []
for _ in range(8):
    heard, told = os.pipe()
    child = os.fork()
    if not child:
        train(told)
    os.close(told)
    promised = int.from_bytes(os.read(heard, 4), "big")
    time.sleep(rng.uniform(0.0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(heard, 4):
        promised = int.from_bytes(more, "big")
    os.close(heard)
    seen.append([promised, check("latest"), check("best")])
print(json.dumps(seen))
"""
)

_EVERYWHERE = (
    _COMMON
    + """
def die_before(number):
    # What a kill leaves is what the system was told before it; whether the disk has it plays no part.
    left = [number]
    def counted(call):
        def wrapped(*arguments, **more):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return call(*arguments, **more)
        return wrapped
    os.fsync = counted(lambda _: None)
    for name in ("mkdir", "write", "rename", "replace", "unlink", "rmdir"):
        setattr(os, name, counted(getattr(os, name)))

def train(number, told):
    die_before(number)
    checkpoints = Checkpoints(folder, CheckpointSection(mode="sync", keep=1))
    say = told.fileno()
    for n, kind in ((1, "periodic"), (2, "best"), (3, "best"), (3, "final")):
        checkpoints.save(state(n), kind=kind, position=Position(0, n))
        told.seek(0)
        told.write(f"{kind} {n}\\n".encode())
    os._exit(0)

import shutil, tempfile
outcomes = []
for number in range(1000):
    told = tempfile.TemporaryFile(buffering=0)
    child = os.fork()
    if not child:
        train(number, told)
    _, status = os.waitpid(child, 0)
    told.seek(0)
    kind, _, n = told.read().decode().split("\\n")[0].partition(" ")
    latest, best = check("latest"), check("best")
    promised = int(n or 0)
    assert latest >= (promised if kind != "best" else 1) or not kind, (number, kind, n, latest)
    assert best >= (promised if kind == "best" else 0), (number, kind, n, best)
    # The next session cleans up, and goes on.
    Checkpoints(folder, CheckpointSection()).close()
    assert (check("latest"), check("best")) == (latest, best)
    assert not list(folder.glob("*.draft")) and len(list(folder.glob("0*"))) <= 3
    outcomes.append([latest, best])
    shutil.rmtree(folder)
    if os.waitstatus_to_exitcode(status) == 0:
        break
print(json.dumps(outcomes))
"""
)


def _run(program: str, folder: Path) -> list[list[int]]:
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_killed_at_random_moments_a_run_goes_on_from_what_is_whole(tmp_path: Path) -> None:
    seen = _run(_RANDOM, tmp_path / "checkpoints")

    latest = [each[1] for each in seen]
    assert latest == sorted(set(latest))
    assert all(durable >= promised > 0 for promised, durable, _ in seen)


def test_killed_before_every_single_call_of_the_system_it_loses_nothing_it_was_told(tmp_path: Path) -> None:
    outcomes = _run(_EVERYWHERE, tmp_path / "checkpoints")

    assert outcomes == sorted(outcomes)
    assert outcomes[0] == [0, 0]
    assert outcomes[-1] == [3, 3]
    assert len(outcomes) > 50
