"""Mistakes that can be made with an autoencoder; run them all with `python benchmarks/bad_input.py`."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bad_input import COMMAND, Case, Good, interrupted, lay_out, setting, training

_DRAW = random.Random(5)
WORDS = [f"{first}{last}" for first in "bdgklmnp" for last in ("a", "e", "in", "o")]


def _poem(lines: int = 4) -> str:
    return "\n".join(" ".join(_DRAW.choices(WORDS, k=5)) for _ in range(lines))


def poems(texts: list[str]) -> bytes:
    """A file of poems."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def vectors(words: list[str], numbers: int = 6) -> bytes:
    """A file of vectors."""
    rows = (f"{word} {' '.join(f'{_DRAW.gauss(0, 1):.4f}' for _ in range(numbers))}\n" for word in words)
    return "".join(rows).encode()


POEMS = [_poem() for _ in range(24)]
PLAN = """workers = 1
[data]
sources = ["poems.jsonl"]
[learner]
kind = "autoencoder"
vectors = "vectors.txt"
threads = 1
device = "cpu"
[learner.window]
size = 10
overlap = 2
[learner.model]
hidden = 8
code = 8
[run]
epochs = 2
batch_tokens = 128
"""
GOOD = Good(PLAN, (("poems.jsonl", poems(POEMS)), ("vectors.txt", vectors(WORDS))))


def _case(name: str, *says: str, **more: Any) -> Case:
    return Case(name, says, good=GOOD, **more)


def _settings(*changes: str) -> tuple[str, ...]:
    return ("train", "plan.toml", "--quiet", *(word for change in changes for word in ("--set", change)))


def _resume(*changes: str) -> tuple[str, ...]:
    return (*_settings("run.epochs=100000", *changes), "--resume")


@cache
def _once() -> TemporaryDirectory[str]:
    """A run that ended in the middle, saved; made once, since every session has to load torch."""
    made = TemporaryDirectory(prefix="bad-poems-")
    lay_out(_case("none"), Path(made.name))
    interrupted(Path(made.name))
    return made


def _interrupted(folder: Path) -> None:
    shutil.copytree(_once().name, folder, dirs_exist_ok=True)


def _without(module: str) -> Callable[[Path], ExitStack]:
    """As if a module were not installed, here and in processes that are started meanwhile."""

    def absent(folder: Path) -> ExitStack:
        hiding = folder / "hiding"
        hiding.mkdir()
        (hiding / f"{module}.py").write_text(
            f"raise ModuleNotFoundError(\"No module named '{module}'\", name='{module}')\n"
        )
        before = os.environ.get("PYTHONPATH")
        paths = os.pathsep.join([str(hiding)] + ([before] if before else []))
        stack = ExitStack()
        stack.enter_context(patch.dict(os.environ, {"PYTHONPATH": paths}))
        stack.enter_context(patch.dict(sys.modules, {module: None}))
        return stack

    return absent


def _file(name: str, content: bytes) -> dict[str, Any]:
    return {"files": ((name, content),)}


_PHASE = "{epochs = 3, teacher_forcing = 0.5}"
_EDGE = vectors(WORDS[:3]) + b"bo 0.1 0.2 0.3\n" + vectors(WORDS[4:])


def _nothing_held_out(folder: Path) -> None:
    sides = ("learner.split.test=0", "learner.split.valid=0.2", "learner.model.encoder=pca")
    subprocess.run([*COMMAND, *_settings(*sides)], cwd=folder, check=True, capture_output=True, timeout=300)


CASES = (
    _case(
        "no vectors for most words",
        r"only [\d,]+ of [\d,]+ learned words",
        r"vectors\.txt",
        r"learner\.coverage = 0\.5",
        **_file("vectors.txt", vectors(WORDS[:4])),
    ),
    _case("none of the words has a vector", r"vectors\.txt", **_file("vectors.txt", vectors(["other", "words"]))),
    _case("missing vector file", r"learner\.vectors: there is no", arguments=setting("learner.vectors", "nosuch.txt")),
    _case("vectors of other dimensions", r"vectors\.txt", "6", "7", arguments=setting("learner.dimensions", "7")),
    _case("broken row of vectors", r"vectors\.txt", r"row 4", **_file("vectors.txt", _EDGE)),
    _case("empty vector file", r"vectors\.txt", **_file("vectors.txt", b"")),
    _case("vectors are a folder that is no table", r"pictures", arguments=setting("learner.vectors", "pictures"),
          files=(("pictures/a.png", b"x"),)),
    _case("one poem only", "1 group", "3 sides", **_file("poems.jsonl", poems(POEMS[:1]))),
    _case("two poems for three sides", "2 groups", "3 sides", **_file("poems.jsonl", poems(POEMS[:2]))),
    _case("all poems the same", "1 group", "alike", **_file("poems.jsonl", poems(POEMS[:1] * 9))),
    _case("empty corpus of poems", "no document", r"data\.sources", **_file("poems.jsonl", b"")),
    _case("nothing but empty poems", "none of 3 documents", **_file("poems.jsonl", poems(["", " ", "\n"]))),
    _case(
        "a loss that is no number",
        r"gradients in a row were not finite",
        r"up to step \d+ \(epoch \d+, batch \d+\)",
        "checkpoint",
        arguments=_settings("learner.optimizer.learning_rate=1e38", "learner.optimizer.skips=3"),
    ),
    _case(
        "weights that are no numbers", r"after step \d+, epoch 1, batch 0", "diverged", "lower learning rate",
        arguments=setting("learner.optimizer.learning_rate", "1e38"),
    ),
    _case("torch is not installed", "needs PyTorch", r"pip install 'headway\[torch\]'", during=_without("torch")),
    _case("safetensors is not installed", "safetensors", r"headway\[torch\]", during=_without("safetensors")),
    _case("fp16 on a CPU", r"\.precision: fp16 needs a GPU", arguments=setting("learner.optimizer.precision", "fp16")),
    _case("two workers", "workers", "one process, not 2", "workers = 1", arguments=setting("workers", "2")),
    _case(
        "a loss of words without a token head", r"learner\.model\.token_head", "token",
        arguments=setting("learner.loss.kind", "token"),
    ),
    _case(
        "a token head that no loss trains", r"learner\.model\.token_head", "hybrid",
        arguments=setting("learner.model.token_head", "free"),
    ),
    _case(
        "a curriculum that does not add up", r"learner\.curriculum", "3 epochs", r"run\.epochs is 2",
        arguments=setting("learner.curriculum", f"[{_PHASE}]"),
    ),
    _case(
        "an unknown key in a curriculum", r"learner\.curriculum\[0\]\.ratio", "unknown key",
        arguments=setting("learner.curriculum", "[{epochs = 2, ratio = 0.5}]"),
    ),
    _case("a split that does not add up", r"learner\.split", r"1\.1", arguments=setting("learner.split.train", "0.9")),
    _case("documents cut into segments", r"data\.split", "whole", arguments=setting("data.split", "simple")),
    _case("a limit of documents", r"run\.documents", r"data\.documents", arguments=setting("run.documents", "5")),
    _case("overlap as long as a window", r"window\.overlap", arguments=setting("learner.window.overlap", "10")),
    _case(
        "heads that do not divide", r"learner\.model\.heads", "hidden = 8",
        arguments=_settings("learner.model.attention=code", "learner.model.heads=3"),
    ),
    _case("a code of one number", r"learner\.model\.code_norm", "none", arguments=setting("learner.model.code", "1")),
    _case(
        "warm-up longer than the run", r"learner\.schedule\.warmup", "2",
        arguments=setting("learner.schedule.kind", "warmup_cosine"),
    ),
    _case(
        "a tokenizer without signs for padding", r"data\.tokenizer", 'leave it at "verse"',
        arguments=setting("data.tokenizer", "words"),
    ),
    _case(
        "near words of made-up vectors", r"learner\.noise\.kind", "made-up",
        arguments=_settings("learner.noise.kind=synonym", "learner.vectors=random"),
    ),
    _case(
        "a skill to stop at that nothing measures", r"learner\.stop_at", "evaluate_every = 0",
        arguments=_settings("learner.stop_at=0.5", "learner.evaluate_every=0"),
    ),
    _case(
        "a linear code longer than a window", r"learner\.model\.code", "60", "lower it",
        arguments=_settings("learner.model.encoder=pca", "learner.model.code=64"),
    ),
    _case(
        "a misspelled encoder", r"learner\.model\.encoder", "did you mean 'lstm'",
        arguments=setting("learner.model.encoder", "lstn"),
    ),
    _case(
        "a misspelled setting", r"learner\.model\.bottlneck", "unknown key",
        arguments=setting("learner.model.bottlneck", "3"),
    ),
    _case(
        "no vectors named", r"learner\.vectors: missing", plan=(('vectors = "vectors.txt"\n', ""),),
    ),
    _case("two autoencoders in one folder", r"process \d+ on", "training", "plan-001", "--new", during=training),
    _case(
        "other widths on resume", r"learner\.model\.hidden: 8 when the run began, 16 now", "--new",
        arguments=_resume("learner.model.hidden=16"), before=_interrupted,
    ),
    _case(
        "other vectors on resume", r"learner\.vectors", "--new",
        arguments=_resume("learner.vectors=random"), before=_interrupted,
    ),
    _case(
        "damaged checkpoint", r"state\.safetensors", "damaged", r"--new|is whole",
        arguments=_resume(), before=lambda folder: _damage(folder, "checkpoints/*[0-9]/state.safetensors"),
    ),
    _case(
        "damaged vectors of a run", r"model/vectors\.npy", "restore it from a copy",
        arguments=_resume(), before=lambda folder: _damage(folder, "model/vectors.npy"),
    ),
    _case(
        "evaluating what nothing was held out for", "test", r"learner\.split\.test",
        arguments=("autoencoder", "evaluate", "runs/plan-001", "--side", "test"), before=_nothing_held_out,
    ),
)  # fmt: skip


def _damage(folder: Path, pattern: str) -> None:
    _interrupted(folder)
    for path in (folder / "runs" / "plan-001").glob(pattern):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 255]))
