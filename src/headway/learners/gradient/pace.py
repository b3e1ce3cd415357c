"""How many threads a run computes with: that decides how sums round, so it is settled once and kept with the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from headway.durable import read_json, replace_json, write_errors
from headway.errors import RunError
from headway.learners.gradient.threads import choose


def pace(path: Path, *, given: int | None, trial: Callable[[], object] | None) -> int:
    """Set the threads of this process: as given, as an earlier session found, or as a trial finds now.

    What a trial found is kept at `path`; without one, torch's own number stays.
    """
    known = given if given is not None else _known(path)
    if known is not None:
        torch.set_num_threads(known)
        return known
    if trial is None:
        return torch.get_num_threads()
    choice = choose(trial)
    with write_errors(path, kept="nothing was learned yet"):
        replace_json(path, {"threads": choice.threads, "seconds": {str(n): s for n, s in choice.seconds.items()}})
    return choice.threads


def _known(path: Path) -> int | None:
    if not path.is_file():
        return None
    value: Any = read_json(path)
    threads = value.get("threads") if isinstance(value, dict) else None
    if type(threads) is not int or threads < 1:
        raise RunError(f"{path} names no number of threads; remove it to measure again, or set learner.threads")
    return threads
