"""What a run was made under: plan, data, machine and code, in names that two runs can be compared by."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from headway.durable import read_json
from headway.errors import DataError
from headway.machine.identity import machine_fingerprint
from headway.plan.fingerprint import DECIDED
from headway.run.facts import RunFacts
from headway.run.folders import RESOLVED

Part = Literal["plan", "data", "machine", "code"]
PARTS: tuple[Part, ...] = get_args(Part)
Conditions = Mapping[Part, Mapping[str, Any]]

# How a run is called makes no difference to it.
_NAMES = ("name", DECIDED)
_PASSING = ("memory_available_bytes", "python")
_SOURCES = "sources"


def settings(folder: Path) -> dict[str, Any] | None:
    """The settings of a run's plan by their dotted names; None where the plan cannot be read."""
    try:
        plan = read_json(folder / RESOLVED)
    except (DataError, OSError):
        return None
    if not isinstance(plan, dict):
        return None
    return dict(flat({name: value for name, value in plan.items() if name not in _NAMES}))


def conditions(known: RunFacts, plan: Mapping[str, Any] | None) -> Conditions:
    """All that is known of what a run was made under."""
    values = dict(plan or {})
    data = {name: values.pop(name) for name in list(values) if name.startswith("data.")}
    if known.workers is not None:
        values["workers"] = known.workers
    machine = {name: value for name, value in (known.machine or {}).items() if name not in _PASSING}
    return {
        "plan": values,
        "data": {"dataset": known.dataset, **data},
        "machine": {"fingerprint": machine_fingerprint(known.machine or {}), **dict(flat(machine))},
        "code": {"source": known.code, **(known.versions or {})},
    }


def digest(known: RunFacts, plan: Mapping[str, Any] | None) -> str | None:
    """Equal for runs made under the same conditions; None where it is not known what a run was."""
    if plan is None or known.dataset is None or known.plan is None:
        return None
    made = conditions(known, plan)
    # The same text under another path is the same data, and a machine is what its fingerprint says, and its system.
    data = {name: value for name, value in made["data"].items() if not name.startswith(f"data.{_SOURCES}")}
    machine = {name: made["machine"].get(name) for name in ("fingerprint", "os")}
    content = json.dumps([made["plan"], data, machine, made["code"]], sort_keys=True, default=str)
    return hashlib.blake2b(content.encode(errors="backslashreplace"), digest_size=16).hexdigest()


def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its dotted name; lists of plain values stay whole."""
    for name, value in values.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{path}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield from flat({str(i): item for i, item in enumerate(value)}, f"{path}.")
        else:
            yield path, value
