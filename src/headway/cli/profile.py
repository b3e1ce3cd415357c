"""headway profile COMMAND..."""

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from headway.errors import RunError

if TYPE_CHECKING:
    from headway.record.tick import Tick
    from headway.run.command import Measured

_USUAL_SECONDS = 1.0
_DASH = "not measured"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    parser.add_argument(
        "--interval",
        type=_interval,
        default=_USUAL_SECONDS,
        metavar="SECONDS",
        help="time between two looks, 0.01 or more (default: 1)",
    )
    parser.add_argument(
        "--json", action="store_true", help="the summary as one line of JSON on standard output, after the command's"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND...", help="a program and its arguments")


def run(options: argparse.Namespace) -> int:
    """Run the command, then say on standard error what it used; its exit code."""
    from headway.run.command import run_measured

    command: list[str] = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise RunError("there is no command to profile; give a program and its arguments, after -- if it has options")
    measured = run_measured(command, interval=options.interval)
    if options.json:
        print(json.dumps(_plain(command, measured), ensure_ascii=False))
    else:
        _show(command, measured)
    return measured.code


def _interval(text: str) -> float:
    from headway.record.sampler import LEAST_INTERVAL

    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds >= LEAST_INTERVAL:
        raise argparse.ArgumentTypeError(f"{text} should be a number of seconds, {LEAST_INTERVAL} or more")
    return seconds


def _plain(command: list[str], measured: "Measured") -> dict[str, Any]:
    usage = measured.usage
    return {
        "command": command,
        "exit_code": measured.code,
        "seconds": measured.seconds,
        "interval": None if usage is None else usage.interval,
        "largest_process_bytes": measured.largest_process_bytes,
        "usage": None if usage is None else usage.to_json(),
        "not_measured": {} if usage is None else dict(usage.absent),
    }


def _show(command: list[str], measured: "Measured") -> None:
    from rich.text import Text

    from headway.cli.console import page
    from headway.cli.summary import pairs
    from headway.run.text import duration

    console = page(sys.stderr)
    title = f"{shlex.join(command)}: exit code {measured.code} after {duration(measured.seconds)}"
    console.print()
    console.print(Text(title, style="bold"), soft_wrap=True)
    rows = [] if measured.usage is None else _rows(measured.usage.whole, measured)
    absent = {} if measured.usage is None else measured.usage.absent
    console.print(pairs([*rows, *((f"no {what}", why) for what, why in absent.items())]))


def _rows(whole: "Tick", measured: "Measured") -> list[tuple[str, str]]:
    from headway.plan.section import format_bytes
    from headway.run.text import amount, cores, duration, peak

    def size(name: str) -> str:
        return format_bytes(round(whole.sums[name])) if name in whole.sums else _DASH

    def of_peaks(name: str) -> int | None:
        return round(whole.peaks[name]) if name in whole.peaks else None

    largest = measured.largest_process_bytes
    fastest = whole.peaks.get("cpu_rate")
    missed = f", {amount(whole.missed, 'look')} missed" if whole.missed else ""
    return [
        ("memory", peak(of_peaks("rss"), of_peaks("pss"))),
        *([] if largest is None else [("", f"{format_bytes(largest)} in the largest process")]),
        ("processor", cores(whole.sums["cpu"] / whole.seconds if whole.seconds > 0 else None)),
        ("", _DASH if fastest is None else f"{fastest:.2f} cores at most between two looks"),
        ("waiting", duration(whole.sums.get("waited")) + " for a core, all threads together"),
        ("disk", f"{size('read_bytes')} read, {size('written_bytes')} written by it"),
        ("", f"{size('host_read_bytes')} read, {size('host_written_bytes')} written by the whole machine"),
        ("network", f"{size('received_bytes')} received, {size('sent_bytes')} sent by the whole machine"),
        *_gpus(whole),
        ("looks", f"{whole.last - whole.first + 1:,}{missed}"),
    ]


def _gpus(whole: "Tick") -> list[tuple[str, str]]:
    from headway.plan.section import format_bytes
    from headway.run.text import percent

    found: list[tuple[str, str]] = []
    cards = {name.partition("_")[0] for name in whole.gauges if name.startswith("gpu")}
    for card in sorted(cards):
        busy, held = whole.gauges.get(f"{card}_busy"), whole.peaks.get(f"{card}_memory")
        parts = [
            _DASH if busy is None else f"busy {percent(busy, 1)} of the time",
            _DASH if held is None else f"{format_bytes(round(held))} at most",
        ]
        found.append((card, ", ".join(parts)))
    return found
