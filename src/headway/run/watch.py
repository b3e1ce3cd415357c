"""What a person sees of a run: folded from its events, shown by every display alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.record.meters import Progress
from headway.run.figures import on_line, on_screen
from headway.run.text import counted, duration, percent, rate

Phase = Literal["waiting", "building", "training", "saved", "ended"]


@dataclass(slots=True)
class Watch:
    """The state of a run as its events tell it; also a listener."""

    progress: Progress = field(default_factory=Progress)
    build: Mapping[str, Any] | None = None
    began: Mapping[str, Any] | None = None
    ended: Mapping[str, Any] | None = None
    build_started: float | None = None
    evaluated: int | None = None
    """The epoch after which the learner last told how good it is."""
    now: float | None = None

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        self.now = event["time"]
        match event["event"]:
            case "build":
                self.build = event
                self.build_started = self.build_started or event["time"]
            case "expected":
                self.progress.total_documents = event["documents"]
                self.progress.total_tokens = event["tokens"]
            case "note":
                pass
            case kind:
                if kind == "run_started":
                    self.began = event
                elif kind == "finished":
                    self.ended = event
                elif kind == "evaluated":
                    self.evaluated = event["position"][0]
                self.progress.fold(event)

    @property
    def training(self) -> bool:
        """Whether the dataset is ready and the learner at work."""
        return self.began is not None

    @property
    def share(self) -> float | None:
        """How much of the present phase is done, 0 to 1; None when that is not known."""
        if self.training:
            whole = self.progress.total_tokens
            return min(1.0, self.progress.tokens / whole) if whole else None
        if self.build is None or not self.build["bytes"]:
            return None
        return min(1.0, self.build["bytes_done"] / self.build["bytes"])

    def line(self) -> str:
        """The state in one line."""
        if self.training:
            return self._training_line()
        return "starting" if self.build is None else self._build_line(self.build)

    def metrics(self, *, brief: bool = False) -> dict[str, str]:
        """What the learner counted in this session, its latest means, and how good it last was; or the gist of it."""
        show = on_line if brief else on_screen
        return show(self.progress.metrics, self.progress.evaluation, self.evaluated)

    def build_seconds(self) -> float | None:
        """How long the build has taken so far."""
        return None if self.build_started is None or self.now is None else self.now - self.build_started

    def _training_line(self) -> str:
        progress = self.progress
        speed = progress.rate
        parts = [
            f"training {percent(self.share, 1)}" if self.share is not None else "training",
            f"{counted(progress.documents, 'document')}, {counted(progress.tokens, 'token')}",
        ]
        if speed is not None:
            parts.append(f"{rate(speed.documents, 'documents')}, {rate(speed.tokens, 'tokens')}")
        if progress.eta_seconds is not None:
            parts.append(f"{duration(progress.eta_seconds)} left")
        metrics = [f"{name} {shown}" for name, shown in self.metrics(brief=True).items()]
        if progress.continued and metrics:
            metrics[0] = f"in this session: {metrics[0]}"
        return " | ".join(parts + metrics)

    def _build_line(self, build: Mapping[str, Any]) -> str:
        done = f" {percent(self.share, 1)}" if self.share is not None else ""
        parts = [f"dataset: {build['stage']}{done}"]
        if build["shards"]:
            parts.append(f"{build['shards_done']}/{build['shards']} shards")
        if build["documents"]:
            parts.append(f"{counted(build['documents'], 'document')}, {counted(build['tokens'], 'token')}")
        return " | ".join(parts)
