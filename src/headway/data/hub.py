"""Streaming Hugging Face data sets, when `datasets` is installed."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from ssl import SSLError
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from headway.data.address import Address, parse_address
from headway.data.records import checked_text, no_field
from headway.data.sources import Document, Part, Skipped
from headway.errors import DataError

_ROWS = 1000
_CONNECT_SECONDS = 10.0


def read_hub(part: Part, field: str) -> Iterator[Document | Skipped]:
    """The rows of a Hugging Face data set, streamed in the order of its files."""
    name = part.source.name
    address = parse_address(name)
    column = address.field or field
    index = 0
    for batch in _batches(address, column, name):
        if column not in batch:
            raise no_field(name, column, batch, holder="table")
        for text in batch[column]:
            place = f"{name}:row {index}"
            if isinstance(text, str) and text:
                yield Document(checked_text(text, place=place), index, place)
            else:
                yield Skipped("empty text" if text == "" else _absent(text, column, place), index, place)
            index += 1


def _absent(value: object, column: str, place: str) -> str:
    if value is not None:
        raise DataError(f"{place}: column {column!r} holds {type(value).__name__}, not text; choose another field")
    return f"field {column!r} is null, not text"


def _batches(address: Address, column: str, name: str) -> Iterator[dict[str, list[Any]]]:
    datasets, hub_error = _library(name)
    unreachable = None
    try:
        with _offline_if(address.name, datasets) as unreachable:
            stream = datasets.load_dataset(
                address.name, address.config, split=address.split, revision=address.revision, streaming=True
            )
        names = stream.column_names
        # Only the column is fetched where the format allows; a wrong name is reported by the reader with all names.
        stream = stream.select_columns([column]) if names and column in names else stream
        yield from stream.iter(batch_size=_ROWS)
    except (OSError, ValueError, hub_error, datasets.exceptions.DatasetsError) as cause:
        if unreachable:
            raise DataError(f"{name} cannot be streamed: {unreachable}; connect to the network, then go on") from cause
        raise DataError(f"{name} cannot be streamed ({cause}); check its name, split and the network") from cause


@contextmanager
def _offline_if(name: str, datasets: Any) -> Generator[str | None]:
    """Where the Hub cannot be reached, have `datasets` look into its cache at once; it would try for half a minute."""
    constants: Any = import_module("huggingface_hub.constants")
    settings = (constants, datasets.config)
    before = [module.HF_HUB_OFFLINE for module in settings]
    unreachable = None if name.startswith("/") or any(before) else _unreachable(constants.ENDPOINT)
    try:
        for module in settings if unreachable else ():
            module.HF_HUB_OFFLINE = True
        yield unreachable
    finally:
        for module, offline in zip(settings, before, strict=True):
            module.HF_HUB_OFFLINE = offline


def _unreachable(endpoint: str) -> str | None:
    """Why there is no way to a server; None when it answers, whatever it says."""
    try:
        with urlopen(Request(endpoint, method="HEAD"), timeout=_CONNECT_SECONDS):
            return None
    except HTTPError:
        return None
    except OSError as cause:
        why = cause.reason if isinstance(cause, URLError) else cause
        # Certificates are the business of the library, which may know others than Python does.
        return None if isinstance(why, SSLError) else f"there is no way to {endpoint} ({why})"


def _library(name: str) -> tuple[Any, Any]:
    """The package and the error of its transport; both optional, so type checkers cannot count on them either."""
    try:
        datasets: Any = import_module("datasets")
        # A folder named datasets, such as the one our own datasets lie in, imports as an empty package.
        if datasets.__file__ is None:
            raise ModuleNotFoundError("datasets")
        return datasets, import_module("huggingface_hub.errors").HfHubHTTPError
    except ModuleNotFoundError as cause:
        raise DataError(f"{name} needs the package datasets; install it with: pip install 'headway[hub]'") from cause
