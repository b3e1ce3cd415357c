"""What headway says to everything that can be wrong with its input: one line per mistake, ready to be pasted.

    python benchmarks/bad_input.py [--large] [NAME ...]

`--large` adds a document of 200 MB on one line, which is no mistake: it shows how long it takes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "headway.cli.main"]
GOOD = "".join(
    json.dumps({"text": f"the cat number {i} sat on the mat and looked at the {i} stars"}) + "\n" for i in range(200)
)
PLAN = (
    'memory = "3GiB"\nworkers = 1\n[data]\nsources = ["corpus.jsonl"]\ntokenizer = "words"\n'
    '[learner]\nkind = "patterns"\nwidths = [5, 7]\n[run]\nbatch_tokens = 1024\n'
)


@dataclass(frozen=True)
class Good:
    """A plan and files with which nothing is wrong."""

    plan: str
    files: tuple[tuple[str, bytes], ...]


_PATTERNS = Good(PLAN, (("corpus.jsonl", GOOD.encode()),))


@dataclass(frozen=True)
class Case:
    """A mistake: what is made wrong in a folder with a good plan and corpus, the command, and what it must say."""

    name: str
    says: tuple[str, ...]
    """Regular expressions, each found in the message: what, where, what to do."""
    arguments: tuple[str, ...] = ("train", "plan.toml", "--quiet")
    files: tuple[tuple[str, bytes], ...] = ()
    plan: tuple[tuple[str, str], ...] = ()
    """Texts of the good plan and what stands there instead."""
    before: Callable[[Path], None] | None = None
    during: Callable[[Path], ExitStack] | None = None
    good: Good = _PATTERNS


def lay_out(case: Case, folder: Path) -> None:
    """Make the folder that a case needs."""
    text = case.good.plan
    for old, new in case.plan:
        assert old in text
        text = text.replace(old, new)
    (folder / "plan.toml").write_text(text)
    for name, content in (*case.good.files, *case.files):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if case.before is not None:
        case.before(folder)


@contextmanager
def prepared(case: Case, folder: Path) -> Iterator[None]:
    """The folder of a case, for as long as something has to go on in it."""
    lay_out(case, folder)
    with ExitStack() if case.during is None else case.during(folder):
        yield


def headway(folder: Path, *arguments: str) -> None:
    """Run a command that has to succeed."""
    subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True, timeout=300)


def _no_corpus(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()


def _plan_folder(folder: Path) -> None:
    (folder / "plan.toml").unlink()
    (folder / "plan.toml").mkdir()


def trained(folder: Path) -> None:
    headway(folder, "train", "plan.toml", "--quiet")


@contextmanager
def _at_work(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that trains in the folder, for very long, and has saved."""
    endless = ("--set", "run.save_every=0", "--set", "run.epochs=100000")
    with subprocess.Popen(
        [*COMMAND, "train", "plan.toml", "--json", *endless],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if json.loads(line)["event"] == "saved")
        yield process


def interrupted(folder: Path) -> None:
    """A run that ended in the middle, saved."""
    with _at_work(folder) as process:
        process.send_signal(signal.SIGINT)
        process.communicate()


def _interrupted_then_changed(folder: Path) -> None:
    interrupted(folder)
    (folder / "corpus.jsonl").write_text(GOOD + '{"text": "one more line for the corpus"}\n')


def training(folder: Path) -> ExitStack:
    """Another process that trains in the same folder."""
    stack = ExitStack()
    stack.callback(stack.enter_context(_at_work(folder)).kill)
    return stack


def corpus(content: bytes, name: str = "corpus.jsonl") -> tuple[tuple[str, bytes], ...]:
    return ((name, content),)


def source(name: str) -> tuple[tuple[str, str], ...]:
    return (('"corpus.jsonl"', json.dumps(name)),)


def setting(key: str, value: str) -> tuple[str, ...]:
    return ("train", "plan.toml", "--quiet", "--set", f"{key}={value}")


_LINE = b'{"text": "the cat sat on the mat"}\n'

CASES = (
    Case("missing plan", (r"nosuch\.toml", "no such file", "plan.toml"), ("train", "nosuch.toml")),
    Case("plan is a folder", (r"plan\.toml", "is a folder"), before=_plan_folder),
    Case("plan is no TOML", (r"plan\.toml", "not valid TOML", "line 4"), plan=(("sources = [", "sources = = ["),)),
    Case("plan is not UTF-8", (r"plan\.toml", "utf-8"), files=corpus(b'name = "\xff"\n', "plan.toml")),
    Case(
        "plan is YAML",
        (r"plan\.yaml", r"\.toml or a \.json"),
        ("train", "plan.yaml"),
        files=corpus(b"a: 1\n", "plan.yaml"),
    ),
    Case("plan nested too deeply", (r"deep\.json",), ("train", "deep.json"), files=corpus(b"[" * 200_000, "deep.json")),
    Case(
        "wrong plan keys",
        (
            "3 problems",
            r"learner\.widhts: unknown key; did you mean 'widths'",
            r"run\.batch_tokens: .*64",
            "worker: unknown key",
        ),
        plan=(("widths", "widhts"), ("batch_tokens = 1024", "batch_tokens = 7"), ("workers", "worker")),
    ),
    Case("width 1 above level 0", (r"learner\.widths\[1\]", "use 2 or more"), setting("learner.widths", "[5,1,4]")),
    Case(
        "width 1 at level 0, whole documents",
        (r"learner\.widths\[0\]", "use 2 or more", "split"),
        setting("learner.widths", "[1]"),
    ),
    Case("width 0", (r"learner\.widths\[1\]", "greater than or equal to 1"), setting("learner.widths", "[5,0]")),
    Case(
        "absurd width",
        (r"learner\.widths\[0\]", "less than or equal"),
        setting("learner.widths", "[9223372036854775807]"),
    ),
    Case(
        "absurd batch",
        (r"run\.batch_tokens", "less than or equal"),
        setting("run.batch_tokens", "99999999999999999999"),
    ),
    Case("absurd number of workers", ("workers", "less than or equal"), setting("workers", "100000")),
    Case("no widths", (r"learner\.widths",), setting("learner.widths", "[]")),
    Case("unknown learner", (r"learner\.kind", "patterns"), setting("learner.kind", "pattern")),
    Case("bad --set", ("--set", "KEY=VALUE"), ("train", "plan.toml", "--set", "learner.widths")),
    Case("0 workers", ("workers", "greater than or equal to 1"), ("train", "plan.toml", "--workers", "0")),
    Case("plan name with a slash", ("a/b", "name"), setting("name", "a/b")),
    Case("too little memory", ("memory = 1 MiB", "Set memory to"), setting("memory", "1MiB")),
    Case("missing file", (r"corpus\.jsonl", "data.sources"), before=_no_corpus),
    Case("glob without a match", (r"nothing\*\.jsonl",), plan=source("nothing*.jsonl")),
    Case("folder without text files", ("pictures",), plan=source("pictures"), files=corpus(b"x", "pictures/a.png")),
    Case("unknown suffix", (r"a\.png", "jsonl"), plan=source("pictures/a.png"), files=corpus(b"x", "pictures/a.png")),
    Case("empty file", (r"no document", r"data\.sources"), files=corpus(b"")),
    Case(
        "nothing but blank documents",
        ("none of 2 documents", r"data\.sources"),
        files=corpus(b'{"text": ""}\n{"text": "  "}\n'),
    ),
    Case("binary file as jsonl", (r"corpus\.jsonl",), files=corpus(bytes(range(256)) * 50)),
    Case(
        "binary file as txt",
        (r"a\.txt",),
        plan=source("a.txt"),
        files=corpus(b"\x7fELF\x02\x01\x01\0\0\0" * 100, "a.txt"),
    ),
    Case(
        "invalid UTF-8 in jsonl",
        (r"corpus\.jsonl", "line 2|:2", "byte|offset"),
        files=corpus(_LINE + b'{"text": "caf\xe9 au lait"}\n'),
    ),
    Case(
        "invalid UTF-8 in txt",
        (r"a\.txt", "UTF-8", "byte|offset"),
        plan=source("a.txt"),
        files=corpus(b"the caf\xe9 is open\n", "a.txt"),
    ),
    Case(
        "JSON without the text field",
        (r"corpus\.jsonl", "'text'|\"text\"", "body"),
        files=corpus(b'{"body": "the cat sat"}\n{"body": "on it"}\n'),
    ),
    Case("broken JSON line", (r"corpus\.jsonl", "line 2|:2"), files=corpus(_LINE + b'{"text": "the cat\n' + _LINE)),
    Case(
        "deeply nested JSON line",
        (r"corpus\.jsonl", "line 2|:2"),
        files=corpus(_LINE + b'{"text": ' + b"[" * 100_000 + b"\n"),
    ),
    Case("text that is a number", (r"corpus\.jsonl", "text"), files=corpus(b'{"text": 7}\n' * 2)),
    Case(
        "text with half a surrogate",
        (r"corpus\.jsonl", "line 1|:1", "surrogate"),
        files=corpus(b'{"text": "the cat \\ud83d sat on it"}\n'),
    ),
    Case(
        "truncated gz",
        (r"a\.jsonl\.gz",),
        plan=source("a.jsonl.gz"),
        files=corpus(gzip.compress(GOOD.encode())[:-50], "a.jsonl.gz"),
    ),
    Case("no gz at all", (r"a\.jsonl\.gz",), plan=source("a.jsonl.gz"), files=corpus(_LINE, "a.jsonl.gz")),
    Case("no parquet at all", (r"a\.parquet",), plan=source("a.parquet"), files=corpus(_LINE, "a.parquet")),
    Case(
        "CSV without the column",
        (r"a\.csv", "body"),
        plan=source("a.csv"),
        files=corpus(b"body,n\nhello there,1\n", "a.csv"),
    ),
    Case("unknown tokenizer", ("gpt7", "gpt2"), setting("data.tokenizer", "gpt7")),
    Case("missing tokenizer.json", (r"my/tokenizer\.json",), setting("data.tokenizer", "my/tokenizer.json")),
    Case(
        "broken tokenizer.json",
        (r"tokenizer\.json",),
        setting("data.tokenizer", "tokenizer.json"),
        files=corpus(b"{}", "tokenizer.json"),
    ),
    Case("bad words pattern", ("words:",), setting("data.tokenizer", "words:(")),
    Case(
        "runs folder is a file", ("taken",), ("train", "plan.toml", "--runs-dir", "taken"), files=corpus(b"", "taken")
    ),
    Case(
        "datasets folder is a file",
        ("taken",),
        ("train", "plan.toml", "--datasets-dir", "taken"),
        files=corpus(b"", "taken"),
    ),
    Case(
        "runs folder cannot be written",
        ("/proc/runs", "choose another folder"),
        ("train", "plan.toml", "--runs-dir", "/proc/runs"),
    ),
    Case(
        "datasets folder cannot be written",
        ("/proc/sets", "choose another folder"),
        ("train", "plan.toml", "--datasets-dir", "/proc/sets"),
    ),
    Case("two runs on one directory", (r"process \d+ on", "training", "plan-001", "kill", "--new"), during=training),
    Case(
        "compaction during training",
        (r"process \d+ on", "training", "kill"),
        ("memory", "compact", "runs/plan-001"),
        during=training,
    ),
    Case("--resume without a run", ("no run of 'plan'", "--resume"), ("train", "plan.toml", "--resume")),
    Case(
        "fixed field changed on resume",
        (r"learner\.widths", r"\[5, 7\]", r"\[5, 6\]", "--new"),
        ("train", "plan.toml", "--resume", "--set", "run.epochs=100000", "--set", "learner.widths=[5,6]"),
        before=interrupted,
    ),
    Case(
        "sources changed on resume",
        ("other content in corpus.jsonl", "--new"),
        ("train", "plan.toml", "--resume", "--set", "run.epochs=100000"),
        before=_interrupted_then_changed,
    ),
    Case("no memory there", ("nowhere", "does not exist"), ("memory", "stats", "nowhere")),
    Case(
        "folder without a memory",
        ("holds no memory", "headway train"),
        ("memory", "stats", "."),
    ),
    Case("a file as memory", (r"corpus\.jsonl",), ("memory", "stats", "corpus.jsonl")),
    Case(
        "no such pattern",
        ("there is no pattern", "headway memory top"),
        ("memory", "show", "0" * 40, "runs/plan-001"),
        before=trained,
    ),
    Case(
        "no pattern name",
        ("not a pattern name", "40 hex digits"),
        ("memory", "show", "cat", "runs/plan-001"),
        before=trained,
    ),
    Case("no such level", ("level 7", "0 to 1"), ("memory", "top", "--level", "7", "runs/plan-001"), before=trained),
    Case(
        "export onto a folder",
        ("runs", "is a folder"),
        ("memory", "export", "--format", "csv", "--output", "runs", "runs/plan-001"),
        before=trained,
    ),
    Case("no such run", ("no run 'plan-007'", "plan-001"), ("runs", "show", "plan-007"), before=trained),
)


def said(case: Case, folder: Path) -> tuple[int, str]:
    """The exit code and the message a case ends with."""
    with prepared(case, folder):
        done = subprocess.run([*COMMAND, *case.arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr.replace(str(folder), "...").strip()


def large(folder: Path, megabytes: int = 200) -> str:
    """Train a corpus that is one line of so many megabytes."""
    sentence = b"the quick brown fox number %d jumps over the lazy dog and looks at star %d. "
    with (folder / "corpus.jsonl").open("wb") as file:
        file.write(b'{"text": "')
        written = number = 0
        while written < megabytes * 1_000_000:
            written += file.write(b"".join(sentence % (i, i * i % 9973) for i in range(number, number + 1000)))
            number += 1000
        file.write(b'"}\n')
    (folder / "plan.toml").write_text(PLAN.replace('"words"', '"gpt2"').replace("workers = 1\n", ""))
    began = time.monotonic()
    done = subprocess.run([*COMMAND, "train", "plan.toml", "--quiet"], cwd=folder, capture_output=True, text=True)
    check = subprocess.run([*COMMAND, "memory", "verify", "runs/plan-001"], cwd=folder, capture_output=True, text=True)
    said = (done.stdout + done.stderr + check.stdout + check.stderr).strip()
    return f"exit {done.returncode}, {check.returncode} after {time.monotonic() - began:.0f} s:\n{said}"


def main() -> None:
    """Run the command line."""
    # Its cases are of the kind defined here.
    import bad_poems

    parser = argparse.ArgumentParser(description="show what headway says to wrong input")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these cases (default: all)")
    parser.add_argument("--large", action="store_true", help="also a document of 200 MB on one line")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bad-input-") as name:
        folder = Path(name)
        for case in (*CASES, *bad_poems.CASES):
            if options.names and case.name not in options.names:
                continue
            shutil.rmtree(folder)
            folder.mkdir()
            code, message = said(case, folder)
            print(f"{case.name} -> exit {code}\n    " + message.replace("\n", "\n    "))
        if options.large:
            shutil.rmtree(folder)
            folder.mkdir()
            print(f"a document of 200 MB on one line -> {large(folder)}")


if __name__ == "__main__":
    main()
