"""Headway: train fast, predictably, exactly once."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headway.errors import DataError, HeadwayError, MemoryDamage, PlanError, RunError, TokenizerError

if TYPE_CHECKING:
    from headway.data.dataset import open_dataset
    from headway.learners.patterns.memory import open_memory
    from headway.plan.plan import Plan
    from headway.run.result import RunResult
    from headway.run.run import Run
    from headway.run.train import read_plan as load_plan
    from headway.run.train import train

    __version__: str

__all__ = [
    "DataError",
    "HeadwayError",
    "MemoryDamage",
    "Plan",
    "PlanError",
    "Run",
    "RunError",
    "RunResult",
    "TokenizerError",
    "__version__",
    "load_plan",
    "open_dataset",
    "open_memory",
    "train",
]

# Loaded at first use: `import headway` stays light, and a name costs only what it needs.
_WHERE = {
    "Plan": ("headway.plan.plan", "Plan"),
    "Run": ("headway.run.run", "Run"),
    "RunResult": ("headway.run.result", "RunResult"),
    "load_plan": ("headway.run.train", "read_plan"),
    "open_dataset": ("headway.data.dataset", "open_dataset"),
    "open_memory": ("headway.learners.patterns.memory", "open_memory"),
    "train": ("headway.run.train", "train"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("headway")
    if name not in _WHERE:
        raise AttributeError(f"module 'headway' has no attribute {name!r}")
    module, attribute = _WHERE[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
