"""How good forecasts were, and which trainings were like another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal

from headway.run.history.ledger import Entry

Trend = Literal["improving", "stable", "degrading", "insufficient_data"]
_BAND = 0.1
_LEAST = 4
_WEIGHTS = {"num_levels": 0.3, "chunk_sizes": 0.4, "batch_size": 0.15, "num_workers": 0.15}
_BESIDE = 0.15


@dataclass(frozen=True, slots=True)
class Quantity:
    """The forecasts of one quantity; all None where there was none."""

    forecasts: int
    error_percent: float | None
    """Mean of how far off they were."""
    signed_percent: float | None
    """The same with its sign: above 0 more was forecast than came."""
    coverage: float | None
    """Of those that came with an interval, the share that it held."""
    trend: Trend


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good forecasts were; a training without one does not count."""

    total_runs: int
    time: Quantity
    storage: Quantity
    memory: Quantity

    @property
    def avg_time_error_percent(self) -> float | None:
        """None where no time was forecast."""
        return self.time.error_percent

    @property
    def avg_storage_error_percent(self) -> float | None:
        """None where no storage was forecast."""
        return self.storage.error_percent

    @property
    def avg_memory_error_percent(self) -> float | None:
        """None where no memory was forecast."""
        return self.memory.error_percent

    @property
    def time_improvement_trend(self) -> Trend:
        """From the first half of the forecasts to the second, in the order of time."""
        return self.time.trend

    @property
    def storage_improvement_trend(self) -> Trend:
        """From the first half of the forecasts to the second, in the order of time."""
        return self.storage.trend


def accuracy(entries: Sequence[Entry]) -> Accuracy:
    """Of all entries, in whatever order."""
    ordered = sorted(entries, key=lambda entry: entry.timestamp)
    return Accuracy(
        len(ordered),
        _quantity(ordered, "time", lambda entry: (entry.estimated_time_seconds, entry.actual_time_seconds)),
        _quantity(ordered, "storage", lambda entry: (entry.estimated_storage_gb, entry.actual_storage_gb)),
        _quantity(ordered, "memory", lambda entry: (entry.estimated_memory_mb, entry.actual_memory_mb)),
    )


def similar(
    entries: Sequence[Entry], config: Mapping[str, Any], *, dataset: str | None = None, hardware: str | None = None
) -> list[Entry]:
    """The most alike first, the newest first among equals; data and machine count where they are given."""
    ordered = sorted(entries, key=lambda entry: -entry.timestamp)
    return sorted(ordered, key=lambda entry: -_likeness(entry, config, dataset, hardware))


def _likeness(entry: Entry, config: Mapping[str, Any], dataset: str | None, hardware: str | None) -> float:
    scores = [
        (weight, _alike(name, config[name], entry.config[name]))
        for name, weight in _WEIGHTS.items()
        if name in config and name in entry.config
    ]
    beside = ((dataset, entry.dataset_key), (hardware, entry.hardware_tier))
    scores += [(_BESIDE, float(wanted == own)) for wanted, own in beside if wanted is not None]
    whole = sum(weight for weight, _ in scores)
    return sum(weight * score for weight, score in scores) / whole if whole else 0.0


def _alike(name: str, one: Any, other: Any) -> float:
    if one == other:
        return 1.0
    return 0.5 if name == "chunk_sizes" and one and other and one[0] == other[0] else 0.0


def _quantity(
    entries: Sequence[Entry], name: str, pair: Callable[[Entry], tuple[float | None, float | None]]
) -> Quantity:
    signed: list[float] = []
    held: list[bool] = []
    for entry in entries:
        forecast, actual = pair(entry)
        if forecast is not None and actual:
            signed.append((forecast - actual) / actual * 100)
            if name in entry.intervals:
                least, most = entry.intervals[name]
                held.append(least <= actual <= most)
    errors = [abs(error) for error in signed]
    return Quantity(
        len(errors),
        mean(errors) if errors else None,
        mean(signed) if signed else None,
        sum(held) / len(held) if held else None,
        _trend(errors),
    )


def _trend(errors: Sequence[float]) -> Trend:
    """Of errors in the order of time."""
    if len(errors) < _LEAST:
        return "insufficient_data"
    before, after = mean(errors[: len(errors) // 2]), mean(errors[len(errors) // 2 :])
    if before == after:
        return "stable"
    if after < before * (1 - _BAND):
        return "improving"
    return "degrading" if after > before * (1 + _BAND) else "stable"
