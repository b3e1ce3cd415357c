"""The sampler of a run: what its plan asks for, and how much it has learned so far."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.plan.plan import Profile, RunSection
from headway.record.events import Sampled
from headway.record.probes.machine import FULL_SHARE, LIGHT_SHARE
from headway.record.sampler import Sampler, own_sampler

_INTERVALS: Mapping[Profile, float] = {"light": 1.0, "full": 0.1}
_SHARES: Mapping[Profile, float] = {"light": LIGHT_SHARE, "full": FULL_SHARE}


class Learned:
    """A listener that counts what was learned, for whoever asks from another thread."""

    def __init__(self) -> None:
        self._counts: dict[str, float] = {"documents": 0, "tokens": 0}

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        if event["event"] == "step":
            # One assignment: who asks meanwhile sees both counts of the same moment.
            self._counts = {name: count + event[name] for name, count in self._counts.items()}

    def counts(self) -> Mapping[str, float]:
        """Documents and tokens so far."""
        return self._counts


def plan_sampler(section: RunSection) -> Sampler | None:
    """The sampler of this process and all it will start, as a plan asks for it; None where it asks for none."""
    if section.profile == "off":
        return None
    interval = _INTERVALS[section.profile] if section.sample_every is None else section.sample_every
    return own_sampler(interval=interval, share=_SHARES[section.profile])


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The gist of what was used; None where it was not measured."""

    peak_memory_bytes: int | None = None
    peak_shared_once_bytes: int | None = None
    cpu_cores: float | None = None


def used_so_far(sampler: Sampler | None) -> Used:
    """What was used up to this moment, the processes that work now included."""
    usage = None if sampler is None else sampler.usage(fresh=True)
    if usage is None:
        return Used()
    whole = usage.whole
    resident, shared_once = whole.peaks.get("rss"), whole.peaks.get("pss")
    return Used(
        peak_memory_bytes=None if resident is None else round(resident),
        peak_shared_once_bytes=None if shared_once is None else round(shared_once),
        cpu_cores=whole.sums["cpu"] / whole.seconds if "cpu" in whole.sums and whole.seconds > 0 else None,
    )


def sampled(sampler: Sampler | None) -> Sampled | None:
    """What was used up to this moment; None where nothing is measured."""
    usage = None if sampler is None else sampler.usage(fresh=True)
    return None if usage is None else Sampled(usage.interval, usage.to_json(), usage.absent)
