"""The loss on held-out windows: from the code alone, and with true previous words, under names of their own."""

from __future__ import annotations

import torch

from headway.learners.autoencoder.codec import Still, parts
from headway.learners.autoencoder.config import LossSection
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.loss import Targets, losses
from headway.learners.autoencoder.model import Autoencoder
from headway.plan.values import Mean


def validation_losses(model: Autoencoder, section: LossSection, held: Corpus) -> dict[str, Mean]:
    """`valid_loss` free-running, and `valid_forced_loss` where the decoder reads previous words; never of training."""
    device = model.table.device
    free, forced, weight = (torch.zeros((), dtype=torch.float64, device=device) for _ in range(3))
    scored = model.unit.any(dim=1)
    with Still(model):
        for part in parts(held, device):
            targets = Targets(part.ids, part.weights * scored[part.ids], model.table, model.unit)
            seen = model.read(part.ids, part.lengths)
            alone = model.free(seen.z, part.lengths, seen.states)
            found = losses(section, alone, targets, seen.z, model.logits(alone))
            free, weight = free + found.total, weight + found.weight
            if model.takes_previous:
                given = model.decode(seen.z, model.previous(part.ids), seen.lengths, seen.states)
                forced = forced + losses(section, given, targets, seen.z, model.logits(given)).total
    whole = float(weight)
    told = {"valid_loss": Mean(float(free), whole)}
    return told | {"valid_forced_loss": Mean(float(forced), whole)} if model.takes_previous else told
