"""What a person sees of a run: folded from its events, shown by every display alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.record.meters import Progress
from headway.run.text import count, duration, percent, rate

Phase = Literal["waiting", "building", "training", "saved", "ended"]


@dataclass(slots=True)
class Watch:
    """The state of a run as its events tell it; also a listener."""

    progress: Progress = field(default_factory=Progress)
    build: Mapping[str, Any] | None = None
    began: Mapping[str, Any] | None = None
    ended: Mapping[str, Any] | None = None
    build_started: float | None = None
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

    def metrics(self) -> dict[str, float]:
        """What the learner counted in this session."""
        return dict(self.progress.metrics)

    def build_seconds(self) -> float | None:
        """How long the build has taken so far."""
        return None if self.build_started is None or self.now is None else self.now - self.build_started

    def _training_line(self) -> str:
        progress = self.progress
        speed = progress.rate
        parts = [
            f"training {percent(self.share, 1)}" if self.share is not None else "training",
            f"{count(progress.documents)} documents, {count(progress.tokens)} tokens",
            f"{rate(speed and speed.documents, 'documents')}, {rate(speed and speed.tokens, 'tokens')}",
            f"{duration(progress.eta_seconds)} left",
        ]
        return " | ".join(parts + [f"{name} {count(value)}" for name, value in self.metrics().items()])

    def _build_line(self, build: Mapping[str, Any]) -> str:
        done = f" {percent(self.share, 1)}" if self.share is not None else ""
        parts = [f"dataset: {build['stage']}{done}"]
        if build["shards"]:
            parts.append(f"{build['shards_done']}/{build['shards']} shards")
        if build["documents"]:
            parts.append(f"{count(build['documents'])} documents, {count(build['tokens'])} tokens")
        return " | ".join(parts)
