"""What a training call gives back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run as it stands when `train` returns; what was learned is durable in `folder`."""

    folder: Path
    status: Literal["finished", "stopped"]
    resumed: bool
    """Whether an earlier session's work was continued."""
    signal: int | None
    """The signal that stopped it."""
    documents: int
    tokens: int
    """Of the whole run, all sessions together."""
    learned_documents: int
    learned_tokens: int
    """Of this call alone."""
    seconds: float | None
    """Measured from the first step to the last save of this call; None when there was nothing left to do."""
    start_seconds: float | None
    """Measured before the first step: code loaded, workers started; None when there was nothing left to do."""
    build_seconds: float | None
    """Measured from the sources to the opened dataset; None when there was nothing left to do."""
    workers: int | None
    dataset: str | None
    totals: dict[str, Any]
    """What the learner says about its saved state."""
    peak_memory_bytes: int | None = None
    """The most that all processes held at a look, pages they share counted in each; None where nothing was measured."""
    peak_shared_once_bytes: int | None = None
    """The same with shared pages counted once; looked at rarely."""
    cpu_cores: float | None = None
    """Cores' worth of time this call used, on average; None where nothing was measured."""

    @property
    def documents_per_second(self) -> float | None:
        """Measured training speed; None when nothing was learned."""
        return _rate(self.learned_documents, self.seconds)

    @property
    def tokens_per_second(self) -> float | None:
        """Measured training speed; None when nothing was learned."""
        return _rate(self.learned_tokens, self.seconds)

    @property
    def documents_per_second_end_to_end(self) -> float | None:
        """The same with the dataset and the start counted in."""
        return _rate(self.learned_documents, self.seconds_end_to_end)

    @property
    def tokens_per_second_end_to_end(self) -> float | None:
        """The same with the dataset and the start counted in."""
        return _rate(self.learned_tokens, self.seconds_end_to_end)

    @property
    def seconds_end_to_end(self) -> float | None:
        """From the sources to the last save; None when there was nothing left to do."""
        parts = (self.build_seconds, self.start_seconds, self.seconds)
        return None if None in parts else sum(part for part in parts if part is not None)


def _rate(amount: int, seconds: float | None) -> float | None:
    return amount / seconds if amount and seconds else None
