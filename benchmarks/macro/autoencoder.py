"""Training an autoencoder against the loop everybody writes: speed, skill after equal data, memory, checkpoints."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.macro.harness import Conditions, Figures, Result, child, measure
from benchmarks.macro.material import CORPUS, Corpus

VECTORS = CORPUS / "glove.100d.txt"
# B: short texts of many lengths; A: long ones cut every fifty tokens.
SOURCES = {"B": "stanzas.jsonl", "A": "verse.jsonl"}
_EPOCHS = {"B": 4, "A": 1}
# What hardly varies.
_FEW_REPEATS = 3
# Larger batches take larger steps, which shrink towards the end; the naive loop keeps the rate it was published with.
_RATE, _SCHEDULE = 1e-3, {"kind": "polynomial"}
_CODES, _QUALITY_EPOCHS = (64, 128, 256), 12
# The model of the naive loop, and a larger one of its kind.
NAIVE = {"encoder": "lstm", "decoder": "recurrent", "hidden": 512}
_OURS = {**NAIVE, "span": 50}
_LARGE = {**_OURS, "layers": 2, "code": 128}
_NEVER_SECONDS, _OFTEN_SECONDS, _STALL_SECONDS = 1e6, 5.0, 30.0
_SAYS = (
    "naive: windows padded to 50, all vectors gathered before, batch 16, a call of the decoder for each token, half of "
    "its inputs true words, Adam at 2.5e-4, fp32. headway: the same layers, loss and data by headway.train, 64 windows "
    "a batch, a rate that falls from 1e-3 to 0, gates that start with spans up to 50 tokens; half of the windows read "
    "no words while they are written; two passes: half of the inputs are its own predictions instead. "
    "train_seconds is from the first batch to the last save, without evaluation; skill is that of held-out windows "
    "from the code alone, by one evaluation for both; every repeat has a seed of its own. B: stanzas and verses; A: "
    "long poems cut every 50 tokens. One thread."
)
# What is tried, not measured, is so much smaller.
_TRIAL_DOCUMENTS, _TRIAL_SHARE = 100, 0.1

Variants = dict[str, Callable[[], Figures]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """What a plan of ours says otherwise than by default."""

    epochs: int = 1
    precision: str = "fp32"
    unforced: str = "nothing"
    threads: int = 1
    seed: int = 0
    save_every: float = _NEVER_SECONDS
    mode: str = "async"
    evaluated: bool = True
    """At the end; never before."""
    model: dict[str, Any] = field(default_factory=lambda: dict(_OURS))

    def plan(self, data: dict[str, Any], vectors: Path) -> dict[str, Any]:
        """As a mapping."""
        return {
            "name": "macro",
            "data": data,
            "learner": {
                "kind": "autoencoder",
                "vectors": str(vectors),
                "optimizer": {"kind": "adam", "learning_rate": _RATE, "precision": self.precision},
                "schedule": _SCHEDULE,
                "teacher_forcing": 0.5,
                "unforced": self.unforced,
                "evaluate_every": self.epochs if self.evaluated else 0,
                "checkpoints": {"mode": self.mode},
                "threads": self.threads,
                "device": "cpu",
                "model": self.model,
            },
            "run": {"epochs": self.epochs, "save_every": self.save_every, "seed": self.seed},
        }


def autoencoder_speed(conditions: Conditions, material: Corpus) -> Result:
    """Sequences a second in equal data, in one thread, with what either has learned by then."""
    del material
    homes = {lengths: _Home(conditions, lengths) for lengths in SOURCES}
    variants: Variants = {}
    for lengths, home in homes.items():
        epochs = _EPOCHS[lengths]
        variants[f"{lengths}: naive"] = home.naive_seeds(epochs=epochs)
        variants |= {f"{lengths}: {kind}": home.seeds(Ours(epochs=epochs, precision=kind)) for kind in ("fp32", "bf16")}
    for kind in ("fp32", "bf16"):
        given = Ours(precision=kind, unforced="predictions", evaluated=False)
        variants[f"B: {kind}, two passes"] = homes["B"].seeds(given)
    result = measure("autoencoder_speed", _SAYS, variants, conditions)
    result.facts = {lengths: home.facts for lengths, home in homes.items()} | {"epochs": _EPOCHS}
    return result


def autoencoder_quality(conditions: Conditions, material: Corpus) -> Result:
    """What codes of several sizes keep of verse, beside what a line of the same size keeps."""
    del material
    home, threads = _Home(conditions, "A"), os.cpu_count() or 1
    variants: Variants = {}
    for model, codes in (({}, _CODES), (NAIVE, _CODES[:1])):
        for code in codes:
            made = {**model, "code": code}
            given = Ours(epochs=_QUALITY_EPOCHS, precision="bf16", threads=threads, model=made)
            name = f"{model.get('encoder', 'as by default')}, code {code}"
            variants[name] = home.seeds(given)
    says = (
        "long poems cut every 50 tokens, split by poem; skill of held-out windows from the code alone; linear_skill is "
        "that of PCA with as many numbers on the same windows; every repeat has a seed of its own, one split for all"
    )
    repeats = min(conditions.repeats, _FEW_REPEATS)
    result = measure("autoencoder_quality", says, variants, conditions, repeats=repeats)
    result.facts = {"A": home.facts, "epochs": _QUALITY_EPOCHS}
    return result


def autoencoder_memory(conditions: Conditions, material: Corpus) -> Result:
    """The most memory a process holds that trains, from its own start to its end."""
    del material
    wide = conditions.scratch / "glove.300d.txt"
    _widen(VECTORS, wide, times=3)
    variants: Variants = {}
    homes = {100: _Home(conditions, "A"), 300: _Home(conditions, "A", vectors=wide)}
    for numbers, home in homes.items():
        once: dict[str, Any] = {"epochs": 1}
        variants[f"naive, {numbers} numbers"] = partial(home.naive, once, evaluate=False, hold=True)
        variants[f"naive, {numbers} numbers, words at hand"] = partial(home.naive, once, evaluate=False)
        variants[f"headway, {numbers} numbers"] = partial(home.ours, Ours(), fresh=True)
    says = (
        "naive holds the vectors of the whole file in a dict and all windows as float32; words at hand: the windows "
        "alone, vectors of their words come from our table. headway reads texts and vector file, splits, trains, saves "
        "and evaluates in its process. Vectors of 300 numbers are those of 100 three times over: as large as the file "
        "that most people use. start_rss_bytes is held once modules are loaded."
    )
    repeats = min(conditions.repeats, _FEW_REPEATS)
    result = measure("autoencoder_memory", says, variants, conditions, repeats=repeats)
    result.facts = {str(numbers): home.facts for numbers, home in homes.items()}
    wide.unlink()
    return result


def checkpoint_stall(conditions: Conditions, material: Corpus) -> Result:
    """How long a save holds up the training, and what saves cost altogether."""
    del material
    home = _Home(conditions, "A")

    def saving(every: float, mode: str = "async") -> Figures:
        given = Ours(epochs=10_000, evaluated=False, save_every=every, mode=mode, model=_LARGE)
        return home.ours(given, seconds=_STALL_SECONDS)

    variants: Variants = {
        "none": partial(saving, _NEVER_SECONDS),
        "each 5 s": partial(saving, _OFTEN_SECONDS),
        "each 5 s, sync": partial(saving, _OFTEN_SECONDS, "sync"),
    }
    says = (
        "a model of two layers and a code of 128, stopped as by Ctrl-C after 30 seconds of steps; the span save is "
        "what each save blocks, the last one included; steady_sequences_per_second leaves out start and end; what one "
        "a minute costs is a twelfth of what one each 5 s does, which alone is large enough to be measured"
    )
    result = measure("checkpoint_stall", says, variants, conditions)
    result.facts = {"A": home.facts}
    return result


class _Home:
    """One set of texts with its windows, for both sides."""

    def __init__(self, conditions: Conditions, lengths: str, *, vectors: Path = VECTORS) -> None:
        self._vectors = vectors
        self._scratch = conditions.scratch
        self._trial = conditions.megabytes is not None
        self._data: dict[str, Any] = {"sources": [str(CORPUS / SOURCES[lengths])]}
        if self._trial:
            self._data["documents"] = _TRIAL_DOCUMENTS
        self._material = conditions.scratch / f"windows-{lengths}-{vectors.stem}"
        shutil.rmtree(self._material, ignore_errors=True)
        self._material.mkdir()
        given = {
            "plan": Ours().plan(self._data, vectors),
            "folder": str(self._material),
            "datasets": str(self._scratch / "datasets"),
        }
        self.facts = child("autoencoder_material", given)

    def naive_seeds(self, **settings: Any) -> Callable[[], Figures]:
        """The naive loop, every time with another seed."""
        seeds = itertools.count()
        return lambda: self.naive({**settings, "seed": next(seeds)})

    def seeds(self, given: Ours) -> Callable[[], Figures]:
        """`headway.train`, every time with another seed."""
        seeds = itertools.count()
        return lambda: self.ours(replace(given, seed=next(seeds)))

    def naive(self, settings: dict[str, Any], *, evaluate: bool = True, hold: bool = False) -> Figures:
        """The naive loop in a fresh process; it may `hold` all vectors of the file, as it would have read them."""
        into = self._scratch / "naive"
        given: dict[str, Any] = {"material": str(self._material), "into": str(into), "evaluate": evaluate}
        given |= {"settings": settings} | ({"vectors": str(self._vectors)} if hold else {})
        try:
            return child("autoencoder_naive", given)
        finally:
            shutil.rmtree(into, ignore_errors=True)

    def ours(self, given: Ours, *, seconds: float | None = None, fresh: bool = False) -> Figures:
        """`headway.train` in a fresh process; with datasets and tables made before unless `fresh`."""
        runs, datasets = self._scratch / "runs", self._scratch / ("fresh" if fresh else "datasets")
        asked: dict[str, Any] = {
            "plan": given.plan(self._data, self._vectors),
            "runs": str(runs),
            "datasets": str(datasets),
        }
        if seconds is not None:
            asked["seconds"] = seconds * (_TRIAL_SHARE if self._trial else 1)
        try:
            return child("autoencoder_train", asked)
        finally:
            shutil.rmtree(runs, ignore_errors=True)
            shutil.rmtree(self._scratch / "fresh", ignore_errors=True)


def _widen(source: Path, target: Path, *, times: int) -> None:
    """The same words with their numbers several times over."""
    with source.open(encoding="utf-8", newline="\n") as rows, target.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            word, _, numbers = row.rstrip("\n").partition(" ")
            file.write(" ".join([word, *[numbers] * times]) + "\n")
