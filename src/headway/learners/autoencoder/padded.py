"""Ragged windows as tensors: padded on the right to the longest of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headway.data.npy import Array, Ints


@dataclass(frozen=True, slots=True)
class Padded:
    """Some windows on a device."""

    ids: Tensor
    """int64[B, T], 0 for padding."""
    lengths: Tensor
    """int64[B]."""
    weights: Tensor
    """float32[B, T]: what each token counts in the loss."""
    tokens: int

    @property
    def places(self) -> int:
        """Tokens and padding."""
        return self.ids.numel()


def padded(ids: Array, starts: Ints, weights: Array, *, device: torch.device) -> Padded:
    """The windows ids[starts[i]:starts[i + 1]]."""
    lengths = np.diff(starts)
    inside = np.arange(int(lengths.max(initial=0)))[None, :] < lengths[:, None]
    rows, counts = np.zeros(inside.shape, np.int64), np.zeros(inside.shape, np.float32)
    low, high = int(starts[0]), int(starts[-1])
    rows[inside], counts[inside] = ids[low:high], weights[low:high]
    tensors = (torch.from_numpy(each).to(device, non_blocking=True) for each in (rows, lengths, counts))
    return Padded(*tensors, tokens=high - low)
