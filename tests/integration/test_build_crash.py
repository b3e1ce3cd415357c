"""Killing a builder or its workers at any moment, and continuing, gives the bytes of a build that was left alone."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest
from made_runs import PATIENCE_SECONDS

SCRIPT = """
import sys
from pathlib import Path
from headway.data import build as module
from headway.data import site
from headway.data.config import DataSection

module.SHARD_BYTES = 40_000
site.BYTES_PER_HIRE.clear()
folder, cache, tokenizer, workers = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
section = DataSection(sources=("corpus.jsonl",), tokenizer=tokenizer, split="simple")
print("started", flush=True)
dataset = module.build(section, folder=folder, cache=cache, workers=workers)
print(dataset.folder)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crash")
    draw = random.Random(1)
    words = [f"word{number}" for number in range(5_000)]
    with (folder / "corpus.jsonl").open("w") as file:
        for _ in range(4_000):
            paragraphs = [" ".join(draw.choices(words, k=60)) for _ in range(3)]
            file.write(json.dumps({"text": "\n\n".join(paragraphs)}) + "\n")
    return folder


def start(folder, cache, tokenizer, workers):
    arguments = [str(folder), str(folder / cache), tokenizer, str(workers)]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def content(cache):
    (home,) = [path for path in cache.iterdir() if path.is_dir()]
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def children(process):
    try:
        return psutil.Process(process.pid).children()
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("tokenizer", ["words", "gpt2"])
def test_killing_builder_or_worker_anywhere_changes_no_byte(folder, tokenizer):
    alone = start(folder, f"{tokenizer}-alone", tokenizer, 1)
    assert alone.wait(PATIENCE_SECONDS) == 0, alone.stderr.read()
    draw, killed = random.Random(7), 0
    for attempt in range(12):
        builder = start(folder, f"{tokenizer}-killed", tokenizer, 2)
        builder.stdout.readline()
        # The first is killed at once, so that one is, however late this process has its turn.
        time.sleep(draw.uniform(0.0, 0.3 + 0.1 * attempt) if attempt else 0)
        victims = children(builder) if attempt % 2 else []
        if victims:
            # It may have ended since it was seen.
            with suppress(psutil.NoSuchProcess):
                victims[-1].send_signal(signal.SIGKILL)
            builder.wait(PATIENCE_SECONDS)
        elif builder.poll() is None:
            builder.kill()
        _, error = builder.communicate(timeout=PATIENCE_SECONDS)
        if builder.returncode == 0:
            break
        killed += 1
        assert builder.returncode == -signal.SIGKILL or "was killed by SIGKILL" in error, error

    assert killed > 0
    assert start(folder, f"{tokenizer}-killed", tokenizer, 2).wait(PATIENCE_SECONDS) == 0
    assert content(folder / f"{tokenizer}-killed") == content(folder / f"{tokenizer}-alone")
    assert not list((folder / f"{tokenizer}-killed").glob("*.partial"))


def test_no_worker_outlives_its_builder(folder):
    builder = start(folder, "orphans", "words", 3)
    builder.stdout.readline()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (workers := children(builder)) and builder.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    builder.kill()
    builder.communicate(timeout=PATIENCE_SECONDS)

    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
