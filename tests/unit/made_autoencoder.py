"""Small autoencoders and windows for tests."""

from typing import Any

import torch
from torch import Tensor

from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.model import Autoencoder

torch.set_num_threads(1)

WORDS = 30
DIMENSIONS = 8
FIRST = 7
LENGTHS = torch.tensor([6, 2, 5])


def table(*, seed: int = 0) -> Tensor:
    """Vectors of some words; padding has none."""
    made = torch.randn(WORDS, DIMENSIONS, generator=torch.Generator().manual_seed(seed))
    made[0] = 0
    return made


def section(**settings: Any) -> ModelSection:
    """A small model, but for what is said."""
    usual: dict[str, Any] = {"encoder": "lstm", "decoder": "recurrent", "hidden": 16, "code": 4}
    return ModelSection(**{**usual, "slots": 3, "dropout": 0.0, **settings})


def model(*, seed: int = 0, **settings: Any) -> Autoencoder:
    """A small autoencoder."""
    return Autoencoder(section(**settings), table(), generator=torch.Generator().manual_seed(seed))


def windows(*, seed: int = 0) -> Tensor:
    """Ids of windows of LENGTHS, padded on the right."""
    ids = torch.randint(FIRST, WORDS, (len(LENGTHS), int(LENGTHS.max())), generator=torch.Generator().manual_seed(seed))
    return torch.where(torch.arange(ids.shape[1]) < LENGTHS[:, None], ids, 0)


def alive(made: Autoencoder, *, seed: int = 5) -> Autoencoder:
    """The same with every parameter away from where it starts: nothing passes by being zero."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in made.parameters():
            each.add_(0.3 * torch.randn(each.shape, generator=draw))
    return made
