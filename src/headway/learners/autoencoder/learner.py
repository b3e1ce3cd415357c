"""The autoencoder as a learner: a batch of windows is one step, an evaluation comes at the end of an epoch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headway.errors import PlanError
from headway.learners.autoencoder.config import Section
from headway.learners.gradient.threads import quiet_waiting

if TYPE_CHECKING:
    from headway.learners.base import Learner, Setup


def make(setup: Setup) -> Learner:
    """The learner of a plan's section: a network, or the linear code that every network has to beat."""
    section: Section = setup.section
    if section.model.encoder == "pca":
        from headway.learners.autoencoder.linear import LinearLearner

        return LinearLearner(setup)
    prepare(section)
    from headway.learners.autoencoder.training import NetworkLearner

    return NetworkLearner(setup)


def prepare(section: Section, dtype: Any = None) -> None:
    """Load torch, once its threads are told to sleep while they wait; a PlanError where it is not installed."""
    del dtype
    if section.model.encoder == "pca":
        return
    quiet_waiting()
    try:
        for name in ("torch", "safetensors"):
            import_module(name)
    except ImportError as cause:
        problem = f"needs PyTorch, but {cause}; install it with: pip install 'headway[torch]'"
        raise PlanError("learner", [problem]) from cause
