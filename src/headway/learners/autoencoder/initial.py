"""The values a network starts with, all from one generator."""

from __future__ import annotations

import torch
from torch import Tensor, nn

CODE_GAIN = 0.1
_GATES = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}


class Gate(nn.Linear):
    """A linear map whose outputs are factors: they start with a deviation of about 1."""


class Code(nn.Linear):
    """A linear map to a code; it starts small."""


class Addition(nn.Linear):
    """A map that adds nothing at first: only what lies before it decides how it begins to grow."""


class Vector(nn.Module):
    """A learned vector."""

    def __init__(self, numbers: int) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.empty(numbers))


class Scores(nn.Module):
    """A learned addition to the score of each word, and what all are multiplied by; they start at 0 and `scale`."""

    def __init__(self, words: int, scale: float) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.empty(words))
        self.scale = nn.Parameter(torch.empty(()))
        self._first = scale

    def start(self) -> None:
        """Set both to where they start."""
        self.bias.zero_()
        self.scale.fill_(self._first)


_NORMS = (nn.LayerNorm, nn.BatchNorm1d)
_KNOWN = (nn.Linear, nn.LSTM, nn.GRU, nn.RNN, Vector, Scores, *_NORMS)


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Give every part of a network its initial values; a ValueError for a part that nobody thought of."""
    with torch.no_grad():
        for part in network.modules():
            _start(part, generator)
            own = [name for name, _ in part.named_parameters(recurse=False)]
            if own and not isinstance(part, _KNOWN):
                raise ValueError(f"{type(part).__name__} has parameters without initial values: {', '.join(own)}")


@torch.no_grad()
def spread_spans(network: nn.Module, span: int, generator: torch.Generator) -> None:
    """Have the cells of every LSTM keep what they hold over different times at first, from one token to `span`.

    With a forget-gate bias of 1 all of them have lost half of it after two tokens.
    """
    for part in network.modules():
        if isinstance(part, nn.LSTM):
            bias, hidden = part.get_parameter("bias_ih_l0"), part.hidden_size
            longer = torch.empty(hidden).uniform_(0, span - 1, generator=generator).log1p()
            bias[:hidden], bias[hidden : 2 * hidden] = -longer, longer


def _start(part: nn.Module, generator: torch.Generator) -> None:
    match part:
        case nn.LSTM() | nn.GRU() | nn.RNN():
            _start_recurrent(part, generator)
        case Addition():
            part.weight.zero_()
            part.bias.zero_()
        case Gate():
            # Position codes are cosines: their mean square is a half.
            part.weight.normal_(std=(2 / part.in_features) ** 0.5, generator=generator)
            part.bias.zero_()
        case nn.Linear():
            nn.init.xavier_uniform_(part.weight, CODE_GAIN if isinstance(part, Code) else 1.0, generator=generator)
            if getattr(part, "bias", None) is not None:
                part.bias.zero_()
        case Vector():
            part.values.normal_(generator=generator)
        case Scores():
            part.start()
        case nn.LayerNorm() | nn.BatchNorm1d():
            part.reset_parameters()
        case _:
            pass


def _start_recurrent(part: nn.LSTM | nn.GRU | nn.RNN, generator: torch.Generator) -> None:
    """Orthogonal recurrent and Xavier input weights, gate by gate; of the two biases of an LSTM, one holds the 1."""
    gates = _GATES[type(part)]
    for name, values in part.named_parameters(recurse=False):
        if name.startswith("bias"):
            values.zero_()
            continue
        for gate in values.chunk(gates):
            _start_gate(gate, recurrent=name.startswith("weight_hh"), generator=generator)
    if isinstance(part, nn.LSTM):
        forget = slice(part.hidden_size, 2 * part.hidden_size)
        part.get_parameter("bias_ih_l0")[forget] = 1.0


def _start_gate(gate: Tensor, *, recurrent: bool, generator: torch.Generator) -> None:
    if recurrent:
        nn.init.orthogonal_(gate, generator=generator)
    else:
        nn.init.xavier_uniform_(gate, generator=generator)
