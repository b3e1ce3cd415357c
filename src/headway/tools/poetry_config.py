"""The configurations of the seeds; each is checked as the part of a plan that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol, TypeVar, cast

from headway.errors import PlanError
from headway.tools.poetry_curriculum import Curriculum
from headway.tools.poetry_names import Names, Part, at, check, merged, understood
from headway.tools.poetry_tables import ARCHITECTURE, CELLS, CHUNKING, CUT, DATA, SCHEDULE, SCHEDULES, TRAINING

RANDOM = "random"
_LEAST_BUDGET = 64
_Config = TypeVar("_Config")


class _Noise(Protocol):
    def section(self) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class ArchitectureConfig:
    """What is between a window and its reconstruction; `input_size` None: as many numbers as the vectors have."""

    hidden_size: int = 512
    bottleneck_size: int = 64
    input_size: int | None = None
    rnn_type: str = "lstm"
    num_layers: int = 1
    dropout: float = 0.1
    use_batch_norm: bool = False
    bidirectional: bool = False
    attention: bool | str = False
    """True: to slots made of the code; "bypass": to the encoder's states, which is no bottleneck."""
    attention_heads: int = 4
    residual: bool = False
    decoder: str = "recurrent"
    token_head: str = "none"
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Names that were understood as others, and settings that change nothing."""

    def __post_init__(self) -> None:
        # A head is right or wrong only beside a loss.
        loss = at("learner.loss.kind", "hybrid") if self.token_head != "none" else {}
        check(ARCHITECTURE, self.part(), beside=loss)

    def part(self) -> Part:
        """The same as a plan says it."""
        return _part(
            ARCHITECTURE,
            _values(self)
            | {
                "rnn_type": CELLS.get(self.rnn_type, self.rnn_type),
                "use_batch_norm": _chosen(self.use_batch_norm, "batch", "layer"),
                "attention": _chosen(self.attention, "code", "none"),
            },
        )

    def count_parameters(self, input_size: int | None = None) -> int:
        """The numbers that are trained, counted on the built network; for vectors of 300 numbers unless told."""
        from headway.tools.poetry_measured import count_parameters

        return count_parameters(self, input_size)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How it is learned: by a curriculum of four phases, or with a `teacher_forcing_ratio` that stays."""

    epochs: int | Sequence[int] | None = None
    """Of the run, or of each phase; None: 30, or what the phases add up to."""
    batch_size: int = 16
    learning_rate: float = 2.5e-4
    optimizer: str = "adamw"
    weight_decay: float = 1e-5
    gradient_clip: float | None = 1.0
    gradient_accumulation: int = 1
    mixed_precision: bool | str = False
    """True: bf16."""
    loss_type: str = "cosine+mse"
    mse_weight: float = 0.1
    label_smoothing: float = 0.1
    token_weight: float = 0.7
    bottleneck_regularization: float = 1e-3
    teacher_forcing_ratio: float | None = None
    phases: int | Sequence[Mapping[str, Any]] | None = None
    """How many, or what a plan says of each."""
    decay_type: str | None = None
    """From phase to phase: linear (None), exponential or cosine."""
    initial_teacher_forcing: float | None = None
    """Of the first phase; None: 0.9."""
    final_teacher_forcing: float | None = None
    """Of the last phase; None: 0.1."""
    scheduler: str = "constant"
    scheduler_params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    early_stopping_patience: int | None = 10
    """Evaluations of the last phase without a better one after which it ends; None: never."""
    min_delta: float = 1e-5
    stop_at: float | None = None
    """The skill at which learning ends."""
    evaluate_every: int = 1
    denoising: Mapping[str, Any] | _Noise | None = None
    """A DenoisingConfig, or what a plan says of noise."""
    async_checkpointing: bool = True
    save_every: float = 60.0
    """Seconds."""
    seed: int = 0
    device: str = "auto"
    threads: int | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if problems := self.curriculum.problems():
            raise PlanError(TRAINING.where, problems)
        check(TRAINING, self.part())

    @property
    def curriculum(self) -> Curriculum:
        """What is said of epochs and phases."""
        return Curriculum(
            epochs=self.epochs,
            ratio=self.teacher_forcing_ratio,
            phases=self.phases,
            decay=self.decay_type,
            first=self.initial_teacher_forcing,
            last=self.final_teacher_forcing,
        )

    def part(self) -> Part:
        """The same as a plan says it."""
        values = _values(self) | {
            "epochs": self.curriculum.total,
            "phases": self.curriculum.sections(),
            "mixed_precision": _chosen(self.mixed_precision, "bf16", "fp32"),
            "scheduler": SCHEDULES.get(self.scheduler, self.scheduler),
            "scheduler_params": _schedule(self.scheduler_params),
            "async_checkpointing": _chosen(self.async_checkpointing, "async", "sync"),
            "denoising": _noise(self.denoising),
        }
        if self.teacher_forcing_ratio is None:
            del values["teacher_forcing_ratio"]
        return _part(TRAINING, values)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which texts are learned, in which windows, by which vectors."""

    path: Any = None
    """A file or folder of texts."""
    embeddings: Any = None
    """A file of word vectors; None: looked for; "random": made up, which every figure then says."""
    embedding_type: str = "glove"
    """Only files of GloVe's are looked for."""
    max_length: int = 50
    overlap: int | None = None
    """None: 10, or a fifth of shorter windows."""
    min_length: int | None = None
    """None: 5, or the length of shorter windows."""
    chunking_method: str = "sliding"
    """sliding, line, stanza, sentence; truncate and pad: one window a text, the rest of it is cut off."""
    split_ratios: Sequence[float] = (0.8, 0.15, 0.05)
    split_seed: int = 0
    leakage: str = "stop"
    cache: bool = True
    """False: tokenised anew for every run."""
    text_field: str | None = None
    """Which field of a record holds the text; None: `text`, or `lines`."""
    texts: str | None = None
    """Where texts of a plain file end; None: at blank lines where they are apart, else with the file."""
    documents: int | None = None
    min_count: int = 1
    unknown_words: str = "random"
    coverage: float = 0.5
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        problems = {
            f"embedding_type: should be glove, word2vec, fasttext or {RANDOM}, not {self.embedding_type!r}": (
                self.embedding_type not in ("glove", "word2vec", "fasttext", RANDOM)
            ),
            f"embedding_type: {RANDOM} vectors are of no file; leave embeddings out": (
                self.embedding_type == RANDOM and self.embeddings not in (None, RANDOM)
            ),
            f"split_ratios: should be 2 or 3 shares (training, validation, test), not {self.split_ratios!r}": (
                not isinstance(self.split_ratios, list | tuple) or len(self.split_ratios) not in (2, 3)
            ),
        }
        if broken := [problem for problem, holds in problems.items() if holds]:
            raise PlanError(DATA.where, broken)
        check(DATA, self.part())

    def part(self) -> Part:
        """The same as a plan says it, but for what has to be looked up."""
        size = self.max_length
        values = _values(self) | {
            "embeddings": RANDOM,
            "overlap": self.overlap if self.overlap is not None or not _is_number(size) else min(10, size // 5),
            "min_length": self.min_length if self.min_length is not None or not _is_number(size) else min(5, size),
            "chunking_method": CHUNKING.get(self.chunking_method, self.chunking_method),
            "split_ratios": dict(zip(("train", "valid", "test"), (*self.split_ratios, 0), strict=False)),
        }
        cut = self.chunking_method in CUT
        if cut:
            del values["chunking_method"]
        for name in ("text_field", "texts"):
            if values[name] is None:
                del values[name]
        return merged(_part(DATA, values), at("data.tokenizer", "verse"), at("data.max_tokens", size) if cut else {})


def budget(training: TrainingConfig, data: DataConfig) -> Part:
    """A batch in which so many windows fit whatever their length."""
    return at("run.batch_tokens", max(_LEAST_BUDGET, training.batch_size * data.max_length))


def settled(kind: type[_Config], names: Names, given: Any) -> _Config:
    """A configuration of this kind: itself, or what a mapping says; a PlanError for anything else."""
    if given is None or isinstance(given, kind):
        return kind() if given is None else given
    if not isinstance(given, Mapping):
        told = f"should be a {kind.__name__} or a dict of its settings, not a {type(given).__name__}"
        raise PlanError(names.where, [told])
    known = [each.name for each in fields(cast(Any, kind)) if each.name != "notes"]
    found = understood(names, known, cast("Mapping[str, Any]", given))
    return cast(Any, kind)(**found.values, notes=found.notes)


def _values(config: Any) -> Part:
    return {each.name: getattr(config, each.name) for each in fields(config) if each.name != "notes"}


def _part(names: Names, values: Part) -> Part:
    """Values where a plan has them."""
    return merged(*(at(path, values[name]) for name, path in names.paths.items() if name in values))


def _chosen(value: Any, yes: str, no: str) -> Any:
    """What True and False stand for; anything else is left to the plan to judge."""
    if isinstance(value, bool):
        return yes if value else no
    return value


def _schedule(given: Mapping[str, Any]) -> Part:
    from headway.learners.gradient.config import ScheduleSection

    known = [each.name for each in fields(ScheduleSection) if each.name != "kind"]
    return understood(SCHEDULE, known, given).values


def _noise(given: Mapping[str, Any] | _Noise | None) -> Part:
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else asdict(given.section())


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
