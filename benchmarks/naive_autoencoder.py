"""The autoencoder's training as everybody writes it, to be measured against.

    python benchmarks/naive_autoencoder.py MATERIAL [--epochs 2] [--device cuda] [--threads 1]

Every window is padded to the same length and its vectors are gathered before the first step; the decoder is called
once for each token, with one coin a step for teacher forcing; plain Adam in fp32; a value is fetched from the device
whenever one is wanted; `torch.save` while everything waits. The model is that of `headway.learners.autoencoder` with an
LSTM of one layer: equal layers, equal first weights, equal loss. MATERIAL is what the verb `autoencoder_material` of
`benchmarks.macro.child` writes, so that both learn from and are judged by the same windows.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from headway.learners.autoencoder.config import ModelSection
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.groundwork import MODEL
from headway.learners.autoencoder.lexicon import Lexicon, load_lexicon
from headway.learners.autoencoder.network import Network

Batch = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The defaults are those of the program this loop is modelled on."""

    epochs: int = 1
    batch: int = 16
    longest: int = 50
    learning_rate: float = 2.5e-4
    weight_decay: float = 1e-5
    teacher_forcing: float = 0.5
    clip: float = 1.0
    hidden: int = 512
    code: int = 64
    dropout: float = 0.1
    mse_weight: float = 0.1
    code_l2: float = 1e-3
    save_every: int = 5
    """Epochs; the last one is saved as well."""
    seed: int = 0
    device: str = "cpu"
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Figures:
    """What a training took, its evaluation not included."""

    seconds: float
    """From the first batch to the last save."""
    prepare_seconds: float
    """Gathering all vectors."""
    cpu_seconds: float
    sequences: int
    tokens: int
    padded_tokens: int
    save_seconds: float
    loss: float
    """Mean over the batches of the last epoch."""
    start_rss_bytes: int
    peak_rss_bytes: int
    peak_device_bytes: int


class PaddedWindows(Dataset[Batch]):
    """Windows with all their vectors in memory, at the length the model reads; a target is a copy, made when asked for.

    Copies of all targets beforehand would be in the style of the original, too, and take twice the memory.
    """

    def __init__(self, corpus: Corpus, matrix: np.ndarray, longest: int) -> None:
        windows = len(corpus)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix = matrix / np.maximum(lengths, 1e-12) * np.float32(matrix.shape[1] ** 0.5)
        self.vectors = torch.zeros(windows, longest, matrix.shape[1])
        self.mask = torch.zeros(windows, longest, dtype=torch.bool)
        for number in range(windows):
            ids = corpus.ids[corpus.starts[number] : corpus.starts[number + 1]][:longest]
            self.vectors[number, : len(ids)] = torch.from_numpy(matrix[ids])
            self.mask[number, : len(ids)] = True

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, number: int) -> Batch:
        vectors = self.vectors[number]
        return {"input": vectors, "target": vectors.clone(), "mask": self.mask[number]}


class NaiveAutoencoder(nn.Module):
    """LSTM to a code and back, one call of the decoder a token."""

    def __init__(self, dimensions: int, settings: Settings) -> None:
        super().__init__()
        hidden, code = settings.hidden, settings.code
        self.encoder = nn.LSTM(dimensions, hidden, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        self.squeeze = nn.Linear(hidden, code)
        self.norm = nn.LayerNorm(code)
        self.initial = nn.Linear(code, 2 * hidden)
        self.start = nn.Parameter(torch.empty(dimensions))
        self.decoder = nn.LSTM(dimensions, hidden, batch_first=True)
        self.output = nn.Linear(hidden, dimensions)
        self.take(network_of(dimensions, settings))

    def take(self, network: Network) -> None:
        """Have the weights of a network of `headway.learners.autoencoder`."""
        weights = network.state_dict()
        taken = {ours: weights[theirs] for ours in self.state_dict() if (theirs := _renamed(ours)) in weights}
        self.load_state_dict(taken)

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """The code of each padded window, from the state at its last token."""
        states, _ = self.encoder(vectors)
        last = states[torch.arange(len(states), device=states.device), mask.sum(dim=1) - 1]
        return self.norm(self.squeeze(self.dropout(last)))

    def decode(self, code: Tensor, length: int, targets: Tensor | None, forcing: float, coin: random.Random) -> Tensor:
        """One vector after the other; each step is given the true one before, or its own, as the coin falls."""
        first = torch.tanh(self.initial(code)).chunk(2, dim=1)
        state = (first[0][None].contiguous(), first[1][None].contiguous())
        given = self.start.expand(len(code), 1, -1)
        outputs: list[Tensor] = []
        for step in range(length):
            hidden, state = self.decoder(functional.normalize(given, dim=-1) * given.shape[-1] ** 0.5, state)
            output = self.output(hidden)
            outputs.append(output)
            forced = targets is not None and coin.random() < forcing
            given = targets[:, step : step + 1] if forced and targets is not None else output
        return torch.cat(outputs, dim=1)


def train(corpus: Corpus, matrix: np.ndarray, settings: Settings, folder: Path) -> tuple[NaiveAutoencoder, Figures]:
    """A trained model, and what it took."""
    torch.set_num_threads(settings.threads)
    before, began, used = peak_rss(), time.perf_counter(), time.process_time()
    # The caller's generator is left as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        windows = PaddedWindows(corpus, matrix, settings.longest)
        model = NaiveAutoencoder(matrix.shape[1], settings).to(settings.device)
        prepared = time.perf_counter()
        loss, save_seconds = _epochs(model, windows, settings, folder)
    if settings.device != "cpu":
        torch.cuda.synchronize()
    figures = Figures(
        seconds=time.perf_counter() - prepared,
        prepare_seconds=prepared - began,
        cpu_seconds=time.process_time() - used,
        sequences=len(windows) * settings.epochs,
        tokens=int(windows.mask.sum()) * settings.epochs,
        padded_tokens=windows.mask.numel() * settings.epochs,
        save_seconds=save_seconds,
        loss=loss,
        start_rss_bytes=before,
        peak_rss_bytes=peak_rss(),
        peak_device_bytes=0 if settings.device == "cpu" else torch.cuda.max_memory_allocated(),
    )
    return model, figures


def _epochs(model: NaiveAutoencoder, windows: PaddedWindows, settings: Settings, folder: Path) -> tuple[float, float]:
    """The mean loss of the last epoch, and the seconds that saves took."""
    loader = DataLoader(windows, batch_size=settings.batch, shuffle=True, num_workers=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    coin, mean, save_seconds = random.Random(settings.seed), 0.0, 0.0
    for epoch in range(1, settings.epochs + 1):
        model.train()
        losses = [_step(model, optimizer, batch, settings, coin)["loss"] for batch in loader]
        mean = sum(losses) / len(losses)
        if epoch % settings.save_every == 0 or epoch == settings.epochs:
            began = time.perf_counter()
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "loss": mean}
            torch.save(state, folder / f"checkpoint_epoch_{epoch}.pt")
            save_seconds += time.perf_counter() - began
    return mean, save_seconds


def _step(
    model: NaiveAutoencoder, optimizer: torch.optim.Optimizer, batch: Batch, settings: Settings, coin: random.Random
) -> dict[str, float]:
    """One step, and the values a progress bar shows, each fetched when it is there."""
    vectors, targets, mask = (batch[name].to(settings.device) for name in ("input", "target", "mask"))
    code = model.encode(vectors, mask)
    outputs = model.decode(code, targets.shape[1], targets, settings.teacher_forcing, coin)
    units = functional.normalize(targets, dim=-1)
    cosine = functional.cosine_similarity(outputs, units, dim=-1)
    squared = (outputs - units).square().mean(dim=-1)
    share = settings.mse_weight
    # A token whose vector is zero has no direction to learn.
    weight = mask & targets.any(dim=-1)
    each = (1 - share) * (1 - cosine) + share * squared
    loss = (each * weight).sum() / weight.sum() + settings.code_l2 * code.square().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    optimizer.step()
    return {
        "loss": loss.item(),
        "cosine": ((cosine * weight).sum() / weight.sum()).item(),
        "squared": ((squared * weight).sum() / weight.sum()).item(),
        "norm": norm.item(),
        "code": code.std().item(),
    }


def network_of(dimensions: int, settings: Settings) -> Network:
    """The same model as the learner has it: what is compared is the work, not the luck of the first weights."""
    sizes = {"hidden": settings.hidden, "code": settings.code, "dropout": settings.dropout}
    section = ModelSection(encoder="lstm", decoder="recurrent", **sizes)
    return Network(section, dimensions, generator=torch.Generator().manual_seed(settings.seed))


def _renamed(name: str) -> str:
    """What a weight is called in a network of headway."""
    part, _, rest = name.partition(".")
    if part in ("encoder", "decoder"):
        layer = "layers.0.0" if part == "encoder" else "layers.0"
        return f"{part}.{layer}.{rest}"
    known = {"squeeze": "code", "norm": "norm", "initial": "decoder.initial", "output": "decoder.output"}
    return "decoder.start.values" if part == "start" else f"{known[part]}.{rest}"


@dataclass(frozen=True, eq=False)
class NaiveCodec:
    """A trained model as the evaluation of `headway.learners.autoencoder` takes it."""

    model: NaiveAutoencoder
    matrix: np.ndarray
    settings: Settings
    name: str = "naive"
    bypass: bool = False

    @property
    def code(self) -> int:
        return self.settings.code

    def encode(self, corpus: Corpus) -> np.ndarray:
        """The code of each window, one a row."""
        windows = PaddedWindows(corpus, self.matrix, int(corpus.lengths.max()))
        with torch.no_grad():
            codes = [
                self.model.encode(
                    windows.vectors[part].to(self.settings.device), windows.mask[part].to(self.settings.device)
                )
                for part in _parts(len(windows))
            ]
        return torch.cat(codes).cpu().numpy()

    def decode(self, codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Free running: every step is given the vector before it that the model wrote."""
        self.model.eval()
        found: list[Tensor] = []
        with torch.no_grad():
            for part in _parts(len(codes)):
                longest = int(lengths[part].max())
                given = torch.from_numpy(codes[part]).to(self.settings.device)
                written = self.model.decode(given, longest, None, 0.0, random.Random(0)).cpu()
                found += [rows[:length] for rows, length in zip(written, lengths[part].tolist(), strict=True)]
        return torch.cat(found).numpy()

    def forced(self, corpus: Corpus) -> None:
        """Not asked for here."""
        del corpus


def _parts(rows: int, size: int = 256) -> Iterator[slice]:
    return (slice(low, min(low + size, rows)) for low in range(0, rows, size))


def judge(codec: NaiveCodec, train_side: Corpus, held: Corpus, lexicon: Lexicon) -> dict[str, float]:
    """Cosine and skill on held-out windows, from the code alone, by the evaluation of headway."""
    from headway.learners.autoencoder.baselines import Baselines
    from headway.learners.autoencoder.evaluate import Yardstick, glance

    codec.model.eval()
    table = lexicon.table()
    baselines = Baselines.fit(train_side, table, code=codec.code, seed=0)
    return glance(codec, Yardstick.of(held, table, baselines)).metrics()


def peak_rss() -> int:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read_material(folder: Path) -> tuple[Corpus, Corpus, Lexicon]:
    """What is learned, what is held out, and the words."""
    lexicon = load_lexicon(folder / MODEL)
    assert lexicon is not None, "written by `autoencoder_material`"
    names = ("ids", "starts", "owned", "documents")
    learned, held = (Corpus(*(np.load(folder / f"{side}-{name}.npy") for name in names)) for side in ("train", "valid"))
    return learned, held, lexicon


def perform(folder: Path, settings: Settings, *, into: Path, evaluate: bool = True) -> dict[str, Any]:
    """Train and judge: all figures by name."""
    learned, held, lexicon = read_material(folder)
    model, figures = train(learned, lexicon.matrix, settings, into)
    quality = judge(NaiveCodec(model, lexicon.matrix, settings), learned, held, lexicon) if evaluate else {}
    return asdict(figures) | quality


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="train the autoencoder as everybody writes it, and measure that")
    parser.add_argument("material", type=Path)
    parser.add_argument("--into", type=Path, default=Path(), help="where checkpoints go")
    parser.add_argument("--no-evaluation", action="store_true")
    for name, default in asdict(Settings()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    options = vars(parser.parse_args())
    material, into, evaluate = options.pop("material"), options.pop("into"), not options.pop("no_evaluation")
    print(json.dumps(perform(material, Settings(**options), into=into, evaluate=evaluate)))


if __name__ == "__main__":
    main()
