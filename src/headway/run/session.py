"""One session of a run: from the opened dataset to the last save, with whatever ended it on the record."""

import errno
import platform
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from headway.data.dataset import Dataset
from headway.durable import write_errors
from headway.errors import Diverged, HeadwayError, RunError
from headway.feed.feed import Feed
from headway.feed.prefetch import Ahead
from headway.learners import registry
from headway.learners.base import Learner
from headway.machine.describe import describe
from headway.plan.fingerprint import DECIDED, fingerprint, resolved
from headway.plan.plan import Plan
from headway.plan.values import Position
from headway.record.events import Finished, RunStarted, Step, Upkeep, Warned
from headway.record.record import Listener, Record
from headway.record.sampler import Sampler
from headway.run.code import code_digest
from headway.run.decisions import Decisions, decisions, kept
from headway.run.folders import PLAN_KEYS, RECORD, RESOLVED, read_note
from headway.run.launch.local import Pool
from headway.run.launch.process import Servant
from headway.run.listeners import tell
from headway.run.loop import Batches, drive
from headway.run.result import RunResult
from headway.run.run import Run
from headway.run.sampling import Learned, sampled, used_so_far
from headway.run.team import Task, fitted, gather, means_of

_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM}
_LIBRARIES = ("headway", "numpy", "numba", "pyarrow", "tokenizers", "gigatoken", "torch", "safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is known before the first step."""

    plan_file: Path | None
    resumed: bool
    warnings: tuple[str, ...]
    build_seconds: float


def session(
    run: Run,
    dataset: Dataset,
    *,
    beginning: Beginning,
    servant: Servant | None,
    listeners: Sequence[Listener],
    sampler: Sampler | None = None,
) -> RunResult:
    """Train a locked run on its dataset until it is complete or stopped; a sampler that runs leaves its ticks there."""
    feed = feed_of(run.plan, dataset)
    run.claim_dataset(dataset.key, dataset.folder)
    run.dead_end, run.beyond = _dead_end(run.folder, feed), _beyond(run.folder, feed)
    with _Scene(run, feed, beginning, listeners, sampler) as scene:
        run.write_plan({**resolved(run.plan), DECIDED: scene.decided()}, beginning.plan_file)
        return scene.play(servant)


class _Scene:
    """A session at work; whatever ends it is written to the record, if the disk still takes it."""

    def __init__(
        self, run: Run, feed: Feed, beginning: Beginning, listeners: Sequence[Listener], sampler: Sampler | None
    ) -> None:
        self._run = run
        self._feed = feed
        self._beginning = beginning
        self._means = fitted(means_of(run.plan), feed)
        run.steps_per_save = self._means.workers
        self._listeners = tuple(listeners)
        self._sampler = sampler
        learned = Learned()
        self._record = Record(run.folder / RECORD, listeners=(*listeners, learned), usage=lambda: sampled(sampler))
        if sampler is not None:
            sampler.progress = learned.counts
        self._began = time.perf_counter()
        self._start_seconds = 0.0

    def __enter__(self) -> "_Scene":
        if self._sampler is not None:
            self._sampler.keep_in(self._run.folder)
        return self

    def __exit__(self, *_: object) -> None:
        if self._sampler is not None:
            # The folder may be removed now, where nothing was learned.
            self._sampler.leave()
        # On a full disk the last lines are lost, not the run; the error that is on its way says so.
        with suppress(RunError):
            self._record.close()

    def decided(self) -> Decisions:
        """What is decided where the plan leaves it open."""
        feed = self._feed
        made = decisions(self._run.plan, self._means, batches=feed.total_batches, report=feed.dataset.report)
        path = self._run.folder / RESOLVED
        return kept(made, read_note(path, keys=PLAN_KEYS).get(DECIDED, {})) if path.is_file() else made

    def play(self, servant: Servant | None) -> RunResult:
        """Open, drive, close."""
        with self._failures():
            self._open()
            with self._record.span("start"):
                learner = gather(self._task(), self._means, servant=servant)
            self._start_seconds, self._began = time.perf_counter() - self._began, time.perf_counter()
            try:
                ending = drive(self._run, self._batches(learner), learner, self._record)
                return self._close(learner, ending)
            finally:
                learner.close()

    def _open(self) -> None:
        run = self._run
        self._record.write(
            RunStarted(
                run=run.folder.name,
                plan_fingerprint=fingerprint(run.plan),
                dataset=self._feed.dataset.key,
                workers=self._means.workers,
                memory=self._means.memory,
                machine=describe(),
                versions=_versions(),
                code=code_digest(),
            )
        )
        expected = {"documents": self._feed.total_documents, "tokens": self._feed.total_tokens}
        tell(self._listeners, "expected", expected)
        self._record.add_span("build", self._beginning.build_seconds)
        for warning in self._beginning.warnings:
            self._record.write(Warned(warning))

    def _task(self) -> Task:
        write = self._record.write
        return Task(
            self._run.plan,
            self._feed,
            self._run.folder,
            warn=lambda text: write(Warned(text)),
            note=lambda text: write(Upkeep(text)),
            span=self._record.add_span,
        )

    def _batches(self, learner: Learner) -> Batches:
        """The feed, read ahead where this process reads it: the workers of a pool read their own batches."""
        return self._feed if isinstance(learner, Pool) else Ahead(self._feed)

    def _close(self, learner: Learner, ending: Literal["complete", "stopped"]) -> RunResult:
        seconds = time.perf_counter() - self._began
        position = self._position()
        if isinstance(learner, Pool) and (metrics := learner.leftover()):
            self._record.write(Step(position, 0, 0, metrics, steps=0))
        result = self._result(learner, ending, seconds)
        totals = {"documents": result.documents, "tokens": result.tokens, "learner": result.totals}
        self._record.write(Finished(position, seconds, ending, totals))
        return result

    def _result(self, learner: Learner, ending: Literal["complete", "stopped"], seconds: float) -> RunResult:
        done, before = self._feed.done(self._position()), self._feed.done(self._run.began_at)
        used = used_so_far(self._sampler)
        return RunResult(
            folder=self._run.folder,
            status="finished" if ending == "complete" else "stopped",
            resumed=self._beginning.resumed,
            signal=self._run.stop.signal,
            documents=done.documents,
            tokens=done.tokens,
            learned_documents=done.documents - before.documents,
            learned_tokens=done.tokens - before.tokens,
            seconds=seconds,
            start_seconds=self._start_seconds,
            build_seconds=self._beginning.build_seconds,
            workers=self._means.workers,
            dataset=str(self._feed.dataset.folder),
            totals=learner.totals(),
            peak_memory_bytes=used.peak_memory_bytes,
            peak_shared_once_bytes=used.peak_shared_once_bytes,
            cpu_cores=used.cpu_cores,
        )

    @contextmanager
    def _failures(self) -> Generator[None]:
        """Say of every failure what is saved, and note it on the record where that still can be written."""
        try:
            yield
        except KeyboardInterrupt as cause:
            raise KeyboardInterrupt(self._kept()) from cause
        except RunError as cause:
            self._end(str(cause))
            if self._run.position is None or self._run.untouched:
                # Nothing was begun, and the same command would be refused again.
                raise
            if isinstance(cause, Diverged):
                raise Diverged(f"{cause}\n{self._safe()}") from cause
            raise RunError(f"{cause}\n{self._kept()}") from cause
        except HeadwayError as cause:
            self._end(str(cause))
            raise
        except OSError as cause:
            if cause.errno not in _UNWRITABLE:
                raise
            self._end(str(cause))
            with write_errors(self._run.folder, kept=self._kept()):
                raise

    def _end(self, why: str) -> None:
        seconds = time.perf_counter() - self._began
        reason = "refused" if self._run.position is None else "failed"
        with suppress(RunError):
            self._record.write(Finished(self._position(), seconds, reason, {}, why))

    def _kept(self) -> str:
        if self._run.position is None and not self._beginning.resumed:
            return "nothing was learned yet; the same command begins again"
        if self._run.position is None:
            return f"nothing that was saved before in {self._run.folder} is lost; the same command continues the run"
        return f"{self._safe()}; the same command continues from there"

    def _safe(self) -> str:
        done = self._feed.done(self._position())
        return f"saved and safe: {done.documents:,} of {self._feed.total_documents:,} documents in {self._run.folder}"

    def _position(self) -> Position:
        return self._run.position or Position.START


def feed_of(plan: Plan, dataset: Dataset) -> Feed:
    """The batches that a plan makes of a dataset."""
    layout = registry.layout(plan.learner, dataset, plan.run)
    return Feed(layout, epochs=plan.run.epochs, documents=plan.run.documents)


def _dead_end(folder: Path, feed: Feed) -> Position | None:
    """Where the run may have ended inside a batch under limits that are no longer the plan's."""
    before = _before(folder, feed)
    return before.end if before is not None and before.cut else None


def _beyond(folder: Path, feed: Feed) -> Position | None:
    """The first position at which more is learned than limits allow that are new since the run was last at work."""
    if _before(folder, feed) is None:
        return None
    # A limit inside a batch ends after it in number, but has seen less of it than a run without that limit.
    return feed.end if feed.cut else replace(feed.end, batch=feed.end.batch + 1)


def _before(folder: Path, feed: Feed) -> Feed | None:
    """The feed under the limits of the last session; None when they are those of the plan."""
    path = folder / RESOLVED
    if not path.is_file():
        return None
    old: Any = read_note(path, keys=PLAN_KEYS)["run"]
    if not isinstance(old, dict) or not {"epochs", "documents"} <= old.keys():
        raise RunError(f"{path} is damaged (its run has no limits); restore it from a copy, or start anew with --new")
    if (old["epochs"], old["documents"]) == (feed.epochs, feed.documents):
        return None
    return replace(feed, epochs=old["epochs"], documents=old["documents"])


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
