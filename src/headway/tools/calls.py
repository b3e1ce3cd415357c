"""One training call of the seeds as a run of Headway, whose memory is then added to the learner's."""

import hashlib
import signal
import sys
import time
import uuid
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

from headway.data.config import DataSection
from headway.data.segment import segments
from headway.durable import replace_json, write_errors
from headway.errors import DataError, PlanError
from headway.learners.patterns.config import Section
from headway.plan.plan import Plan, RunSection
from headway.tools.datasets import FIELD, Corpus

if TYPE_CHECKING:
    from headway.record.record import Listener
    from headway.run.result import RunResult
    from headway.tools.learner import HierarchicalConceptLearner

Stats = dict[str, int | float]

MAX_TOKENS = 2048
_ID = "call.json"
# What a sample usually holds, to translate a number of samples into the tokens that a run counts by.
_TOKENS_PER_SAMPLE = 512
_MOST_BATCH_TOKENS = 1 << 20
_LEAST_BATCH_TOKENS = 1 << 10
_SAVE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What one call trains, and where it keeps what it needs to continue."""

    corpus: Corpus
    learner: "HierarchicalConceptLearner"
    section: Section
    split: Literal["simple", "article", "book"]
    samples: int | None
    interval: int
    folder: Path
    resume: bool
    workers: int
    verbose: bool


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many samples can be trained, and how many are errors."""

    good: int | None
    errors: int = 0


def perform(call: Call) -> Stats:
    """Train, add what was learned to the learner's memory, and say how it went."""
    began = time.perf_counter()
    counted = _count(call)
    if counted.good == 0:
        return _stats(call, counted, None, time.perf_counter() - began)
    listeners = _listeners(call)
    result = _run(call, _plan(call, counted), listeners)
    if result.status == "stopped":
        _leave(result)
    _add(call, result)
    stats = _stats(call, counted, result, time.perf_counter() - began)
    _summarise(listeners, stats)
    return stats


def _count(call: Call) -> _Counted:
    """For articles and books, samples without a paragraph are errors that `max_samples` counts; `simple` has none."""
    if call.split == "simple":
        return _Counted(call.samples)
    good = errors = 0
    for text in islice(call.corpus.texts(remembered=_remembered(call)), call.samples):
        if segments(text, call.split):
            good += 1
        else:
            errors += 1
    if good + errors == 0:
        raise DataError(f"{call.corpus.source} holds no sample of more than 10 characters; check dataset_key")
    return _Counted(good, errors)


def _remembered(call: Call) -> Path | None:
    datasets = call.folder / "datasets"
    with write_errors(datasets, kept="nothing was started"):
        datasets.mkdir(parents=True, exist_ok=True)
    return datasets / "digests.json"


def _plan(call: Call, counted: _Counted) -> Plan:
    corpus = call.corpus
    content = hashlib.blake2b(f"{corpus.folder}\0{corpus.source}".encode(), digest_size=4).hexdigest()
    wanted = call.interval * _TOKENS_PER_SAMPLE
    return Plan(
        name=f"{corpus.label}-{content}",
        data=DataSection(
            sources=(corpus.source,),
            field=FIELD,
            tokenizer=call.learner.tokenizer_name,
            split=call.split,
            max_tokens=MAX_TOKENS,
            documents=counted.good,
        ),
        learner=call.section,
        run=RunSection(
            save_every=0.0 if wanted <= _MOST_BATCH_TOKENS else _SAVE_SECONDS,
            batch_tokens=min(max(wanted, _LEAST_BATCH_TOKENS), _MOST_BATCH_TOKENS),
        ),
        workers=call.workers,
        folder=corpus.folder,
    )


def _run(call: Call, plan: Plan, listeners: "tuple[Listener, ...]") -> "RunResult":
    from headway.run.folders import newest
    from headway.run.train import train

    runs = call.folder / "runs"
    before = newest(runs, plan.name) if call.resume else None
    if before is not None:
        _check_same(before, plan)
    mode: Literal["resume", "new"] = "new" if before is None else "resume"
    return train(plan, runs_dir=runs, datasets_dir=call.folder / "datasets", mode=mode, listeners=listeners)


def _check_same(before: Path, plan: Plan) -> None:
    from headway.plan.fingerprint import check_resume, resolved
    from headway.run.folders import PLAN_KEYS, RESOLVED, read_note
    from headway.run.train import plan_kinds

    try:
        check_resume(read_note(before / RESOLVED, keys=PLAN_KEYS), resolved(plan), plan_kinds())
    except PlanError as cause:
        raise PlanError(
            f"{before} was begun with other arguments; give the same ones, or resume_from_checkpoint=False",
            cause.problems,
        ) from cause


def _add(call: Call, result: "RunResult") -> None:
    from headway.learners.patterns.manifest import Origin
    from headway.run.folders import read_note

    path = result.folder / _ID
    with write_errors(path, kept="the finished run is safe; repeat the call with resume_from_checkpoint=True"):
        # Durable before it is used: however often the call is continued, the memory takes the run in once.
        if not path.exists():
            replace_json(path, {"id": uuid.uuid4().hex})
    label = call.corpus.label
    author = "Unknown" if call.split == "simple" else label
    call.learner.add(result.folder, once=read_note(path, keys={"id"})["id"], origin=Origin(label, author))


def _leave(result: "RunResult") -> NoReturn:
    """End as the signal that stopped the run would have."""
    if result.signal not in (None, signal.SIGINT):
        raise SystemExit(128 + result.signal)
    raise KeyboardInterrupt(
        f"stopped after {result.documents:,} samples, which are saved in {result.folder}; "
        "repeat the call with resume_from_checkpoint=True to continue"
    )


def _listeners(call: Call) -> "tuple[Listener, ...]":
    from headway.run.listeners import Lines

    return (Lines(sys.stdout),) if call.verbose else ()


def _summarise(listeners: "tuple[Listener, ...]", stats: Stats) -> None:
    from headway.run.listeners import tell

    text = (
        f"{stats['samples_processed']:,} samples, {stats['errors']} errors, "
        f"{stats['total_time_seconds']:.1f} s, {stats['rate_samples_per_sec']:.1f} samples/s"
    )
    tell(listeners, "note", {"text": text})


def _stats(call: Call, counted: _Counted, result: "RunResult | None", seconds: float) -> Stats:
    """Samples of the whole call, also of the part before an interruption; seconds and rate of this part alone."""
    processed = 0 if result is None else result.documents
    learned = 0 if result is None else result.learned_documents
    stats: Stats = {
        "samples_processed": processed,
        "samples_attempted": processed + counted.errors,
        "errors": counted.errors,
        "total_time_seconds": seconds,
        "checkpoints_saved": 0 if result is None else _saves(result.folder),
        "rate_samples_per_sec": learned / seconds,
        "num_workers": call.workers,
        "workers_used": 0 if result is None else result.workers or 0,
    }
    learns = [] if result is None else [level["observed"] for level in result.totals["levels"]]
    for i, node in enumerate(call.learner.nodes):
        stats[f"{node}_patterns"] = learns[i] if i < len(learns) else 0
    return stats


def _saves(run: Path) -> int:
    from headway.record.record import read_record
    from headway.run.folders import RECORD

    return sum(event["event"] == "saved" for event in read_record(run / RECORD))
