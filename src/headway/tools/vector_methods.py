"""Ways to load a vector file, each measured in a process of its own: this module as a program, JSON in and out."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.data.vectors.table import Vectors

# Words and their vectors, in any form that can be indexed.
Loaded = tuple[Sequence[str], Any]
_COMPARED = 2_000
_PACKAGES = {"pandas": "pandas", "gensim": "gensim"}


def main() -> None:
    """Answer one request."""
    try:
        answer = perform(json.load(sys.stdin))
    except HeadwayError as cause:
        answer = {"error": str(cause)}
    sys.stdout.write(json.dumps(answer))


def perform(request: dict[str, Any]) -> dict[str, Any]:
    """What one method takes, and whether what it loaded is what the file says."""
    method: str = request["method"]
    package = _PACKAGES.get(method)
    if package is not None and find_spec(package) is None:
        return {"result": f"{package} is not installed"}
    load = METHODS[method](request)
    before, began, used = peak_bytes(), time.perf_counter(), time.process_time()
    loaded = load()
    figures: dict[str, Any] = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - used}
    after = peak_bytes()
    figures["extra_bytes"] = None if after is None or before is None else after - before
    return figures | _verdict(loaded, request)


def peak_bytes() -> int | None:
    """The most memory this program has held so far; None where the system does not tell."""
    # Not getrusage: what it tells begins with the peak of the process that started this one.
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _verdict(loaded: "Loaded | Vectors | None", request: dict[str, Any]) -> dict[str, Any]:
    from headway.data.vectors.table import open_table

    if loaded is None:
        return {"result": "nothing is parsed"}
    if not isinstance(loaded, tuple):
        skipped = sum(loaded.description.skipped.values())
        said = f"{len(loaded):,} words" + (f", {skipped:,} rows skipped" if skipped else "")
        return {"result": said, "table": str(loaded.folder)}
    words, rows = loaded
    places = {word: place for place, word in enumerate(words)}
    table = open_table(Path(request["table"]))
    wanted = table.words()
    lost = sum(word not in places for word in wanted)
    compared = range(0, len(wanted), max(1, len(wanted) // _COMPARED))
    pairs = ((table.matrix[i], rows[places[wanted[i]]]) for i in compared if wanted[i] in places)
    others = sum(not np.array_equal(ours, np.asarray(theirs, np.float32)) for ours, theirs in pairs)
    said = f"{len(places):,} words" + (f", {lost:,} lost or renamed" if lost else "")
    return {"result": said + (f", {others:,} of {len(compared):,} compared differ" if others else "")}


def _bytes(request: dict[str, Any]) -> Callable[[], None]:
    def load() -> None:
        buffer = bytearray(4 << 20)
        with Path(request["path"]).open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return load


def _naive(request: dict[str, Any]) -> Callable[[], Loaded]:
    width = _width(request)

    def load() -> Loaded:
        found: dict[str, Any] = {}
        with Path(request["path"]).open(encoding="utf-8") as file:
            for line in file:
                fields = line.split()
                found[fields[0]] = np.asarray(fields[-width:], dtype=np.float32)
        return list(found), list(found.values())

    return load


def _numpy(request: dict[str, Any]) -> Callable[[], Loaded]:
    path, width = request["path"], _width(request)

    def load() -> Loaded:
        columns = range(1, width + 1)
        matrix = np.loadtxt(path, np.float32, comments=None, delimiter=" ", usecols=columns, encoding="utf-8", ndmin=2)
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            words = [line.partition(" ")[0] for line in file]
        return words, matrix

    return load


def _pandas(request: dict[str, Any]) -> Callable[[], Loaded]:
    pandas: Any = import_module("pandas")
    types: dict[int, Any] = dict.fromkeys(range(1, _width(request) + 1), np.float32)

    def load() -> Loaded:
        # As it has to be called: with its defaults it takes quotes and words like null for something else.
        form: dict[str, Any] = {"header": None, "quoting": 3, "na_filter": False, "engine": "c"}
        frame: Any = pandas.read_csv(request["path"], sep=" ", dtype={0: str} | types, **form)
        return frame[0].tolist(), frame.iloc[:, 1:].to_numpy()

    return load


def _gensim(request: dict[str, Any]) -> Callable[[], Loaded]:
    models: Any = import_module("gensim.models")

    def load() -> Loaded:
        vectors: Any = models.KeyedVectors.load_word2vec_format(request["path"], binary=False, no_header=True)
        return vectors.index_to_key, vectors.vectors

    return load


def _headway(request: dict[str, Any]) -> "Callable[[], Vectors]":
    return _loader(request, None)


def _filtered(request: dict[str, Any]) -> "Callable[[], Vectors]":
    from headway.data.vectors.table import open_table

    words = open_table(Path(request["table"])).words()
    return _loader(request, words[:: max(1, len(words) // request["words"])][: request["words"]])


def _loader(request: dict[str, Any], words: list[str] | None) -> "Callable[[], Vectors]":
    from headway.data.vectors.convert import Conversion, load_vectors

    with tempfile.TemporaryDirectory() as scratch:
        # Loads what is compiled, as an import would.
        tiny = Path(scratch) / "tiny.txt"
        tiny.write_text("a 0.5 1\nb -0.5 2\n", encoding="utf-8")
        load_vectors(tiny, cache=Path(scratch), asked=Conversion(wanted=words and ["a"]))

    def load() -> "Vectors":
        vectors = load_vectors(Path(request["path"]), cache=Path(request["cache"]), asked=Conversion(wanted=words))
        vectors.matrix[0].copy()
        return vectors

    return load


def _width(request: dict[str, Any]) -> int:
    from headway.data.vectors.table import open_table

    return open_table(Path(request["table"])).dimensions


METHODS: dict[str, Callable[[dict[str, Any]], Callable[[], Any]]] = {
    "read all bytes": _bytes,
    "naive loop": _naive,
    "numpy": _numpy,
    "pandas": _pandas,
    "gensim": _gensim,
    "headway, all words": _headway,
    "headway, some words": _filtered,
    "headway, again": _headway,
}

if __name__ == "__main__":
    main()
