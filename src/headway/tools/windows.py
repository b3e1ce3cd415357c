"""Windows of texts as a data set of torch, for programs with a loop and networks of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from headway.data.npy import Ints
from headway.data.vocabulary import Vocabulary
from headway.errors import DataError, PlanError
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.words import Singles
from headway.tools.loaders import CollateFunction
from headway.tools.prepared import SIDES, Settings, prepare

Item = dict[str, Tensor]


class AutoencoderDataset(Dataset[Item]):
    """One window an item: its ids, its vectors, and which of its tokens are its own and not context.

    Vectors are gathered from one table when a window is asked for; nothing is held a second time.
    """

    def __init__(self, corpus: Corpus, matrix: Singles, vocabulary: Vocabulary | None = None) -> None:
        if corpus.tokens and not 0 <= int(corpus.ids.min()) <= int(corpus.ids.max()) < len(matrix):
            raise DataError(
                f"the windows have ids from {corpus.ids.min()} to {corpus.ids.max()}, the table {len(matrix)} vectors"
            )
        self.corpus = corpus
        self.vocabulary = vocabulary
        self._table = torch.from_numpy(np.array(matrix, np.float32))

    @property
    def lengths(self) -> Ints:
        """The tokens of each window, as samplers ask for them."""
        return self.corpus.lengths

    @property
    def documents(self) -> Ints:
        """Which text each window is of."""
        return self.corpus.documents

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._table.shape[1]

    def __len__(self) -> int:
        """How many windows there are."""
        return len(self.corpus)

    def __getitem__(self, index: int) -> Item:
        """`input_sequences` and `target_sequences` [T, D], which are one tensor, `token_ids` and `owned` [T]."""
        number = range(len(self))[index]
        place = slice(int(self.corpus.starts[number]), int(self.corpus.starts[number + 1]))
        ids = torch.from_numpy(self.corpus.ids[place].astype(np.int64))
        vectors = self._table[ids]
        owned = torch.from_numpy(self.corpus.owned[place].copy())
        return {"input_sequences": vectors, "target_sequences": vectors, "token_ids": ids, "owned": owned}

    def collate(self, items: Sequence[Item]) -> Item:
        """Items side by side, padded on the right; `attention_mask` says where there is a token."""
        pad = CollateFunction()
        ids = pad([each["token_ids"] for each in items])
        vectors = pad([each["input_sequences"] for each in items]).ids
        return {
            "input_sequences": vectors,
            "target_sequences": vectors,
            "attention_mask": ids.mask,
            "token_ids": ids.ids,
            "owned": pad([each["owned"] for each in items]).ids,
            "lengths": ids.lengths,
        }


def load_dataset(
    path: Path | str, side: str = "train", data: Settings = None, *, output_dir: Path | str = "./results"
) -> AutoencoderDataset:
    """The windows of one side of some texts, divided and with vectors as a training would have them."""
    if side not in SIDES:
        raise PlanError("load_dataset", [f"side: should be one of {', '.join(SIDES)}, not {side!r}"])
    found = prepare(path, data, output_dir)
    rows: Any = getattr(found.ground.material, side)
    lexicon = found.ground.lexicon
    return AutoencoderDataset(found.ground.corpus(rows), lexicon.matrix, lexicon.vocabulary)
