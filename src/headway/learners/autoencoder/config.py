"""What a plan may say about a sequence autoencoder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le

from headway.data.config import DataSection
from headway.data.vectors.lookup import Policy
from headway.learners.gradient.config import CheckpointSection, OptimizerSection, ScheduleSection, Share
from headway.learners.gradient.schedules import check
from headway.plan.plan import Parallel, RunSection
from headway.plan.section import CAREFUL, FREE, GROWING

RANDOM = "random"
Unforced = Literal["predictions", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSection:
    """How documents are cut into the windows that are encoded."""

    size: Annotated[int, Ge(1)] = 50
    """Tokens a window holds at the most."""
    overlap: Annotated[int, Ge(0)] = 10
    """Tokens of context that a window shares with the one before it."""
    shortest: Annotated[int, Ge(1)] = 5
    """A shorter rest is given more context instead of a window of its own."""
    ends: Literal["anywhere", "line", "stanza", "sentence"] = "anywhere"
    """Where windows end if they can."""
    context_weight: Share = 1.0
    """What a token that belongs to the window before counts in the loss; evaluation never counts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSection:
    """Which documents are learned and which are kept apart; near-duplicates always stay together."""

    train: Annotated[float, Gt(0), Le(1)] = 0.8
    """Share of the tokens that is learned."""
    valid: Share = 0.15
    """Share that evaluations look at."""
    test: Share = 0.05
    """Share that nothing looks at before `headway autoencoder evaluate`."""
    seed: Annotated[int, Ge(0)] = 0
    """What the division is derived from."""
    alike: Annotated[float, Gt(0), Le(1)] = 0.2
    """Documents that share more of their runs of five words than this are not separated."""
    leakage: Literal["stop", "warn"] = "stop"
    """What happens when held-out text is found among the text that is learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    """What is between a window and its reconstruction."""

    encoder: Literal["lstm", "gru", "rnn", "transformer", "pca"] = "transformer"
    """What reads a window; `pca` is the linear model that every other has to beat."""
    decoder: Literal["recurrent", "parallel"] = "parallel"
    """What writes it again: token by token, or all at once from the code and the positions."""
    hidden: Annotated[int, Ge(1)] = 256
    """Width of encoder and decoder."""
    layers: Annotated[int, Ge(1), Le(8)] = 1
    """Layers of each."""
    bidirectional: bool = False
    """Whether the encoder reads in both directions."""
    residual: bool = False
    """Whether layers above the first add to what they read."""
    dropout: Annotated[float, Ge(0), Le(0.9)] = 0.1
    """Share of values dropped between layers and before the code."""
    span: Annotated[int, Ge(2)] | None = None
    """Tokens that the cells of an LSTM keep something for at first, from one to so many; absent: two or so."""
    code: Annotated[int, Ge(1)] = 64
    """Numbers that a window is compressed to."""
    code_norm: Literal["none", "layer", "batch"] = "layer"
    """How codes are normalised; with `batch` a code depends on the other windows of its batch while training."""
    attention: Literal["none", "code", "bypass"] = "none"
    """What the decoder attends to: nothing, slots made of the code, or the encoder's states (no bottleneck then)."""
    heads: Annotated[int, Ge(1)] = 4
    """Heads of attention and of the transformer."""
    slots: Annotated[int, Ge(1)] = 8
    """Slots that a code is unfolded to for attention."""
    trainable_vectors: bool = False
    """Whether the encoder reads a copy of the vectors that is trained; targets are always the given ones."""
    token_head: Literal["none", "free", "tied"] = "none"
    """Whether words are predicted as well: no, by weights of their own, or by the vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSection:
    """What is made small."""

    kind: Literal["cosine", "mse", "cosine+mse", "token", "hybrid"] = "cosine+mse"
    """Of vectors, of words (`token`), or both (`hybrid`)."""
    mse_weight: Share = 0.1
    """Share of the squared error in `cosine+mse` and `hybrid`."""
    normalize_targets: bool = True
    """Whether the squared error compares with targets of length 1."""
    temperature: Annotated[float, Gt(0)] = 1.0
    """Other than 1: the cosine is sharpened by tanh."""
    sequence_weight: Annotated[float, Ge(0)] = 0.0
    """Weight of one minus the cosine between the means of a window."""
    code_l2: Annotated[float, Ge(0)] = 1e-3
    """Weight of the mean square of the code."""
    code_l1: Annotated[float, Ge(0)] = 0.0
    """Weight of the mean absolute value of the code."""
    token_weight: Share = 0.7
    """Share of the words in `hybrid`."""
    label_smoothing: Annotated[float, Ge(0), Le(0.5)] = 0.1
    """How much of the certainty about a word is spread over all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSection:
    """What is done to the input, never to the target, while training."""

    kind: Literal["none", "gaussian", "dropout", "semantic", "words", "swap", "mask", "synonym"] = "none"
    """Noise on the numbers (gaussian, dropout, semantic: a gaussian in the directions of the nearest words), or on the
    words (dropped, swapped, masked, changed for one of the nearest)."""
    amount: Annotated[float, Ge(0), Le(1)] = 0.15
    """Standard deviation of the gaussian and of semantic, share of all others."""
    from_amount: Annotated[float, Ge(0), Le(1)] | None = None
    """Where the amount starts when it grows; absent: at `amount`."""
    ramp: Annotated[int, Ge(0)] = 10
    """Epochs over which it grows from `from_amount`."""
    begins: Annotated[int, Ge(0)] = 0
    """Epochs without any before it begins."""
    neighbours: Annotated[int, Ge(1), Le(100)] = 5
    """How many words count as the nearest of one, by the cosine of their vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSection:
    """One phase of a curriculum."""

    epochs: Annotated[int, Ge(1)]
    """How long it lasts; the phases of a curriculum add up to run.epochs."""
    teacher_forcing: Share
    """Share of inputs that are the true previous word at its beginning."""
    until: Share | None = None
    """The share at its end; absent: the same."""
    rate: Annotated[float, Gt(0)] = 1.0
    """Factor on the learning rate."""
    longest: Annotated[int, Ge(1)] | None = None
    """Windows of more tokens are left out of this phase; absent: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The `[learner]` of a plan with `kind = "autoencoder"`."""

    parallel: ClassVar[Parallel] = "lockstep"
    usual: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {"tokenizer": "verse"},
        "run": {"epochs": 30, "batch_tokens": 4096, "shuffle": True, "save_every": 60.0},
    }
    """What the other sections of a plan are where they say nothing."""

    kind: Literal["autoencoder"] = "autoencoder"
    vectors: str
    """A file of word vectors, a converted table, or "random": vectors made up, which every report then says."""
    absent: Policy = "random"
    """What stands in for a word without a vector."""
    dimensions: Annotated[int, Ge(1)] | None = None
    """How many numbers a vector must have; absent: as many as there are, 100 for made-up ones."""
    coverage: Share = 0.5
    """A run is refused where less than this share of the tokens has a vector."""
    min_count: Annotated[int, Ge(1)] = 1
    """Words that are learned from fewer times than this become <UNK>."""
    most_rows: Annotated[int, Ge(1)] = 64
    """Windows in a batch at the most; run.batch_tokens bounds windows times the longest."""
    window: WindowSection = field(default_factory=WindowSection)
    split: SplitSection = field(default_factory=SplitSection)
    model: ModelSection = field(default_factory=ModelSection)
    loss: LossSection = field(default_factory=LossSection)
    noise: NoiseSection = field(default_factory=NoiseSection)
    optimizer: OptimizerSection = field(default_factory=OptimizerSection)
    schedule: ScheduleSection = field(default_factory=ScheduleSection)
    checkpoints: Annotated[CheckpointSection, FREE] = field(default_factory=CheckpointSection)
    teacher_forcing: Share = 0.5
    """Share of the decoder's inputs that are the true previous word, where there is no curriculum."""
    unforced: Unforced = "predictions"
    """What is read where no true word is: its own predictions, or nothing, for whole windows, which is faster."""
    curriculum: Annotated[tuple[PhaseSection, ...], GROWING] = ()
    """Phases, one after the other; more may be added at the end when a run continues."""
    evaluate_every: Annotated[int, Ge(0)] = 1
    """Epochs from one evaluation to the next; the last epoch always has one. 0: none at all."""
    patience: Annotated[Annotated[int, Ge(1)] | None, CAREFUL] = 10
    """Evaluations without a better one after which learning ends; of a curriculum, the last phase's. Absent: never."""
    min_delta: Annotated[float, Ge(0), CAREFUL] = 1e-5
    """How much better is better."""
    stop_at: Annotated[float | None, CAREFUL] = None
    """The skill at which learning ends."""
    device: Annotated[Literal["auto", "cpu", "cuda"], CAREFUL] = "auto"
    """Where it is computed; auto takes a GPU that torch sees."""
    threads: Annotated[Annotated[int, Ge(1)] | None, FREE] = None
    """Threads of one process; absent: what a short trial finds fastest, kept with the run."""

    def problems(self) -> list[str]:
        """Rules that concern several settings at once."""
        model, window, split = self.model, self.window, self.split
        shares = split.train + split.valid + split.test
        rules = {
            f"window.overlap: {window.overlap} is not less than window.size = {window.size}": window.overlap
            >= window.size,
            f"window.shortest: {window.shortest} is more than window.size = {window.size}": window.shortest
            > window.size,
            f"split: train, valid and test add up to {shares:g}, not to 1": abs(shares - 1) > 1e-9,
            f"model.heads: {model.heads} do not divide model.hidden = {model.hidden}": model.hidden % model.heads > 0
            and (model.encoder == "transformer" or model.attention != "none"),
            'model.code_norm: "layer" leaves nothing of a code of 1 number; set it to "none"': model.code == 1
            and model.code_norm == "layer"
            and model.encoder != "pca",
            "model.token_head: a loss of words needs one, free or tied": self.loss.kind in ("token", "hybrid")
            and model.token_head == "none",
            "model.token_head: only the losses token and hybrid train it": self.loss.kind not in ("token", "hybrid")
            and model.token_head != "none",
            "model.bidirectional: a transformer reads in both directions anyway": model.bidirectional
            and model.encoder == "transformer",
            f"noise.kind: {self.noise.kind} needs vectors that know which words are alike, which made-up ones do not": (
                self.noise.kind in ("synonym", "semantic") and self.vectors == RANDOM
            ),
            "stop_at: is a skill, and evaluate_every = 0 measures none": self.stop_at is not None
            and not self.evaluate_every,
            "schedule.kind: plateau follows evaluations, and evaluate_every = 0 makes none": not self.evaluate_every
            and self.schedule.kind == "plateau",
            "optimizer.precision: fp16 needs a GPU; set bf16 or fp32": self.optimizer.precision == "fp16"
            and self.device == "cpu",
        }
        return [problem for problem, broken in rules.items() if broken]

    def absences(self, folder: Path) -> list[str]:
        """The file of vectors, where it is not there."""
        path = folder / Path(self.vectors).expanduser()
        if self.vectors == RANDOM or path.exists():
            return []
        return [f'vectors: there is no file or table {path}; name one, or "{RANDOM}" for vectors that are made up']

    def misfits(self, data: DataSection, run: RunSection) -> list[str]:
        """Rules that concern settings of the data and of the run as well."""
        epochs = sum(phase.epochs for phase in self.curriculum)
        rules = {
            f"learner.curriculum: its phases last {epochs} epochs, run.epochs is {run.epochs}; make them equal": bool(
                self.curriculum
            )
            and epochs != run.epochs,
            "run.documents: an autoencoder learns whole epochs; set run.epochs or data.documents": run.documents
            is not None,
            'data.split: windows are cut of whole documents; leave it at "whole"': data.split != "whole",
            f'data.tokenizer: "{data.tokenizer}" has no signs for padding and unknown words, which an autoencoder '
            'needs; leave it at "verse"': data.tokenizer != "verse",
        }
        found = [problem for problem, broken in rules.items() if broken]
        rates = check(self.schedule, base=self.optimizer.learning_rate, epochs=run.epochs)
        return found + [f"learner.schedule.{problem}" for problem in rates]
