"""Ragged windows as tensors."""

import numpy as np
import torch

from headway.learners.autoencoder.padded import padded

IDS = np.array([9, 5, 6, 7, 8, 4], np.int64)
WEIGHTS = np.array([9, 0.5, 1, 1, 0, 1], np.float32)
CPU = torch.device("cpu")


def test_windows_are_padded_on_the_right_to_the_longest_of_them() -> None:
    found = padded(IDS, np.array([1, 4, 6]), WEIGHTS, device=CPU)

    assert found.ids.tolist() == [[5, 6, 7], [8, 4, 0]]
    assert found.lengths.tolist() == [3, 2]
    assert found.ids.dtype == found.lengths.dtype == torch.int64


def test_every_token_keeps_its_weight_and_padding_has_none() -> None:
    found = padded(IDS, np.array([1, 4, 6]), WEIGHTS, device=CPU)

    assert found.weights.tolist() == [[0.5, 1, 1], [0, 1, 0]]
    assert found.weights.dtype == torch.float32


def test_tokens_and_places_are_counted() -> None:
    found = padded(IDS, np.array([1, 4, 6]), WEIGHTS, device=CPU)

    assert (found.tokens, found.places) == (5, 6)


def test_no_windows_are_an_empty_tensor() -> None:
    found = padded(IDS, np.array([0]), WEIGHTS, device=CPU)

    assert found.ids.shape == (0, 0)
    assert (found.tokens, found.places) == (0, 0)
