"""The trainers of the seeds: one call trains on so many samples of a data set."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from headway.errors import PlanError
from headway.tools.calls import Call, Stats, perform
from headway.tools.datasets import find_corpus
from headway.tools.learner import HierarchicalConceptLearner, tokenizer_called
from headway.tools.nodes import at_least

SegmentMethod = Literal["simple", "article", "book"]
_LEVELS = 4


def train_from_streaming_dataset(  # noqa: PLR0913 - the signature of the seeds
    dataset_key: str,
    max_samples: int | None,
    learner: HierarchicalConceptLearner,
    num_levels: int | None = None,
    segment_method: SegmentMethod = "simple",
    tokenizer_name: str | None = None,
    checkpoint_interval: int = 10_000,
    checkpoint_dir: Path | str | None = None,
    resume_from_checkpoint: bool = False,
    verbose: bool = True,
) -> Stats:
    """Train on the first `max_samples` samples of a data set in this process, and add the result to learner.memory.

    `dataset_key` is a name (wikitext, c4, ...), a path, a glob or an hf:// address. Without `num_levels`, four nodes
    learn, or all where there are fewer. What is learned is saved about every `checkpoint_interval` samples (of some
    five hundred tokens), at the latest after five seconds, below `checkpoint_dir` or the learner's folder; a call that
    was interrupted continues exactly there when it is repeated with `resume_from_checkpoint`. Until a call has ended,
    learner.memory has nothing of it.
    """
    return train_from_streaming_dataset_parallel(
        dataset_key,
        max_samples,
        learner,
        num_levels=num_levels,
        segment_method=segment_method,
        tokenizer_name=tokenizer_name,
        num_workers=1,
        checkpoint_interval=checkpoint_interval,
        checkpoint_dir=checkpoint_dir,
        resume_from_checkpoint=resume_from_checkpoint,
        verbose=verbose,
    )


def train_from_streaming_dataset_parallel(  # noqa: PLR0913 - the signature of the seeds
    dataset_key: str,
    max_samples: int | None,
    learner: HierarchicalConceptLearner,
    profiler: None = None,
    num_levels: int | None = None,
    segment_method: SegmentMethod = "simple",
    tokenizer_name: str | None = None,
    num_workers: int = 3,
    checkpoint_interval: int = 5000,
    checkpoint_dir: Path | str | None = None,
    resume_from_checkpoint: bool = False,
    verbose: bool = True,
) -> Stats:
    """`train_from_streaming_dataset` with several processes: the same result, whatever their number.

    There are never more processes than pieces of work, each of a million tokens, or of `checkpoint_interval` samples
    where that is less; `workers_used` says how many there were.
    """
    _check(
        {
            "profiler: cannot be used yet; leave it out, the returned statistics are measured": profiler is None,
            f"segment_method: there is 'simple', 'article' and 'book', not {segment_method!r}": (
                segment_method in ("simple", "article", "book")
            ),
            f"tokenizer_name: the learner's is {learner.tokenizer_name!r}, its memory can hold no other": (
                tokenizer_name is None or tokenizer_called(tokenizer_name) == learner.tokenizer_name
            ),
            f"max_samples: should be 1 or more, or None for all, not {max_samples!r}": max_samples is None
            or at_least(1, max_samples),
            f"num_workers: should be 1 or more, not {num_workers!r}": at_least(1, num_workers),
            f"checkpoint_interval: should be 1 or more, not {checkpoint_interval!r}": at_least(1, checkpoint_interval),
        }
    )
    levels = min(_LEVELS, len(learner.nodes)) if num_levels is None else num_levels
    section = learner.section(levels)
    corpus = find_corpus(dataset_key)
    return perform(
        Call(
            corpus=corpus,
            learner=learner,
            section=replace(section, source=corpus.label),
            split=segment_method,
            samples=max_samples,
            interval=checkpoint_interval,
            folder=learner.folder if checkpoint_dir is None else Path(checkpoint_dir).absolute(),
            resume=resume_from_checkpoint,
            workers=num_workers,
            verbose=verbose,
        )
    )


def _check(rules: dict[str, bool]) -> None:
    """A PlanError with every problem whose rule is broken."""
    problems = [problem for problem, is_kept in rules.items() if not is_kept]
    if problems:
        raise PlanError("train_from_streaming_dataset", problems)
