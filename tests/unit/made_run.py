"""Runs of small autoencoders, trained by the command line as anybody trains one."""

import json
from pathlib import Path

import numpy as np

from headway.cli.main import main

WORDS = [f"w{number}" for number in range(40)]
PLAN = """
workers = 1
memory = "2GiB"
[data]
sources = ["poems.json"]
[learner]
kind = "autoencoder"
vectors = "vectors.txt"
threads = 1
[learner.window]
size = 12
overlap = 3
[learner.split]
train = 0.7
valid = 0.2
test = 0.1
[learner.model]
hidden = 16
code = 4
[run]
epochs = 2
batch_tokens = 256
"""


def poems(count: int = 24, *, seed: int = 0) -> list[str]:
    """Texts of a few lines; every text has words that it prefers, so that there is something to learn."""
    draw = np.random.default_rng(seed)
    return [_poem(draw) for _ in range(count)]


def trained(folder: Path, *changes: str, name: str = "poems") -> Path:
    """The run folder of a plan with some changes, such as `learner.model.encoder="pca"`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "poems.json").write_text(json.dumps([{"text": text} for text in poems()]))
    _write_vectors(folder / "vectors.txt")
    (folder / f"{name}.toml").write_text(PLAN)
    folders = ["--runs-dir", str(folder / "runs"), "--datasets-dir", str(folder / "datasets")]
    changed = [word for change in changes for word in ("--set", change)]
    assert main(["train", str(folder / f"{name}.toml"), "--quiet", *folders, *changed]) == 0
    return folder / "runs" / f"{name}-001"


def _poem(draw: np.random.Generator) -> str:
    own = draw.choice(WORDS, size=4)
    lines = [" ".join(draw.choice(own if draw.random() < 0.6 else WORDS) for _ in range(6)) for _ in range(4)]
    return "\n".join(lines)


def _write_vectors(path: Path) -> None:
    """A vector for every word but the last."""
    draw = np.random.default_rng(1)
    rows = [f"{word} {' '.join(f'{value:.4f}' for value in draw.normal(size=8) + 0.4)}" for word in WORDS[:-1]]
    path.write_text("\n".join(rows) + "\n")
