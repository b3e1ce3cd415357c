"""A trained model as evaluations and users take it: arrays in, arrays out, the same whatever the batches are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from headway.data.npy import Ints
from headway.learners.autoencoder.attention import inside
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.model import Autoencoder
from headway.learners.autoencoder.padded import Padded, padded
from headway.learners.autoencoder.words import Singles

_TOKENS = 8192


class NetworkCodec:
    """An Autoencoder in fp32 and without dropout."""

    def __init__(self, model: Autoencoder, *, longest: int) -> None:
        self.model = model
        self._longest = longest

    @property
    def name(self) -> str:
        """Its encoder and decoder."""
        section = self.model.section
        return f"{section.encoder} {section.layers} x {section.hidden}, {section.decoder} decoder"

    @property
    def code(self) -> int:
        """Numbers of a code."""
        return self.model.section.code

    @property
    def bypass(self) -> bool:
        """Whether states go past the code."""
        return not self.model.is_bottleneck

    def encode(self, corpus: Corpus) -> Singles:
        """The code of each window; where states go past it, they are the columns after it."""
        with Still(self.model):
            found = [self._codes(part) for part in parts(corpus, self.model.table.device)]
        return np.concatenate(found) if found else np.zeros((0, self.code), np.float32)

    def decode(self, codes: Singles, lengths: Ints) -> Singles:
        """Every token's vector from the code alone."""
        with Still(self.model):
            found = [self._free(codes[rows], lengths[rows]) for rows in _runs(lengths)]
        return np.concatenate(found) if found else np.zeros((0, self.model.table.shape[1]), np.float32)

    def forced(self, corpus: Corpus) -> Singles | None:
        """The same with the true previous words given; None where the decoder reads none."""
        if not self.model.takes_previous:
            return None
        with Still(self.model):
            found = [self._forced(part) for part in parts(corpus, self.model.table.device)]
        return np.concatenate(found)

    def _codes(self, part: Padded) -> Singles:
        seen = self.model.read(part.ids, part.lengths)
        if seen.states is None:
            return _array(seen.z)
        room = torch.zeros(len(seen.z), self._longest, seen.states.shape[2], device=seen.z.device)
        # What an encoder made of padding depends on the batch, and nothing looks at it.
        most = seen.states.shape[1]
        room[:, :most] = seen.states * inside(part.lengths, most)[..., None]
        return _array(torch.cat([seen.z, room.flatten(1)], dim=1))

    def _free(self, codes: Singles, lengths: Ints) -> Singles:
        device = self.model.table.device
        given, sizes = torch.from_numpy(codes.copy()).to(device), torch.from_numpy(lengths.copy()).to(device)
        z, states = given[:, : self.code], None
        if self.bypass:
            states = given[:, self.code :].unflatten(1, (self._longest, -1))[:, : int(lengths.max())]
        return _flat(self.model.free(z, sizes, states), lengths)

    def _forced(self, part: Padded) -> Singles:
        seen = self.model.read(part.ids, part.lengths)
        made = self.model.decode(seen.z, self.model.previous(part.ids), seen.lengths, seen.states)
        return _flat(made, part.lengths.cpu().numpy())


class Still:
    """Within this a model learns nothing and drops nothing."""

    def __init__(self, model: Autoencoder) -> None:
        self._model = model
        self._grad = torch.no_grad()

    def __enter__(self) -> None:
        self._was = self._model.training
        self._model.eval()
        self._grad.__enter__()

    def __exit__(self, *error: object) -> None:
        self._grad.__exit__(None, None, None)
        self._model.train(self._was)


def parts(corpus: Corpus, device: torch.device) -> Iterator[Padded]:
    """Windows as tensors, so many at a time; what a window only reads for context weighs nothing."""
    for windows in corpus.batches(_TOKENS):
        part = corpus.part(windows)
        yield padded(part.ids, part.starts, part.owned, device=device)


def _runs(lengths: Ints) -> Iterator[slice]:
    """Consecutive windows of about so many tokens together."""
    at = 0
    while at < len(lengths):
        low, most = at, int(lengths[at])
        while at < len(lengths) and (at == low or max(most, int(lengths[at])) * (at - low + 1) <= _TOKENS):
            most = max(most, int(lengths[at]))
            at += 1
        yield slice(low, at)


def _flat(outputs: Tensor, lengths: Ints) -> Singles:
    inside = np.arange(outputs.shape[1])[None, :] < lengths[:, None]
    return _array(outputs)[inside]


def _array(values: Tensor) -> Singles:
    return values.float().cpu().numpy()
