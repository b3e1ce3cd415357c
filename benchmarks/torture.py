"""Kill a training with SIGKILL at random moments and continue it: its memory must be that of an undisturbed one.

    python benchmarks/torture.py --kills 200 [--seed N] [--workers 2] [--copies 4]

A round is one run: sessions of `headway train` are killed (the command itself, a worker, the fork server or a build
worker) until one gets to the end; then `headway memory compact`, which is killed as well; then every file of the memory
folder has to be that of a run which was left alone and had another number of workers. Where a kill hit is read from
what it left behind: drafts, a half-replaced manifest, runs that no manifest names.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil

from headway.learners.patterns.manifest import read_manifest
from headway.learners.patterns.memory import open_memory
from headway.record.record import read_record
from sessions import COMMAND, LONGEST_SESSION, Session

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "corpus"
_LOOK_SECONDS = 0.0005
_FAREWELL_SECONDS = 60.0
# What a kill waits for: any moment of a session, any moment after its first steps, or a file that tells what goes on.
_AIMS = ("start", "steps", "steps", "steps", "steps", "*.draft", "compact.*.draft", "manifest.json.tmp", "unnamed")
_OF_COMPACTION = ("start", "compact.*.draft", "compact.*.draft", "compact.L2.*.draft", "manifest.json.tmp")
_MOST_SECONDS = {"start": 2.5, "build": 0.4}
_ANY_SECONDS = 1.2
_MOST_OF_COMPACTION = 3


@dataclass
class Tally:
    """What the kills hit and what the sessions between them got done."""

    kills: int = 0
    victims: Counter[str] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    advanced: list[int] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    checked: int = 0
    left: int = 0


class Failed(AssertionError):
    """A promise of the product was broken."""


def write_corpus(folder: Path, *, copies: int, files: int | None = None) -> None:
    """The demo corpus several times over, each copy in another order."""
    lines: list[str] = []
    for path in sorted(EXAMPLES.glob("*.jsonl.gz"))[:files]:
        with gzip.open(path, "rt") as file:
            lines += file.readlines()
    for copy in range(copies):
        random.Random(copy).shuffle(lines)
        (folder / f"corpus-{copy}.jsonl").write_text("".join(lines))


def write_plan(folder: Path, name: str, tokenizer: str) -> Path:
    """A plan that saves, spills and compacts all the time."""
    path = folder / f"{name}.toml"
    path.write_text(
        f'memory = "3GiB"\n[data]\nsources = ["corpus-*.jsonl"]\ntokenizer = "{tokenizer}"\n'
        '[learner]\nkind = "patterns"\nwidths = [5, 7, 9]\nmetadata = "documents"\ncompact_after = 6\n'
        '[run]\nsave_every = "0.05s"\nbatch_tokens = 4096\n'
    )
    return path


def content(memory: Path) -> dict[str, bytes]:
    """Every file of a memory folder."""
    return {str(path.relative_to(memory)): path.read_bytes() for path in sorted(memory.rglob("*")) if path.is_file()}


class Torture:
    """Rounds of kills on plans in one folder, against references made beforehand."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        workers: int,
        tokenizers: dict[str, str],
        tell: Callable[[str], None] = print,
    ) -> None:
        self.folder = folder
        self._tell = tell
        self.random = random.Random(seed)
        self.workers = workers
        self.tally = Tally()
        self._family: list[psutil.Process] = []
        self.plans = {name: write_plan(folder, name, tokenizer) for name, tokenizer in tokenizers.items()}
        self.batches: dict[str, int] = {}
        self.references = {name: self._reference(plan) for name, plan in self.plans.items()}

    def run(self, kills: int) -> Tally:
        """Rounds until there were so many kills."""
        while self.tally.kills < kills:
            name = list(self.plans)[self.tally.rounds % len(self.plans)]
            self._round(name, kills)
            self.tally.rounds += 1
            self._tell(f"round {self.tally.rounds}: {self.tally.kills} kills so far, memory of {name!r} as undisturbed")
        return self.tally

    def _reference(self, plan: Path) -> dict[str, bytes]:
        other = 1 if self.workers > 1 else 2
        runs = self.folder / "undisturbed"
        folders = ["--runs-dir", str(runs), "--datasets-dir", str(self.folder / "undisturbed-datasets")]
        self._must(["train", str(plan), *folders, "--workers", str(other), "--quiet"])
        memory = runs / f"{plan.stem}-001" / "memory"
        self.batches[plan.stem] = sum(event.get("steps", 0) for event in read_record(memory.parent / "record.jsonl"))
        self._must(["memory", "compact", str(memory)])
        return content(memory)

    def _round(self, name: str, kills: int) -> None:
        runs, datasets = self.folder / "runs", self.folder / "datasets"
        shutil.rmtree(runs, ignore_errors=True)
        shutil.rmtree(datasets, ignore_errors=True)
        memory = runs / f"{name}-001" / "memory"
        train = ["train", str(self.plans[name]), "--runs-dir", str(runs), "--datasets-dir", str(datasets)]
        train += ["--workers", str(self.workers), "--json"]
        while not self._session(train, memory, kills):
            if self.tally.kills % 5 == 0:
                self._check_survivor(memory)
        compact = ["memory", "compact", str(memory), "--json"]
        most = min(kills, self.tally.kills + _MOST_OF_COMPACTION)
        while not self._session(compact, memory, most):
            pass
        self._must(["memory", "verify", str(memory)])
        self._compare(name, memory)
        # Whatever a killed command had started ends by itself, without anybody waiting for it.
        _, left = psutil.wait_procs(self._family, timeout=_FAREWELL_SECONDS)
        self.tally.left += sum(process.status() != psutil.STATUS_ZOMBIE for process in left if process.is_running())
        self._family = []

    def _session(self, arguments: list[str], memory: Path, kills: int) -> bool:
        """One command, killed at some moment unless it ends before; whether it got to its end."""
        before = self._position(memory)
        session = Session(arguments)
        if self.tally.kills < kills:
            self._kill(session, memory, is_training=arguments[0] == "train")
        code = session.wait()
        if arguments[0] == "train":
            self.tally.advanced.append(self._position(memory) - before)
        if code not in (0, 2, -signal.SIGKILL) or "Traceback" in session.error:
            raise Failed(f"{arguments[:2]} ended with {code}:\n{session.error}")
        if code == 2:
            # Only a killed helper lets the command end by itself, and it must say so.
            if "SIGKILL" not in session.error and "fork server" not in session.error:
                raise Failed(f"{arguments[:2]} refused to go on:\n{session.error}")
            self.tally.refusals[_first_words(session.error)] += 1
        return code == 0

    def _kill(self, session: Session, memory: Path, *, is_training: bool) -> None:
        if not self._await(session, memory, self._aim(is_training=is_training), is_training=is_training):
            return
        processes = session.processes()
        if not processes:
            return
        self._family += [process for found in processes.values() for process in found]
        role = self.random.choice(sorted(processes))
        victim = self.random.choice(processes[role])
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            return
        self.tally.kills += 1
        self.tally.victims[role] += 1
        # Noted at once: what is left behind is cleared up by the next session.
        for phase in _phases(session, memory, self.folder / "datasets", is_training=is_training):
            self.tally.phases[phase] += 1

    def _aim(self, *, is_training: bool) -> str:
        if not is_training:
            return self.random.choice(_OF_COMPACTION)
        if not _datasets(self.folder / "datasets") and self.random.random() < 0.7:
            return "build"
        return self.random.choice(_AIMS)

    def _await(self, session: Session, memory: Path, aim: str, *, is_training: bool) -> bool:
        """Return at the moment to kill; False when the session ended before."""
        while is_training and not _begun(session, aim):
            if session.ended:
                return False
            time.sleep(_LOOK_SECONDS)
        most = _MOST_SECONDS.get(aim, _ANY_SECONDS) if is_training or aim == "start" else 0.0
        until = time.monotonic() + self.random.uniform(0.0, most)
        while time.monotonic() < until:
            if session.ended:
                return False
            time.sleep(_LOOK_SECONDS)
        if aim in ("start", "build", "steps"):
            return True
        until = time.monotonic() + 3.0
        while not session.ended and time.monotonic() < until:
            if _seen(memory, aim):
                return True
            time.sleep(_LOOK_SECONDS)
        return not session.ended

    def _check_survivor(self, memory: Path) -> None:
        """What a kill left is whole, apart from leftovers that count nowhere."""
        if not (memory / "manifest.json").exists():
            return
        with open_memory(memory) as opened:
            problems = [problem for problem in opened.verify().problems if "leftover" not in problem]
        if problems:
            raise Failed(f"after kill {self.tally.kills}: {problems}")
        self.tally.checked += 1

    def _compare(self, name: str, memory: Path) -> None:
        found, wanted = content(memory), self.references[name]
        if found.keys() != wanted.keys():
            raise Failed(f"other files: {sorted(found)} instead of {sorted(wanted)}")
        different = [path for path in wanted if found[path] != wanted[path]]
        if different:
            raise Failed(f"other bytes in {different}")

    def _position(self, memory: Path) -> int:
        """How many batches the manifest counts."""
        manifest = read_manifest(memory) if memory.is_dir() else None
        if manifest is None or manifest.position is None:
            return 0
        return self.batches[memory.parent.name[:-4]] * manifest.position.epoch + manifest.position.batch

    def _must(self, arguments: list[str]) -> None:
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=LONGEST_SESSION)
        if done.returncode:
            raise Failed(f"{arguments} ended with {done.returncode}:\n{done.stderr}")


def _begun(session: Session, aim: str) -> bool:
    """Whether a training has come to where an aim begins to make sense."""
    if aim == "build":
        return "checking" in session.stages
    return aim == "start" or "step" in session.events


def _datasets(folder: Path) -> list[Path]:
    """The finished datasets in a folder."""
    return [path.parent for path in folder.glob("*/manifest.json") if path.parent.suffix != ".partial"]


def _seen(memory: Path, aim: str) -> bool:
    if aim == "manifest.json.tmp":
        return (memory / aim).exists()
    return bool(_unnamed(memory)) if aim == "unnamed" else any((memory / "runs").glob(aim))


def _unnamed(memory: Path) -> list[str]:
    try:
        text = (memory / "manifest.json").read_text()
    except FileNotFoundError:
        text = ""
    return [path.name for path in (memory / "runs").glob("*.arrow") if path.name not in text]


def _phases(session: Session, memory: Path, datasets: Path, *, is_training: bool) -> list[str]:
    """What was under way when the kill hit."""
    if not is_training:
        return [f"headway memory compact, {_of_compaction(memory)}"]
    if not _datasets(datasets):
        return ["dataset build" if any(datasets.glob("*.partial")) else "before the dataset build"]
    if "run_started" not in session.events:
        return ["start, before the run's record"]
    if "step" not in session.events:
        return ["start of the workers"]
    signs = {
        "manifest being replaced": (memory / "manifest.json.tmp").exists(),
        "runs being written": any(path for path in (memory / "runs").glob("*.draft") if "compact" not in path.name),
        "compaction in the background": any((memory / "runs").glob("compact.*.draft")),
        "runs on disk that no manifest names": bool(_unnamed(memory)),
    }
    return [phase for phase, seen in signs.items() if seen] or ["learning, nothing under way on disk"]


def _of_compaction(memory: Path) -> str:
    if any((memory / "runs").glob("*.draft")):
        return "merging"
    return "around the manifest" if _unnamed(memory) else "before or after"


def _first_words(error: str) -> str:
    return " ".join(word for word in error.split() if not any(digit.isdigit() for digit in word))[:60]


def show(tally: Tally, seconds: float) -> None:
    """The result for people."""
    moved = sorted(tally.advanced)
    print(f"{tally.kills} kills in {tally.rounds} rounds, {seconds:.0f} s")
    print("every memory is byte for byte the undisturbed one, and verify is clean")
    print(f"memories verified right after a kill: {tally.checked}; processes left behind: {tally.left}")
    print(
        f"sessions {len(moved)}; batches advanced in all {sum(moved):,}, median {moved[len(moved) // 2]}, "
        f"most {moved[-1]}, none {sum(not step for step in moved)} times"
    )
    for title, counts in (
        ("killed", tally.victims),
        ("hit (a kill can hit several)", tally.phases),
        ("said", tally.refusals),
    ):
        print(title)
        for what, count in counts.most_common():
            print(f"  {count:>5}  {what}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="kill a training until it is over; its memory must be the undisturbed one"
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--copies", type=int, default=4, help="how often the demo corpus is repeated (default: 4)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-") as name:
        folder = Path(name)
        write_corpus(folder, copies=options.copies)
        began = time.monotonic()
        torture = Torture(
            folder,
            seed=options.seed,
            workers=options.workers,
            tokenizers={"bpe": "gpt2", "words": "words"},
            tell=partial(print, flush=True),
        )
        show(torture.run(options.kills), time.monotonic() - began)


if __name__ == "__main__":
    main()
