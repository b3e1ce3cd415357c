"""headway memory stats | top | show | verify | repair | compact | export MEMORY"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.cli.options import at_least_one

if TYPE_CHECKING:
    from headway.learners.patterns.memory import Memory, Pattern

_ACTIONS = {
    "stats": "patterns, observations, bytes and frequencies of every level",
    "top": "the most frequent patterns, as text",
    "show": "one pattern by its name",
    "verify": "check every file and every count",
    "repair": "remove what no manifest names",
    "compact": "merge all runs of each level into one",
    "export": "write all patterns to one file",
}
_TOP = 20
_MOST_FREQUENT = 10
_CHARACTERS = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, purpose in _ACTIONS.items():
        action = verbs.add_parser(name, help=purpose)
        if name == "show":
            action.add_argument("pattern", metavar="PATTERN", help="a name, with or without PTRN|")
        if name in ("top", "export"):
            action.add_argument("--level", type=int, metavar="L", help="one level (default: all)")
        if name == "top":
            action.add_argument(
                "-n", "--number", type=at_least_one, default=_TOP, metavar="N", help=f"how many (default: {_TOP})"
            )
        if name == "export":
            action.add_argument("--format", required=True, choices=("parquet", "jsonl", "csv"), help="the kind of file")
            action.add_argument("--output", required=True, type=Path, metavar="FILE", help="where to write")
        action.add_argument("memory", type=Path, metavar="MEMORY", help="a memory folder, or a run folder or its name")
        action.add_argument("--json", action="store_true", help="JSON instead of text")


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    from headway.cli.places import memory_folder
    from headway.learners.patterns.memory import open_memory

    if options.action == "export":
        _check_output(options)
    options.memory = memory_folder(options.memory)
    with open_memory(options.memory) as memory:
        return _DO[options.action](memory, options)


def _check_output(options: argparse.Namespace) -> None:
    if str(options.output) == "-":
        from headway.errors import RunError

        raise RunError(f"an export is written to a file only; name it, as in --output patterns.{options.format}")


def _stats(memory: "Memory", options: argparse.Namespace) -> int:
    from headway.cli import frequencies

    if options.json:
        stats, found = memory.stats(), frequencies.analysed(memory)
        levels = [a | b for a, b in zip(stats["levels"], found["levels"], strict=True)]
        tops = [[_plain(memory, pattern) for pattern in level.top(_MOST_FREQUENT)] for level in memory.levels]
        levels = [level | {"top": top} for level, top in zip(levels, tops, strict=True)]
        _print_json(stats | {"levels": levels, "sizes": found["sizes"]})
        return 0
    from headway.cli.console import page
    from headway.cli.summary import levels_table

    console = page(sys.stdout)
    console.print(levels_table(memory, console))
    frequencies.show(memory, console)
    return 0


def _top(memory: "Memory", options: argparse.Namespace) -> int:
    levels = range(len(memory.levels)) if options.level is None else [_level(memory, options.level)]
    if options.json:
        _print_json([_plain(memory, found) for level in levels for found in memory.top(options.number, level)])
        return 0
    from headway.cli.summary import top_table

    for level in levels:
        print(f"level {level}")
        _print_rich(top_table(memory, options.number, level, characters=_CHARACTERS, names=True))
    return 0


def _show(memory: "Memory", options: argparse.Namespace) -> int:
    from headway.errors import HeadwayError

    found = memory.get(options.pattern)
    if found is None:
        raise HeadwayError(f"there is no pattern {options.pattern} in {options.memory}; look with: headway memory top")
    values = _plain(memory, found)
    if options.json:
        _print_json(values)
        return 0
    metadata = values.pop("metadata") or {}
    for name, value in values.items():
        print(f"{name:<10} {' '.join(map(str, value)) if name == 'symbols' else value}")
    for name, value in metadata.items():
        print(f"{name:<10} {', '.join(value)}")
    return 0


def _verify(memory: "Memory", options: argparse.Namespace) -> int:
    problems = [str(problem) for problem in memory.verify().problems]
    if options.json:
        _print_json({"problems": problems})
    elif not problems:
        print(f"{options.memory}: every file is whole and every count adds up")
    if problems:
        from headway.errors import MemoryDamage

        lines = "\n".join(f"  - {problem}" for problem in problems)
        raise MemoryDamage(f"{options.memory} has {len(problems)} problem{'s' if len(problems) > 1 else ''}\n{lines}")
    return 0


def _repair(memory: "Memory", options: argparse.Namespace) -> int:
    removed = memory.repair()
    if options.json:
        _print_json({"removed": removed})
        return 0
    for name in removed:
        print(f"removed {name}")
    print(f"{options.memory}: {len(removed)} file{'s' if len(removed) != 1 else ''} removed that no manifest names")
    return 0


def _compact(memory: "Memory", options: argparse.Namespace) -> int:
    changed = memory.compact()
    if options.json:
        _print_json(changed)
        return 0
    from headway.plan.section import format_bytes

    before, after = changed["before"], changed["after"]
    runs = [sum(level["runs"] for level in stats["levels"]) for stats in (before, after)]
    sizes = [format_bytes(stats["bytes"]) for stats in (before, after)]
    print(f"{options.memory}: {runs[0]} runs with {sizes[0]} are now {runs[1]} with {sizes[1]}")
    return 0


def _export(memory: "Memory", options: argparse.Namespace) -> int:
    level = None if options.level is None else _level(memory, options.level)
    patterns = memory.export(options.output, format=options.format, level=level)
    if options.json:
        _print_json({"file": str(options.output), "format": options.format, "patterns": patterns})
    else:
        print(f"{options.output}: {patterns:,} patterns")
    return 0


_DO: dict[str, Callable[["Memory", argparse.Namespace], int]] = {
    "stats": _stats,
    "top": _top,
    "show": _show,
    "verify": _verify,
    "repair": _repair,
    "compact": _compact,
    "export": _export,
}


def _level(memory: "Memory", level: int) -> int:
    if not 0 <= level < len(memory.levels):
        from headway.errors import HeadwayError

        raise HeadwayError(f"there is no level {level} in this memory; its levels are 0 to {len(memory.levels) - 1}")
    return level


def _plain(memory: "Memory", pattern: "Pattern") -> dict[str, Any]:
    return {
        "name": pattern.name,
        "level": pattern.level,
        "frequency": pattern.frequency,
        "length": pattern.length,
        "text": memory.text(pattern),
        "symbols": list(pattern.symbols),
        "metadata": None if memory.manifest.identity.metadata == "none" else memory.metadata(pattern),
    }


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, default=str))


def _print_rich(table: Any) -> None:
    from headway.cli.console import page

    page(sys.stdout).print(table)
