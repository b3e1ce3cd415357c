"""A tick: what processes and their machine did and held for a stretch of time. Two ticks merge into one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

MOST_PROCESSES = 32
OTHERS = "others"
# Looked at so rarely that a mean of it would be one of moments; its peak is kept.
_PEAK_ONLY = frozenset({"pss"})
_RATES = ("cpu", "read_bytes", "written_bytes", "host_read_bytes", "host_written_bytes", "sent_bytes", "received_bytes")
_DIGITS = 6
RATE_SECONDS = 0.1
"""The kernel counts processor time in hundredths of a second: over less than this a rate is noise."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one process did and held."""

    cpu: float
    """Seconds on a core."""
    resident: float
    """The most it held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Everything between two looks, or several such stretches merged.

    What could not be measured has no entry. Sums add up over time, gauges are means over it, peaks the largest gauge,
    or sum per second, of any stretch that was merged.
    """

    first: int
    last: int
    """Numbers of the looks that are in it."""
    time: float
    """Unix time at its end."""
    seconds: float
    """How long it was, by a clock that never jumps."""
    sums: Mapping[str, float]
    gauges: Mapping[str, float]
    peaks: Mapping[str, float]
    cores: tuple[float, ...]
    """Busy share of every core of the machine."""
    processes: Mapping[str, Share]
    missed: int = 0
    """Looks that came too late to be made."""
    jumped: float = 0.0
    """Seconds that the clock on the wall was put forward, or back."""


def single(tick: Tick) -> Tick:
    """A tick of one look with its peaks: what it is itself."""
    return replace(tick, peaks=_own_peaks(tick))


def rates(sums: Mapping[str, float], seconds: float) -> dict[str, float]:
    """Sums per second, by names that end in `_rate`; none where the time was too short for the kernel's clock."""
    if seconds < RATE_SECONDS:
        return {}
    # What is told late happened before: counted here, it would be more than there are cores.
    late = {"cpu": sums.get("cpu_late", 0.0)}
    return {f"{name}_rate": (sums[name] - late.get(name, 0.0)) / seconds for name in _RATES if name in sums}


def merged(earlier: Tick, later: Tick) -> Tick:
    """Two neighbours as one: sums and seconds add up, means stay means, peaks stay peaks."""
    seconds = earlier.seconds + later.seconds
    part = later.seconds / seconds if seconds > 0 else 0.5
    return Tick(
        first=earlier.first,
        last=later.last,
        time=later.time,
        seconds=seconds,
        sums=_added(earlier.sums, later.sums),
        gauges=_means(earlier.gauges, later.gauges, part),
        peaks=_most(earlier.peaks, later.peaks),
        cores=_core_means(earlier.cores, later.cores, part),
        processes=busiest(_together(earlier.processes, later.processes)),
        missed=earlier.missed + later.missed,
        jumped=earlier.jumped + later.jumped,
    )


def busiest(processes: Mapping[str, Share]) -> Mapping[str, Share]:
    """The busiest by name, the rest as one."""
    if len(processes) <= MOST_PROCESSES:
        return processes
    ranked = sorted((name for name in processes if name != OTHERS), key=lambda name: -processes[name].cpu)
    kept = ranked[: MOST_PROCESSES - 1]
    left = [processes[name] for name in processes if name not in {*kept}]
    rest = Share(sum(share.cpu for share in left), sum(share.resident for share in left))
    return {name: processes[name] for name in kept} | {OTHERS: rest}


def to_json(tick: Tick) -> dict[str, Any]:
    """Ready for JSON; peaks that a tick of one look has by itself are left out."""
    values: dict[str, Any] = {
        "ticks": [tick.first, tick.last],
        "time": round(tick.time, 3),
        "seconds": round(tick.seconds, _DIGITS),
        "sums": _rounded(tick.sums),
        "gauges": _rounded(tick.gauges),
        "cores": [round(share, 4) for share in tick.cores],
        "processes": {name: [round(each.cpu, 4), round(each.resident)] for name, each in tick.processes.items()},
    }
    if tick.last > tick.first or tick.peaks != _own_peaks(tick):
        values["peaks"] = _rounded(tick.peaks)
    if tick.missed:
        values["missed"] = tick.missed
    if tick.jumped:
        values["jumped"] = round(tick.jumped, 3)
    return values


def from_json(values: Mapping[str, Any]) -> Tick:
    """The tick that was written; a KeyError, TypeError or ValueError where it is none."""
    first, last = values["ticks"]
    tick = Tick(
        first=first,
        last=last,
        time=values["time"],
        seconds=values["seconds"],
        sums=values["sums"],
        gauges=values["gauges"],
        peaks=values.get("peaks", {}),
        cores=tuple(values["cores"]),
        processes={name: Share(*share) for name, share in values["processes"].items()},
        missed=values.get("missed", 0),
        jumped=values.get("jumped", 0.0),
    )
    return tick if "peaks" in values else single(tick)


def _own_peaks(tick: Tick) -> dict[str, float]:
    busy = {"core": max(tick.cores)} if tick.cores and tick.seconds >= RATE_SECONDS else {}
    return {**tick.gauges, **rates(tick.sums, tick.seconds), **busy}


def _added(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: max(one.get(name, value), other.get(name, value)) for name, value in {**one, **other}.items()}


def _means(one: Mapping[str, float], other: Mapping[str, float], part: float) -> dict[str, float]:
    names = (name for name in {**one, **other} if name not in _PEAK_ONLY)
    return {name: _mean(one.get(name), other.get(name), part) for name in names}


def _mean(one: float | None, other: float | None, part: float) -> float:
    if one is None or other is None:
        return (one or 0.0) if other is None else other
    return one + (other - one) * part


def _core_means(one: tuple[float, ...], other: tuple[float, ...], part: float) -> tuple[float, ...]:
    if len(one) != len(other):
        # A core was taken away or added; what is there now is told.
        return other or one
    return tuple(a + (b - a) * part for a, b in zip(one, other, strict=True))


def _together(one: Mapping[str, Share], other: Mapping[str, Share]) -> dict[str, Share]:
    found = dict(one)
    for name, share in other.items():
        known = found.get(name)
        both = share if known is None else Share(known.cpu + share.cpu, max(known.resident, share.resident))
        found[name] = both
    return found


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value if isinstance(value, int) else round(value, _DIGITS) for name, value in values.items()}
