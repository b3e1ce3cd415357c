"""The verbs of the autoencoder's experiments; `child.py` runs them in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

# What a run does with its batches; evaluating and starting are told apart.
_AT_WORK = ("wait", "step", "save", "settle")
_SIDES = ("train", "valid")


def autoencoder_material(given: dict[str, Any]) -> dict[str, Any]:
    """Write what a plan would learn from, as arrays: the same windows, sides and vectors for everybody."""
    import numpy as np

    from headway.learners.autoencoder.groundwork import groundwork
    from headway.learners.base import Setup
    from headway.plan.load import plan_from
    from headway.plan.values import Place
    from headway.run.building import plan_dataset
    from headway.run.stop import Stop
    from headway.run.train import plan_kinds

    plan = plan_from(given["plan"], folder=Path(), kinds=plan_kinds())
    folder = Path(given["folder"])
    dataset = plan_dataset(plan, Path(given["datasets"]), listeners=(), stop=Stop(), run=None)
    ground = groundwork(Setup(plan.learner, dataset, folder, Place(), 1 << 30, run=plan.run))
    sides = {name: ground.corpus(getattr(ground.material, name)) for name in _SIDES}
    for name, side in sides.items():
        for part in ("ids", "starts", "owned", "documents"):
            np.save(folder / f"{name}-{part}.npy", getattr(side, part))
    lengths = sides["train"].lengths
    return {
        "documents": dataset.documents,
        "tokens": dataset.tokens,
        "sides": {name: {"windows": len(side), "tokens": side.tokens} for name, side in sides.items()},
        "lengths": {f"{percent}%": float(np.percentile(lengths, percent)) for percent in (0, 10, 25, 50, 75, 90, 100)},
        "mean_length": float(lengths.mean()),
        "found": ground.lexicon.facts.found,
    }


def autoencoder_naive(given: dict[str, Any]) -> dict[str, Any]:
    """The naive loop; with `vectors` it holds the whole file in a dict while it trains, as it would have read it."""
    from naive_autoencoder import Settings, perform

    before = _peak()
    held = _in_dict(Path(given["vectors"])) if "vectors" in given else {}
    into = Path(given["into"])
    into.mkdir(parents=True, exist_ok=True)
    figures = perform(Path(given["material"]), Settings(**given["settings"]), into=into, evaluate=given["evaluate"])
    renamed = {"train_seconds": figures.pop("seconds"), "train_peak_rss_bytes": figures.pop("peak_rss_bytes")}
    return figures | renamed | {"start_rss_bytes": before, "words_held": len(held)}


def autoencoder_train(given: dict[str, Any]) -> dict[str, Any]:
    """`headway.train` on a plan, stopped after so many seconds of learning if that is given."""
    import headway
    import headway.learners.autoencoder.learner
    from headway.plan.load import plan_from
    from headway.record.record import read_record
    from headway.run.folders import RECORD
    from headway.run.train import plan_kinds

    before, used = _peak(), time.process_time()
    plan = plan_from(given["plan"], folder=Path(), kinds=plan_kinds())
    listeners = (_StopAfter(given["seconds"]),) if "seconds" in given else ()
    result = headway.train(
        plan, runs_dir=given["runs"], datasets_dir=given["datasets"], mode="new", listeners=listeners
    )
    used, peak = time.process_time() - used, _peak()
    events = list(read_record(result.folder / RECORD))
    return {
        **_worked(events),
        "cpu_seconds": used,
        "start_rss_bytes": before,
        "train_peak_rss_bytes": peak,
        "state_bytes": _state_bytes(result.folder),
        "checkpoints": result.totals.get("checkpoints"),
        "run": str(result.folder),
        **_last_evaluation(events),
    }


class _StopAfter:
    """Ask for the end as Ctrl-C does, so many seconds after the first step."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        self._timer.daemon = True

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "step" and not self._timer.is_alive() and not self._timer.finished.is_set():
            self._timer.start()


def _worked(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What was learned and where the time went, from the record."""
    steps = [event for event in events if event["event"] == "step"]
    spans = _spans(events)
    return {
        "train_seconds": sum(spans.get(name, {}).get("seconds", 0.0) for name in _AT_WORK),
        "steps": sum(step["steps"] for step in steps),
        "sequences": sum(_metric(step, "sequences") for step in steps),
        "tokens": sum(step["tokens"] for step in steps),
        "steady_sequences_per_second": _steady(steps),
        "spans": spans,
        "metrics": sorted(set(chain.from_iterable(step["metrics"] for step in steps))),
    }


def _spans(events: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for event in events:
        if event["event"] == "spans":
            for name, one in event["spans"].items():
                known = found.setdefault(name, {"count": 0, "seconds": 0.0, "max": 0.0})
                known["count"] += one["count"]
                known["seconds"] += one["seconds"]
                known["max"] = max(known["max"], one["max"])
    return found


def _steady(steps: list[dict[str, Any]]) -> float | None:
    """Sequences a second from the first line of steps to the last, saves between them included."""
    if len(steps) < 3:
        return None
    seconds = steps[-1]["time"] - steps[0]["time"]
    return sum(_metric(step, "sequences") for step in steps[1:]) / seconds


def _metric(step: Mapping[str, Any], name: str) -> float:
    value = step["metrics"][name]
    return value[0] if isinstance(value, list) else value


def _last_evaluation(events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for event in events:
        if event["event"] == "evaluated":
            found = {
                name: value[0] / value[1] if isinstance(value, list) else value
                for name, value in event["metrics"].items()
            }
    return found


def _state_bytes(run: Path) -> int:
    """What one checkpoint takes."""
    return max((path.stat().st_size for path in run.glob("checkpoints/*/state.safetensors")), default=0)


def _in_dict(path: Path) -> dict[str, Any]:
    import numpy as np

    table: dict[str, Any] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            word, *numbers = line.split(" ")
            table[word] = np.asarray(numbers, dtype=np.float32)
    return table


def _peak() -> int:
    from naive_autoencoder import peak_rss

    return peak_rss()


VERBS = (autoencoder_material, autoencoder_naive, autoencoder_train)
