"""headway autoencoder encode | decode | generate | evaluate | rebuild | curves RUN"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.cli.autoencoder_arguments import CHOOSING, arguments

if TYPE_CHECKING:
    from headway.cli.given import Given
    from headway.learners.autoencoder.trained import Rebuilt, Trained

__all__ = ["arguments", "run"]

_KEPT = "nothing else was changed"
_BETWEEN = "\n* * *\n"


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    from headway.cli.places import run_folder

    _check_output(options)
    folder = run_folder(options.run, options.runs_dir)
    if options.action == "curves":
        return _curves(folder, options)
    from headway.learners.autoencoder.trained import open_trained

    with _warnings_said():
        return _DO[options.action](open_trained(folder, options.which), options)


def _check_output(options: argparse.Namespace) -> None:
    """A RunError now, not after the work, where the output cannot be written."""
    path: Path | None = getattr(options, "output", None)
    if path is None:
        return
    from headway.errors import RunError
    from headway.outside import place_for

    if str(path) == "-":
        raise RunError("--output names a file; what goes to standard output goes there without it")
    if options.action == "encode":
        from headway.cli.codes import check_kind

        check_kind(path)
    place_for(path, kept=_KEPT)


@contextmanager
def _warnings_said() -> Generator[None]:
    """What the code warns of, as a line for people."""
    from headway.cli.output import say

    def shown(message: Warning | str, *_: object) -> None:
        say(f"headway: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = shown
        yield


def _encode(model: "Trained", options: argparse.Namespace) -> int:
    from headway.cli.codes import as_array, as_lines
    from headway.outside import put

    given = _given(model, options)
    found = model.encode([each.text for each in given])
    lines = as_lines(found.codes, found.corpus, given)
    if options.output is None:
        for line in lines:
            print(line.decode(), end="")
        return 0
    is_array = options.output.suffix.lower() == ".npy"
    put(options.output, as_array(found.codes) if is_array else b"".join(lines), kept=_KEPT)
    windows, numbers = found.codes.shape
    if options.json:
        _print_json({"file": str(options.output), "texts": len(given), "codes": windows, "numbers": numbers})
    else:
        print(f"{options.output}: {windows:,} codes of {numbers} numbers, of {_counted(len(given), 'text')}")
    return 0


def _decode(model: "Trained", options: argparse.Namespace) -> int:
    from headway.cli.codes import read_codes

    found = read_codes(options.codes)
    lengths = options.length or (model.section.window.size if found.lengths is None else found.lengths)
    _print_texts(model.decode(found.codes, lengths), options)
    return 0


def _generate(model: "Trained", options: argparse.Namespace) -> int:
    from headway.learners.autoencoder.generation import GenerationSettings

    chosen = {name: value for name in (*CHOOSING, "top_k") if (value := getattr(options, name, ...)) is not ...}
    texts = model.generate(
        seed_text=options.seed_text, settings=GenerationSettings(**chosen), seed=options.seed, number=options.number
    )
    _print_texts(texts, options)
    return 0


def _evaluate(model: "Trained", options: argparse.Namespace) -> int:
    from headway.outside import put

    texts = None if options.data is None else [each.text for each in _texts(model, options.data, [], options.field)]
    report = model.evaluate(options.side, texts=texts)
    values = report.to_json()
    if options.output is not None:
        put(options.output, (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode(), kept=_KEPT)
    if options.json:
        _print_json(values)
    else:
        print("\n".join(report.lines()))
    return 0


def _rebuild(model: "Trained", options: argparse.Namespace) -> int:
    given = _given(model, options)
    found = model.rebuild([each.text for each in given], most=options.number)
    if options.json:
        for each in found:
            source = {"document": each.document, "source": given[each.document].source}
            _print_json({**source, "given": each.given, "made": each.made, "cosine": each.cosine})
        return 0
    _show_rebuilt(found, given)
    return 0


def _curves(folder: Path, options: argparse.Namespace) -> int:
    from headway.cli.learned import events
    from headway.cli.places import run_folder
    from headway.learners.autoencoder.curves import draw
    from headway.outside import place_for

    others = [run_folder(name, options.runs_dir) for name in options.others]
    names = [other.name for other in others]
    labels = [other.name if names.count(other.name) == 1 else str(other) for other in others]
    own = events(folder)
    draw(
        own,
        place_for(options.output, kept=_KEPT),
        others={label: events(other) for label, other in zip(labels, others, strict=True)},
    )
    if options.json:
        _print_json({"file": str(options.output), "runs": [str(each) for each in (folder, *others)]})
    else:
        print(f"{options.output}: {_counted(1 + len(others), 'run')}")
    return 0


_DO: dict[str, Callable[["Trained", argparse.Namespace], int]] = {
    "encode": _encode,
    "decode": _decode,
    "generate": _generate,
    "evaluate": _evaluate,
    "rebuild": _rebuild,
}


def _given(model: "Trained", options: argparse.Namespace) -> "list[Given]":
    return _texts(model, options.files, options.text, options.field)


def _texts(model: "Trained", files: Sequence[str], texts: Sequence[str], field: str | None) -> "list[Given]":
    """Texts, read as those were that the model learned."""
    from headway.cli.given import given_texts

    return given_texts(files, texts, field=field or model.data.field, ends=model.data.texts)


def _show_rebuilt(found: "list[Rebuilt]", given: "list[Given]") -> None:
    from rich.table import Table
    from rich.text import Text

    from headway.cli.console import page

    console = page(sys.stdout)
    for number, each in enumerate(found):
        cosine = "no word has a vector" if each.cosine is None else f"cosine {each.cosine:.4f}"
        console.print(Text(f"{given[each.document].source}, {cosine}", style="bold"), soft_wrap=True)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
        table.add_column("given", overflow="fold", ratio=1)
        table.add_column("from its code alone", overflow="fold", ratio=1)
        table.add_row(Text(each.given), Text(each.made))
        console.print(table)
        if number + 1 < len(found):
            console.print()


def _print_texts(texts: Sequence[str], options: argparse.Namespace) -> None:
    if options.json:
        _print_json({"texts": list(texts)})
    else:
        print(_BETWEEN.join(f"{text}\n" for text in texts), end="")


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' if number != 1 else ''}"
