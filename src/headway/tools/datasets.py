"""Data sets by the names of the seeds: of Hugging Face where that can be reached, else files here."""

import difflib
import glob
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from headway.data.read import read_part
from headway.data.segment import counts
from headway.data.sources import Document, find_sources, split_sources
from headway.errors import DataError, PlanError
from headway.tools.nodes import at_least

NAMED = {
    "c4": "hf://allenai/c4/en",
    "fineweb": "hf://HuggingFaceFW/fineweb/sample-10BT",
    "fineweb-edu": "hf://HuggingFaceFW/fineweb-edu/sample-10BT",
    "openwebtext": "hf://Skylion007/openwebtext",
    "pile": "hf://monology/pile-uncopyrighted",
    "refinedweb": "hf://tiiuae/falcon-refinedweb?field=content",
    "tinystories": "hf://roneneldan/TinyStories",
    "wikipedia": "hf://wikimedia/wikipedia/20231101.en",
    "wikitext": "hf://Salesforce/wikitext/wikitext-103-raw-v1",
    "wikitext-2": "hf://Salesforce/wikitext/wikitext-2-raw-v1",
}
FIELD = "text"
_HUB = "hf://"


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a dataset key stands for: a name for people, and a source as plans have them."""

    label: str
    source: str
    folder: Path

    def texts(self, *, remembered: Path | None = None) -> Iterator[str]:
        """The texts that count as samples, in order."""
        for part in split_sources(find_sources(self.source, folder=self.folder, remembered=remembered)):
            for record in read_part(part, FIELD):
                if isinstance(record, Document) and counts(record.text, "simple"):
                    yield record.text


class StreamingDatasetLoader:
    """Reads data sets by name or path."""

    @staticmethod
    def load_streaming(dataset_key: str, max_samples: int | None = None) -> Iterator[dict[str, str]]:
        """The samples a training call would use, each a dict with its `text`; at most so many."""
        check_samples(max_samples)
        texts = find_corpus(dataset_key).texts()
        return ({FIELD: text} for text in islice(texts, max_samples))


def find_corpus(key: str) -> Corpus:
    """What a key stands for; a DataError says what was looked for and what to install."""
    folder = Path.cwd()
    if key.startswith(_HUB):
        return Corpus(_label(key.removeprefix(_HUB).partition("?")[0]), key, folder)
    address, is_here = NAMED.get(key), _is_here(folder, key)
    if address is None:
        if is_here:
            return Corpus(_label(key), key, folder)
        raise DataError(f"there is no data set {key!r}: no file, folder or glob {folder / key}, and {_known(key)}")
    problem = _problem(Corpus(key, address, folder))
    if problem is None:
        return Corpus(key, address, folder)
    if is_here:
        return Corpus(key, key, folder)
    raise DataError(
        f"{key!r} is the Hugging Face data set {address}: {problem}. "
        f"Nor is there a file, folder or glob {folder / key}; give the path of your text as dataset_key"
    )


def check_samples(most: int | None) -> None:
    """A PlanError unless this is a number of samples, or None for all."""
    if most is not None and not at_least(1, most):
        raise PlanError("max_samples", [f"should be 1 or more, or None for all, not {most!r}"])


def _problem(corpus: Corpus) -> str | None:
    """Why a Hugging Face data set cannot be read; None when its first sample came."""
    spec = find_spec("datasets")
    # A folder of that name, as runs make it, can be imported, too, but comes from no file.
    if spec is None or spec.origin is None:
        return "it needs the package datasets, which is not installed; install it with: pip install 'headway[hub]'"
    try:
        next(corpus.texts(), None)
    except DataError as cause:
        return str(cause)
    return None


def _is_here(folder: Path, key: str) -> bool:
    path = folder / Path(key).expanduser()
    return path.exists() or (glob.has_magic(key) and bool(glob.glob(str(path), recursive=True)))  # noqa: PTH207


def _known(key: str) -> str:
    close = difflib.get_close_matches(key, NAMED, n=1)
    return f"none of {', '.join(NAMED)}" + (f"; did you mean {close[0]!r}?" if close else "")


def _label(key: str) -> str:
    """A short name: that of the file without suffixes, or of the data set without its owner."""
    name = Path(key).name.partition(".")[0]
    return re.sub(r"[^\w-]+", "_", name).strip("_") or "data"
