"""Word vectors by the names of the seeds: found, loaded in one call, and every way to load them measured."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import DataError
from headway.tools.learner import say

if TYPE_CHECKING:
    from headway.data.vectors.table import Vectors

_FOLDERS = ("", "embeddings", "data", "data/embeddings", "vectors")
_NAMES = re.compile(r"(glove|wiki-news|crawl|wink-embeddings).*\.(txt|vec|json)(\.gz|\.zst)?", re.IGNORECASE)
_DIMENSIONS = re.compile(r"(\d+)d\b")
_WORDS = 5_000
_NAIVE = "naive loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingMethod:
    """What one way to load a vector file was measured to cost, in a process of its own; None where it was not."""

    method: str
    cpu_seconds: float | None = None
    seconds: float | None = None
    times_naive: float | None = None
    """How many times less processor time than the naive loop."""
    extra_bytes: int | None = None
    """What the process held more at the most than before it began, mapped files included."""
    result: str
    """What was loaded, and how it differs from what the file says."""


def load_glove(
    path: Path | str,
    vocabulary: Collection[str] | None = None,
    *,
    cache_dir: Path | str = "vectors",
    dimensions: int | None = None,
    verbose: bool = True,
) -> "Vectors":
    """The vectors of a file in GloVe's format by word: all of them, or those of a vocabulary in any of their forms.

    The first call converts the file into a table below `cache_dir`, later ones open it.
    """
    from headway.data.vectors.convert import Conversion, load_vectors
    from headway.data.vectors.lookup import wanted

    words = None if vocabulary is None else wanted(sorted(vocabulary))
    vectors = load_vectors(Path(path), cache=Path(cache_dir), asked=Conversion(wanted=words, dimensions=dimensions))
    if verbose:
        say(f"{vectors.folder}: {len(vectors):,} vectors of {vectors.dimensions} numbers")
    return vectors


def find_glove_embeddings(folder: Path | str = ".") -> Path:
    """The vector file in a folder or where such files usually lie below it; the one of most dimensions.

    A DataError says where it looked.
    """
    places = [Path(folder) / name for name in _FOLDERS]
    found = [path for place in places for path in sorted(place.glob("*")) if _NAMES.fullmatch(path.name)]
    if not found:
        looked = ", ".join(str(place) for place in places)
        raise DataError(f"there is no file of word vectors (glove*.txt and the like) in {looked}; name one")
    return max(found, key=_said_dimensions)


def benchmark_loading_methods(
    path: Path | str, *, vocabulary_size: int = _WORDS, verbose: bool = True
) -> list[LoadingMethod]:
    """Load a vector file in every way there is here, show what each took, and return it.

    The file is read once before, so that it lies in memory for all; imports are not counted. Methods of packages that
    are not installed are listed as such.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"there is no vector file {file}; name a file in GloVe's format")
    with tempfile.TemporaryDirectory(prefix="headway-loading-") as scratch:
        asked = _Asked(file, Path(scratch), vocabulary_size)
        found = asked.all()
    if verbose:
        for line in _table(found):
            say(line)
    return found


class _Asked:
    """The same file for every method; the first to run gives the table that the others are compared with."""

    def __init__(self, file: Path, scratch: Path, words: int) -> None:
        self._request: dict[str, Any] = {"path": str(file), "cache": str(scratch), "words": words}

    def all(self) -> list[LoadingMethod]:
        """Every method, in the order of the table."""
        from headway.tools.vector_methods import METHODS

        self._ask("read all bytes")
        # First, since the others are compared with it; shown where it belongs.
        measured = {"headway, all words": self._ask("headway, all words")}
        self._request["table"] = measured["headway, all words"]["table"]
        measured |= {method: self._ask(method) for method in METHODS if method not in measured}
        naive = measured[_NAIVE].get("cpu_seconds")
        return [_shown(method, measured[method], naive) for method in METHODS]

    def _ask(self, method: str) -> dict[str, Any]:
        return ask({**self._request, "method": method})


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """What a method took in a process of its own."""
    command = [sys.executable, "-m", "headway.tools.vector_methods"]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"result": f"failed: {last}"}
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise DataError(answer["error"])
    return answer


def _shown(method: str, measured: dict[str, Any], naive: float | None) -> LoadingMethod:
    cpu = measured.get("cpu_seconds")
    return LoadingMethod(
        method=method,
        cpu_seconds=cpu,
        seconds=measured.get("seconds"),
        times_naive=naive / cpu if naive is not None and cpu else None,
        extra_bytes=measured.get("extra_bytes"),
        result=measured["result"],
    )


def _table(found: Sequence[LoadingMethod]) -> list[str]:
    rows = [("method", "CPU seconds", "seconds", "vs naive", "extra MB", "result")]
    rows += [
        (
            one.method,
            _number(one.cpu_seconds, ".3f"),
            _number(one.seconds, ".3f"),
            _number(one.times_naive, ".1f") + ("x" if one.times_naive is not None else ""),
            _number(None if one.extra_bytes is None else one.extra_bytes / 1e6, ",.0f"),
            one.result,
        )
        for one in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _said_dimensions(path: Path) -> int:
    said = _DIMENSIONS.search(path.name)
    return int(said[1]) if said else 0
