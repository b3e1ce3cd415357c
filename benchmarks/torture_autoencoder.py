"""Kill the training of an autoencoder with SIGKILL at random moments: its weights must be those of an undisturbed run.

    python benchmarks/torture_autoencoder.py --kills 100 [--seed N] [--epochs 12]

A round is one run: sessions of `headway train` are killed until one gets to the end; then the last and the best
checkpoint have to hold the bytes that a run has which was left alone and saved nothing but its end. Where a kill hit is
read from what it left behind: a checkpoint half written, one that no index names, an index about to be replaced.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from headway.record.record import read_record
from sessions import Session

INDEXES, STATE, RECORD = ("latest", "best"), "state.safetensors", "record.jsonl"
_LOOK_SECONDS = 0.0005
_WAIT_SECONDS = 3.0
_FAREWELL_SECONDS = 60.0
_MOST_SECONDS = {"start": 3.0, "steps": 2.0}
# What a kill waits for: any moment of a session, any after its first steps, or a file that tells what goes on.
_AIMS = ("start", "steps", "steps", "steps", "*.draft", "*.draft", "*.json.*", "unnamed")
_WORDS = (
    "night day sun moon star sea wind rose thorn love time death heart eye hand stone river fire snow rain leaf bird "
    "light dark gold green red old young sweet bitter slow swift deep high the a of and in to with my thy no all song"
)


@dataclass
class Tally:
    """What the kills hit and what the sessions between them got done."""

    kills: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    sessions: int = 0
    rounds: int = 0
    saves: int = 0
    resumed: int = 0
    """Sessions that continued from a checkpoint."""
    left: int = 0
    """Processes that outlived their session."""


class Failed(AssertionError):
    """A promise of the product was broken."""


def write_texts(folder: Path, *, poems: int) -> None:
    """Made-up poems of a few lines, the same every time."""
    chance, words = random.Random(0), _WORDS.split()
    with (folder / "poems.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(poems):
            lines = [" ".join(chance.choices(words, k=chance.randint(3, 8))) for _ in range(chance.randint(4, 14))]
            file.write(json.dumps({"text": "\n".join(lines)}) + "\n")


def write_plan(folder: Path, name: str, *, save_every: str, epochs: int, hidden: int) -> Path:
    """A plan in one thread; everything that draws chance is on: dropout, noise, half of the true words given."""
    path = folder / f"{name}.toml"
    path.write_text(
        'workers = 1\n[data]\nsources = ["poems.jsonl"]\n'
        '[learner]\nkind = "autoencoder"\nvectors = "random"\ndimensions = 50\n'
        'threads = 1\ndevice = "cpu"\npatience = 3\n'
        f"[learner.model]\nhidden = {hidden}\ncode = 16\ndropout = 0.2\n"
        '[learner.noise]\nkind = "words"\nramp = 2\n[learner.schedule]\nkind = "plateau"\npatience = 1\n'
        f'[run]\nepochs = {epochs}\nbatch_tokens = 1024\nsave_every = "{save_every}"\n',
        encoding="utf-8",
    )
    return path


def weights(run: Path) -> dict[str, bytes]:
    """The whole state of the newest and of the best checkpoint of a run, as it lies on the disk."""
    found: dict[str, bytes] = {}
    for index in INDEXES:
        path = run / "checkpoints" / f"{index}.json"
        if path.is_file():
            entry = json.loads(path.read_text(encoding="utf-8"))["checkpoints"][-1]
            found[f"{index} at {entry['position']}"] = (run / "checkpoints" / entry["name"] / STATE).read_bytes()
    return found


class Torture:
    """Rounds of kills of one plan, against a reference made beforehand."""

    def __init__(
        self, folder: Path, *, seed: int, epochs: int, hidden: int, tell: Callable[[str], None] = print
    ) -> None:
        self.folder = folder
        self.tally = Tally()
        self._tell = tell
        self._random = random.Random(seed)
        write_plan(folder, "undisturbed", save_every="10h", epochs=epochs, hidden=hidden)
        write_plan(folder, "killed", save_every="0.1s", epochs=epochs, hidden=hidden)
        session = Session(self._command("undisturbed"))
        if session.wait():
            raise Failed(f"the undisturbed run failed:\n{session.error}")
        self._reference = weights(folder / "undisturbed" / "undisturbed-001")
        if len(self._reference) < len(INDEXES):
            raise Failed(f"the undisturbed run left {sorted(self._reference)} alone")

    def run(self, kills: int) -> Tally:
        """Rounds until there were so many kills."""
        while self.tally.kills < kills:
            self._round(kills)
            self.tally.rounds += 1
            self._tell(f"round {self.tally.rounds}: {self.tally.kills} kills so far, weights as undisturbed")
        return self.tally

    @property
    def _run(self) -> Path:
        return self.folder / "killed" / "killed-001"

    def _command(self, name: str) -> list[str]:
        runs, datasets = self.folder / name, self.folder / "datasets"
        plan = self.folder / f"{name}.toml"
        return ["train", str(plan), "--runs-dir", str(runs), "--datasets-dir", str(datasets), "--json"]

    def _round(self, kills: int) -> None:
        shutil.rmtree(self.folder / "killed", ignore_errors=True)
        while not self._session(kills):
            pass
        found = weights(self._run)
        if found.keys() != self._reference.keys():
            raise Failed(f"other checkpoints: {sorted(found)} instead of {sorted(self._reference)}")
        if different := [name for name in found if found[name] != self._reference[name]]:
            raise Failed(f"other bytes in {different} after {self.tally.kills} kills")
        events = [event["event"] for event in read_record(self._run / RECORD)]
        self.tally.saves += events.count("saved")
        self.tally.resumed += events.count("resumed")

    def _session(self, kills: int) -> bool:
        """One command, killed at some moment unless it ends before; whether it got to its end."""
        session = Session(self._command("killed"))
        self.tally.sessions += 1
        family = self._kill(session) if self.tally.kills < kills else []
        code = session.wait()
        if code not in (0, -signal.SIGKILL) or "Traceback" in session.error:
            raise Failed(f"the training ended with {code}:\n{session.error}")
        _, left = psutil.wait_procs(family, timeout=_FAREWELL_SECONDS)
        self.tally.left += sum(process.status() != psutil.STATUS_ZOMBIE for process in left if process.is_running())
        return code == 0

    def _kill(self, session: Session) -> list[psutil.Process]:
        """The processes of a session whose command was killed; none where it ended before."""
        if not self._await(session, self._random.choice(_AIMS)):
            return []
        processes = session.processes()
        if "command" not in processes or session.ended:
            return []
        processes["command"][0].kill()
        self.tally.kills += 1
        # Noted at once: what is left behind is cleared up by the next session.
        for phase in self._phases(session):
            self.tally.phases[phase] += 1
        return [process for found in processes.values() for process in found]

    def _await(self, session: Session, aim: str) -> bool:
        """Return at the moment to kill; False when the session ended before."""
        while aim != "start" and "step" not in session.events:
            if session.ended:
                return False
            time.sleep(_LOOK_SECONDS)
        until = time.monotonic() + self._random.uniform(0.0, _MOST_SECONDS.get(aim, 1.0))
        while time.monotonic() < until and not session.ended:
            time.sleep(_LOOK_SECONDS)
        until = time.monotonic() + _WAIT_SECONDS
        while aim not in _MOST_SECONDS and not session.ended and time.monotonic() < until and not self._seen(aim):
            time.sleep(_LOOK_SECONDS)
        return not session.ended

    def _seen(self, aim: str) -> bool:
        return bool(self._unnamed()) if aim == "unnamed" else any((self._run / "checkpoints").glob(aim))

    def _unnamed(self) -> list[str]:
        """Whole checkpoints that no index names."""
        folder = self._run / "checkpoints"
        named = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.json"))
        found = (path.name for path in folder.glob("*-*") if path.is_dir() and not path.name.endswith(".draft"))
        return [name for name in found if f'"{name}"' not in named]

    def _phases(self, session: Session) -> list[str]:
        """What was under way when the kill hit."""
        if "run_started" not in session.events:
            return ["start, before the run's record"]
        if "step" not in session.events:
            return ["start of the learner"]
        folder = self._run / "checkpoints"
        signs = {
            "an index being replaced": any(folder.glob("*.json.*")),
            "a checkpoint being written": any(folder.glob("*.draft")),
            "a checkpoint on disk that no index names": bool(self._unnamed()),
        }
        return [phase for phase, seen in signs.items() if seen] or ["learning, nothing under way on disk"]


def show(tally: Tally, seconds: float) -> None:
    """The result for people."""
    print(f"{tally.kills} kills in {tally.rounds} rounds, {seconds:.0f} s")
    print("last and best checkpoint are byte for byte those of the undisturbed run")
    print(
        f"sessions {tally.sessions}, of which {tally.resumed} continued a checkpoint; saves {tally.saves}; "
        f"processes left behind: {tally.left}"
    )
    print("hit (a kill can hit several)")
    for what, count in tally.phases.most_common():
        print(f"  {count:>5}  {what}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="kill a training until it is over; its weights must be undisturbed")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=384, help="of the model: how long a save is written")
    parser.add_argument("--poems", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = Path(name)
        write_texts(folder, poems=options.poems)
        began = time.monotonic()
        tell = partial(print, flush=True)
        torture = Torture(folder, seed=options.seed, epochs=options.epochs, hidden=options.hidden, tell=tell)
        show(torture.run(options.kills), time.monotonic() - began)


if __name__ == "__main__":
    main()
