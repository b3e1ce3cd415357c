"""Where a build takes place: its folder, its processes, and whoever watches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue

from headway.data.crew import Crew, Outcome
from headway.data.engine_check import Choice
from headway.data.maker import KEPT, Maker
from headway.data.proof import identify, likely, prove
from headway.data.report import BuildProgress, BuildStopped
from headway.data.shards import Job, Marker, Recipe
from headway.data.sources import Part
from headway.data.tokenizers import Tokenizer
from headway.data.vocabulary import Vocabulary
from headway.data.worker import Check, Start

__all__ = ["KEPT", "Site", "Work"]

_LISTEN_SECONDS = 0.05
# Text an engine tokenises while one more process starts: with less than that, it would come too late to help.
BYTES_PER_HIRE = {
    "gigatoken": 48 << 20,
    "fastokens": 16 << 20,
    "tiktoken": 4 << 20,
    "python": 4 << 20,
    "tokenizers": 1 << 20,
}


@dataclass(frozen=True, slots=True)
class Work:
    """The shards that were wanted, and how they came about."""

    markers: dict[int, Marker]
    engine: str
    rejected: dict[str, str]
    kept: int
    progress: BuildProgress
    vocabulary: Vocabulary | None
    """None when each shard grew its own."""


@dataclass(frozen=True, slots=True)
class Site:
    """Makes shards in a folder, in this process and in `workers` - 1 others."""

    folder: Path
    recipe: Recipe
    lock: int
    workers: int
    tell: Callable[[BuildProgress], None]
    is_stopped: Callable[[], bool]

    def work(self, jobs: Sequence[Job], kept: dict[int, Marker]) -> Work:
        """Make the shards that are not kept, with an engine that is proven by the time this returns."""
        tokenizer = likely(self.recipe)
        chosen = Choice(tokenizer.engine)
        # For a small corpus another process costs more than it saves; else the proof, and the memory it takes, is left
        # to one, which then helps with the shards.
        alone = len(jobs) - len(kept) < 2
        needs_proof = identify(self.recipe).has_engines
        if needs_proof and alone:
            chosen = prove(self.recipe, sampled(jobs), loaded=tokenizer)
            tokenizer = self._adopted(tokenizer, chosen)
        markers = {number: marker for number, marker in kept.items() if marker.engine == tokenizer.engine}
        shift = _Shift(self, jobs, markers, tokenizer, None if needs_proof and not alone else chosen)
        chosen = shift.run()
        if chosen.engine == tokenizer.engine:
            return Work(
                shift.markers, chosen.engine, chosen.rejected, len(markers), shift.progress(), tokenizer.vocabulary
            )
        # Its ids would not be the reference's: all that it made is made again.
        tokenizer = self._adopted(tokenizer, chosen)
        again = _Shift(self, jobs, {}, tokenizer, chosen)
        again.run()
        return Work(again.markers, chosen.engine, chosen.rejected, 0, again.progress(), tokenizer.vocabulary)

    def _adopted(self, tokenizer: Tokenizer, chosen: Choice) -> Tokenizer:
        if tokenizer.engine == chosen.engine:
            return tokenizer
        return likely(replace(self.recipe, engine=chosen.engine))


class _Shift:
    """One go at all jobs with one engine."""

    def __init__(
        self, site: Site, jobs: Sequence[Job], markers: dict[int, Marker], tokenizer: Tokenizer, chosen: Choice | None
    ) -> None:
        self.markers = dict(markers)
        self._site = site
        self._jobs = jobs
        self._tokenizer = tokenizer
        self._chosen = chosen
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._missing = {job.number for job in jobs} - self.markers.keys()
        self._open = deque(_in_order_of_start([job for job in jobs if job.number in self._missing]))

    def run(self) -> Choice:
        """Make what is missing; the engine that was proven meanwhile, or another if this one was not."""
        site = self._site
        recipe = replace(site.recipe, engine=self._tokenizer.engine)
        with (
            Crew(lock=site.lock, jobs=self._open, outcomes=self._outcomes) as crew,
            Maker(recipe, site.folder, tokenizer=self._tokenizer, done=self._outcomes.put) as maker,
        ):
            for order in self._orders(recipe):
                crew.hire(order)
            self._attend(maker, crew)
        assert self._chosen is not None
        return self._chosen

    def progress(self) -> BuildProgress:
        """How far it is."""
        done = [job for job in self._jobs if job.number in self.markers]
        return BuildProgress(
            stage="tokenizing",
            shards=len(self._jobs),
            shards_done=len(done),
            bytes=sum(job.bytes or 0 for job in self._jobs),
            bytes_done=sum(job.bytes or 0 for job in done),
            documents=sum(marker.shard.documents for marker in self.markers.values()),
            tokens=sum(marker.shard.tokens for marker in self.markers.values()),
        )

    def _attend(self, maker: Maker, crew: Crew) -> None:
        """Work like every other worker, and between blocks listen to them."""
        while not self._is_refuted() and (job := self._next()):
            maker.make(job, tick=self._listen)
        maker.wait()
        while self._is_waiting():
            is_hopeless = not crew.is_at_work()
            self._listen(_LISTEN_SECONDS)
            if is_hopeless and self._is_waiting():
                raise RuntimeError(f"all build workers have ended but shards {sorted(self._missing)} are missing")

    def _orders(self, recipe: Recipe) -> list[Start | Check]:
        """What to start processes for, beside this one."""
        most = min(self._site.workers, len(self._missing)) - 1
        start = Start(recipe, self._site.folder)
        if self._chosen is not None:
            return [start] * self._worthwhile(most)
        check = Check(self._site.recipe, sampled(self._jobs))
        if most < 1:
            return [check]
        return [replace(start, check=check), *[start] * (self._worthwhile(most) - 1)]

    def _worthwhile(self, most: int) -> int:
        """How many helpers come in time to be of use."""
        sizes = [job.bytes for job in self._open]
        known = sum(size for size in sizes if size is not None)
        if None in sizes:
            return most
        return min(most, known // max(1, BYTES_PER_HIRE.get(self._tokenizer.engine, 0)))

    def _next(self) -> Job | None:
        if not self._is_wanting():
            self._open.clear()
        try:
            return self._open.popleft()
        except IndexError:
            return None

    def _listen(self, seconds: float = 0.0) -> None:
        """Take in what has happened; raise when it is an error or a request to stop."""
        if self._site.is_stopped():
            raise BuildStopped(f"stopped; {len(self.markers)} of {len(self._jobs)} shards are kept for the next build")
        try:
            self._take(self._outcomes.get(timeout=seconds) if seconds else self._outcomes.get_nowait())
            while True:
                self._take(self._outcomes.get_nowait())
        except Empty:
            return

    def _take(self, outcome: Outcome) -> None:
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, Choice):
            self._chosen = outcome
            return
        number = int(outcome.shard.name)
        self.markers[number] = outcome
        self._missing.discard(number)
        self._site.tell(self.progress())

    def _is_waiting(self) -> bool:
        return not self._is_refuted() and (self._is_wanting() or self._chosen is None)

    def _is_refuted(self) -> bool:
        return self._chosen is not None and self._chosen.engine != self._tokenizer.engine

    def _is_wanting(self) -> bool:
        """Whether a shard is missing before the limit of documents is reached."""
        if not self._missing:
            return False
        limit, first = self._jobs[0].limit, min(self._missing)
        if limit is None:
            return True
        return sum(self.markers[job.number].shard.documents for job in self._jobs if job.number < first) < limit


def sampled(jobs: Sequence[Job]) -> tuple[Part, ...]:
    """A part from the beginning, the middle and the end."""
    places = sorted({0, len(jobs) // 2, len(jobs) - 1}) if jobs else []
    return tuple(jobs[place].parts[0] for place in places)


def _in_order_of_start(jobs: list[Job]) -> list[Job]:
    """Large ones first, so that none is left for the end; in their own order when only the first documents count."""
    if any(job.limit is not None for job in jobs):
        return jobs
    return sorted(jobs, key=lambda job: -(job.bytes or 0) if job.bytes is not None else float("-inf"))
