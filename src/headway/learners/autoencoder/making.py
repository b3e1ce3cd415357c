"""The model of a run: new on its device, or with the weights of a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from headway.errors import RunError
from headway.learners.autoencoder.config import Section
from headway.learners.autoencoder.model import Autoencoder
from headway.learners.gradient.state import State

CHECKPOINTS = "checkpoints"


def device_of(wanted: str) -> torch.device:
    """The device a plan asks for; a RunError where there is none."""
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise RunError("learner.device: torch sees no GPU here; set device to auto or cpu")
    return torch.device("cuda" if there and wanted != "cpu" else "cpu")


def made_model(section: Section, matrix: np.ndarray[Any, Any], *, seed: int, device: torch.device) -> Autoencoder:
    """The model of a section before it has learned anything."""
    generator = torch.Generator().manual_seed(seed)
    return Autoencoder(section.model, torch.from_numpy(np.ascontiguousarray(matrix)), generator=generator).to(device)


def load_weights(model: Autoencoder, state: State) -> None:
    """Put saved weights into a model, in place; a RunError where they are of another one."""
    try:
        model.load_state_dict(dict(state.tensors))
    except RuntimeError as cause:
        first = next((line.strip() for line in str(cause).splitlines()[1:]), str(cause))
        raise RunError(f"the checkpoint is of another model ({first}); restore the plan it was trained with") from cause
