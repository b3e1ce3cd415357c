"""Scheduled sampling with no step-by-step loop: some inputs are not the true word before.

They are the decoder's own predictions, made by a pass of their own, or nothing, which needs none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headway.learners.autoencoder.config import Unforced
from headway.learners.autoencoder.draws import Draws
from headway.learners.autoencoder.model import Autoencoder
from headway.learners.autoencoder.network import Encoded, Network


def truths(
    ratio: float, shape: tuple[int, int], draws: Draws, device: torch.device, *, windows: bool = False
) -> Tensor | None:
    """bool[B, T]: where the true previous word is read; None for everywhere. At 0 and 1 nothing is drawn.

    Each place has a coin of its own, or each of the `windows` has one.
    """
    if ratio >= 1:
        return None
    if ratio <= 0:
        return torch.zeros(shape, dtype=torch.bool, device=device)
    coins = (shape[0], 1) if windows else shape
    return (draws.uniform(coins, device) < ratio).expand(shape)


def reconstruct(
    model: Autoencoder, code: Encoded, ids: Tensor, true: Tensor | None, *, unforced: Unforced = "predictions"
) -> Tensor:
    """float[B, T, D]: the decoder's output where true words are read as `true` says, and something else elsewhere.

    Predictions come from a first pass over true words; no gradient flows through them, and nothing is dropped in it.
    A decoder that reads no previous words runs once, and so does one that is given nothing.
    """
    return rewrite(model.network, code, model.previous(ids), true, unforced=unforced)


def rewrite(
    network: Network, code: Encoded, inputs: Tensor, true: Tensor | None, *, unforced: Unforced = "predictions"
) -> Tensor:
    """`reconstruct` for inputs that are vectors already: what `Network.previous` made of true ones."""
    if true is not None and network.takes_previous:
        own = _predictions(network, code, inputs) if unforced == "predictions" else network.unread(inputs)
        read = torch.where(true[:, 1:, None], inputs[:, 1:], own[:, :-1].to(inputs.dtype))
        inputs = torch.cat([inputs[:, :1], read], dim=1)
    return network.decode(code, inputs)


@torch.no_grad()
def _predictions(network: Network, code: Encoded, inputs: Tensor) -> Tensor:
    kind = inputs.device.type
    # Weights that autocast keeps from a pass without gradient would have none in the next one.
    with (
        network.silent(),
        torch.autocast(kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind), cache_enabled=False),
    ):
        return network.decode(code, inputs)
