"""The table of learners; a fourth one is one line here and one folder."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from headway.data.dataset import Dataset
from headway.errors import PlanError
from headway.feed.layouts import Layout
from headway.learners.base import Learner, Setup
from headway.plan.plan import RunSection

_KINDS = {"patterns": "headway.learners.patterns", "autoencoder": "headway.learners.autoencoder"}


def kinds() -> Mapping[str, type]:
    """The plan section of every kind of learner."""
    return {kind: import_module(f"{package}.config").Section for kind, package in _KINDS.items()}


def layout(section: Any, dataset: Dataset, run: RunSection) -> Layout:
    """How a dataset becomes batches for a learner of this section."""
    return _module(section.kind, "layout").layout(section, dataset, run)


def make(setup: Setup) -> Learner:
    """The learner that a plan's section asks for."""
    return _module(setup.section.kind).make(setup)


def prepare(section: Any, dtype: Any = None) -> None:
    """Load and compile what a learner of this section needs for tokens of a type, once that is known."""
    _module(section.kind).prepare(section, dtype)


def _module(kind: str, name: str = "learner") -> Any:
    if kind not in _KINDS:
        raise PlanError("learner.kind", [f"unknown learner {kind!r}; known: {', '.join(sorted(_KINDS))}"])
    return import_module(f"{_KINDS[kind]}.{name}")
