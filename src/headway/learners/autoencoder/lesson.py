"""What a batch teaches: its windows, and the gradients of all of them, in as many parts as the plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headway.data.dataset import Rows
from headway.feed.batch import Batch
from headway.learners.autoencoder.config import NoiseSection, Section
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.curriculum import Demand
from headway.learners.autoencoder.groundwork import Groundwork
from headway.learners.autoencoder.loss import Losses, Targets, losses
from headway.learners.autoencoder.model import Autoencoder
from headway.learners.autoencoder.neighbours import nearest_words
from headway.learners.autoencoder.noise import Noise
from headway.learners.autoencoder.padded import Padded, padded
from headway.learners.autoencoder.sampling import reconstruct, truths
from headway.learners.autoencoder.words import Kind
from headway.learners.gradient.precision import autocast


class Lesson:
    """Makes gradients of batches; what is random in them depends on seed, step, part and rank alone."""

    def __init__(self, section: Section, ground: Groundwork, model: Autoencoder, *, seed: int, rank: int = 0) -> None:
        self._section = section
        self._ground = ground
        self._model = model
        self._seed = seed
        self._rank = rank
        # What has no direction is no target of a cosine.
        self._is_target = ground.table.kinds != Kind.NOTHING
        self._near = _near(section.noise, ground, model)

    def windows(self, batch: Batch, asked: Demand) -> Corpus:
        """The windows of a batch in the ids that the model reads, without those that this phase leaves out."""
        found = self._ground.seen(Rows(batch.ids, batch.starts, None, batch.mask))
        if asked.longest is None or not len(found) or found.lengths.max() <= asked.longest:
            return found
        return found.part(np.flatnonzero(found.lengths <= asked.longest))

    def learn(
        self, windows: Corpus, asked: Demand, *, step: int, scale: Callable[[Tensor], Tensor]
    ) -> Iterator[tuple[Losses, Padded]]:
        """Add the gradients of a batch to the parameters, part by part, divided by the weight of all of it.

        Nothing comes where nothing of it is a target; with gradients in the parameters only what came is learned.
        """
        weights = self._weights(windows)
        weight = float(weights.sum())
        if not weight:
            return
        count = min(self._section.optimizer.accumulate, len(windows))
        edges = np.linspace(0, len(windows), count + 1).round().astype(int).tolist()
        for number, (low, high) in enumerate(pairwise(edges)):
            piece = padded(windows.ids, windows.starts[low : high + 1], weights, device=self._model.table.device)
            self._model.reseed(self._seed, step, number, self._rank)
            found = self._losses(piece, asked)
            scale(found.total / weight).backward()
            yield found, piece

    def _losses(self, piece: Padded, asked: Demand) -> Losses:
        section, model = self._section, self._model
        noise = None if section.noise.kind == "none" else Noise.at(section.noise, asked.epoch, self._near)
        with autocast(section.optimizer.precision, piece.ids.device):
            code = model.read(piece.ids, piece.lengths, noise)
            shape = (piece.ids.shape[0], piece.ids.shape[1])
            windows = section.unforced == "nothing"
            true = truths(asked.teacher_forcing, shape, model.draws, piece.ids.device, windows=windows)
            output = reconstruct(model, code, piece.ids, true, unforced=section.unforced)
            logits = model.logits(output)
        targets = Targets(piece.ids, piece.weights, model.table, model.unit)
        return losses(section.loss, output, targets, code.z, logits)

    def _weights(self, windows: Corpus) -> NDArray[np.float32]:
        counts = np.where(windows.owned, np.float32(1), np.float32(self._section.window.context_weight))
        return np.where(self._is_target[windows.ids], counts, np.float32(0))


def _near(noise: NoiseSection, ground: Groundwork, model: Autoencoder) -> Tensor | None:
    """The nearest words of each, for the noise that asks for them."""
    if noise.kind not in ("synonym", "semantic"):
        return None
    found = nearest_words(ground.table, ground.lexicon.learned > 0, count=noise.neighbours)
    return torch.from_numpy(found).to(model.table.device)
