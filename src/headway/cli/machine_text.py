"""A machine and its figures as people read them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from headway.machine.compare import Comparison, Difference
from headway.machine.figure import Figure
from headway.machine.hardware import Hardware
from headway.machine.processor import Cache, Processor
from headway.machine.result import BenchResult
from headway.machine.storage import Disk
from headway.machine.tier import tier
from headway.plan.section import format_bytes
from headway.run.bench import Benched
from headway.run.text import duration

_Row = TypeVar("_Row", Figure, Difference)


def described(here: Hardware) -> list[tuple[str, str]]:
    """The description, line by line; what is not known says why."""
    return list(_lines(here))


def headline(done: Benched) -> Text:
    """Which machine, when, and whether that was now."""
    result = done.result
    when = f"remembered of {result.began}; measure anew with --again" if done.remembered else f"measured {result.began}"
    return Text(f"machine {result.fingerprint}, {when}, in {duration(result.seconds)}; kept in {done.path}")


def figures(result: BenchResult) -> list[Table]:
    """The table of a result, the widest form first."""
    columns: tuple[tuple[str, Callable[[Figure], str]], ...] = (
        ("figure", lambda each: each.name),
        ("median", lambda each: _number(each.median)),
        ("unit", lambda each: each.unit),
        ("95 % interval", _interval),
        ("of", lambda each: str(len(each.values)) if each.values else ""),
        ("", _note),
    )
    return [
        _table([*columns[:5], ("", _whole_note)], result.figures),
        _table(columns, result.figures),
        *(_table(columns[:most], result.figures) for most in (5, 4, 3)),
    ]


def compared(comparison: Comparison) -> list[Table]:
    """The table of a comparison, with its verdict above."""
    columns: tuple[tuple[str, Callable[[Difference], str]], ...] = (
        ("figure", lambda each: each.name),
        ("second / first", lambda each: _number(each.ratio)),
        ("interval", lambda each: "" if each.low is None else f"{_number(each.low)} to {_number(each.high)}"),
        ("verdict", lambda each: each.verdict),
        ("", lambda each: each.why),
    )
    tables = [_table(columns[:most], comparison.differences) for most in (5, 4)]
    for table in tables:
        table.title = f"the two results are {comparison.verdict}" if comparison.verdict != "unclear" else "unclear"
        table.title_justify = "left"
    return tables


def _lines(here: Hardware) -> Iterator[tuple[str, str]]:
    core, memory = here.processor, here.memory
    size = tier(core.logical_cores, memory.total_bytes)
    yield "machine", f"{here.fingerprint}, tier {size or 'unknown'}"
    named = f" ({core.core})" if core.core else ""
    yield "processor", f"{core.model or _why(here, 'processor.model')}{named}, {core.architecture}"
    yield "cores", _cores(core)
    yield "caches", ", ".join(map(_cache, core.caches)) if core.caches else _why(here, "processor.caches")
    yield "vector", " ".join(core.vector) if core.vector is not None else _why(here, "processor.vector")
    limit = "no limit" if memory.limit_bytes is None else f"{format_bytes(memory.limit_bytes)} allowed"
    free = f"{format_bytes(memory.free_bytes)} free, {limit}, {format_bytes(memory.swap_bytes)} swap"
    yield "memory", f"{format_bytes(memory.total_bytes)}, {free}"
    for disk in here.disks:
        yield "disk", _disk(disk)
    for gpu in here.gpus.found:
        held = "memory not told" if gpu.memory_bytes is None else format_bytes(gpu.memory_bytes)
        yield "gpu", f"{gpu.name or 'unnamed'} ({gpu.vendor}), {held}"
    for vendor, why in here.gpus.absent.items():
        yield f"gpu {vendor}", f"none: {why}"
    yield "system", f"{here.system.platform}, Python {here.system.python}"
    yield "container", here.system.container or f"none: {_why(here, 'system.container')}"


def _why(here: Hardware, name: str) -> str:
    return f"unknown: {here.absent[name]}"


def _cores(core: Processor) -> str:
    physical, logical = (
        count if count is not None else "unknown" for count in (core.physical_cores, core.logical_cores)
    )
    quota = "no quota" if core.quota_cores is None else f"a quota of {core.quota_cores:g}"
    allowed = "no affinity" if core.allowed_cores is None else f"{core.allowed_cores} by affinity"
    return f"{core.usable_cores} usable; {physical} physical, {logical} logical, {allowed}, {quota}"


def _cache(cache: Cache) -> str:
    kind = {"data": "d", "instruction": "i"}.get(cache.kind, "")
    return f"L{cache.level}{kind} {cache.count} x {format_bytes(cache.bytes)}"


def _disk(disk: Disk) -> str:
    kind = disk.kind or f"kind unknown: {disk.why}"
    space = f"{format_bytes(disk.free_bytes)} free of {format_bytes(disk.total_bytes)}"
    return f"{disk.folder} on {disk.mount} ({disk.file_system}, {disk.device}): {space}; {kind}"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _interval(figure: Figure) -> str:
    return "" if figure.interval is None else f"{_number(figure.interval[0])} to {_number(figure.interval[1])}"


def _note(figure: Figure) -> str:
    if figure.why is not None:
        return figure.why
    return "" if figure.quiet else "others kept the machine busy"


def _whole_note(figure: Figure) -> str:
    return "; ".join(filter(None, (_note(figure), figure.how)))


def _table(columns: Sequence[tuple[str, Callable[[_Row], str]]], rows: Sequence[_Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for name, _ in columns:
        number = name in ("median", "of", "second / first")
        table.add_column(name, justify="right" if number else "left", no_wrap=name != "", overflow="fold")
    for row in rows:
        table.add_row(*(Text(show(row)) for _, show in columns))
    return table
