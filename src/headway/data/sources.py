"""Where documents come from: the files a plan names, and the parts they are read in.

find_sources -> [Source] -> split_sources -> [Part] -> read.read_part -> Document | Skipped
"""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from headway.data.address import HUB, parse_address
from headway.data.digests import Content, digests
from headway.errors import DataError

Format = Literal["jsonl", "json", "text", "csv", "tsv", "parquet", "hub"]
Compression = Literal["gz", "zst"]

FORMATS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".txt": "text",
    ".md": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".zst": "zst"}
KNOWN = f"{', '.join(FORMATS)}, each also with .gz or .zst"


class Document(NamedTuple):
    """One text; a tuple because hundreds of thousands are made a second."""

    text: str
    index: int  # pyright: ignore[reportIncompatibleMethodOverride] # a place, not the search of a tuple
    """Place among the records of its part, skipped ones included."""
    source: str
    """The file, and where in it: byte of a jsonl, row of a table, item of a json array."""


class Skipped(NamedTuple):
    """A record that holds no text, and why."""

    reason: str
    index: int  # pyright: ignore[reportIncompatibleMethodOverride] # a place, not the search of a tuple
    source: str


@dataclass(frozen=True, slots=True)
class Source:
    """One file or one Hugging Face data set, as it was when it was found."""

    location: str
    """Absolute path, or the hf:// address."""
    name: str
    """What a person calls it: the path below the plan's folder when it lies there."""
    format: Format
    compression: Compression | None = None
    bytes: int | None = None
    """Size on disk; None for a Hugging Face data set."""
    digest: str | None = None
    """xxh3-128 of the bytes on disk; None for a Hugging Face data set."""

    @property
    def path(self) -> Path:
        """The file; only for sources that are files."""
        return Path(self.location)


@dataclass(frozen=True, slots=True)
class Part:
    """A unit of reading: bytes of a plain jsonl, row groups of a plain parquet, else the whole source."""

    source: Source
    start: int
    stop: int
    bytes: int | None
    """About how much is read, to start large parts first; None when nobody knows."""


@dataclass(frozen=True, slots=True)
class Search:
    """What patterns name below a folder, before anything is read."""

    folder: Path
    matches: list[Path | str]
    """Files and hf:// addresses, each once, in the order of the patterns."""
    problems: dict[int, str]
    """What is wrong with a pattern, by its number."""
    passed_over: list[Path]
    """What lies among the files but is of no known format."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know although nothing is wrong."""
        left = [_name(path, self.folder) for path in self.passed_over]
        if not left:
            return ()
        shown = ", ".join(left[:3]) + (", ..." if len(left) > 3 else "")
        return (f"left out {len(left):,} file{'s' if len(left) != 1 else ''} of no known format: {shown}",)


def search(patterns: str | Sequence[str], *, folder: Path) -> Search:
    """Look for what the patterns name."""
    found: dict[str, Path | str] = {}
    problems: dict[int, str] = {}
    passed_over: list[Path] = []
    for number, pattern in enumerate([patterns] if isinstance(patterns, str) else patterns):
        try:
            for match in _matches(pattern, folder, passed_over):
                found.setdefault(match if isinstance(match, str) else os.path.realpath(_named(match)), match)
        except DataError as cause:
            problems[number] = str(cause)
    return Search(folder, [*found.values()], problems, [*dict.fromkeys(passed_over)])


def find_sources(patterns: str | Sequence[str], *, folder: Path, remembered: Path | None = None) -> list[Source]:
    """Every source the patterns name, each once, in their order; digests are kept in the file `remembered`."""
    return read_sources(search(patterns, folder=folder), remembered=remembered)


def read_sources(found: Search, *, remembered: Path | None = None) -> list[Source]:
    """The sources of a search; a DataError lists every pattern that named none."""
    if problems := [*found.problems.values()]:
        head = f"{len(problems)} sources cannot be used\n  - " if len(problems) > 1 else ""
        raise DataError(head + "\n  - ".join(problems))
    files = [match for match in found.matches if isinstance(match, Path)]
    contents = dict(zip(files, digests(files, remembered=remembered), strict=True))
    return [
        Source(location=match, name=match, format="hub")
        if isinstance(match, str)
        else _source(match, contents[match], found.folder)
        for match in found.matches
    ]


def _named(path: Path) -> Path:
    """The path, whose name a manifest can hold."""
    try:
        str(path).encode()
    except UnicodeEncodeError as cause:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise DataError(
            f"the name of {shown} is not UTF-8; rename the file, or leave it out of data.sources"
        ) from cause
    return path


def split_sources(sources: Iterable[Source], *, part_bytes: int = 8 << 20) -> list[Part]:
    """The sources cut into parts of about `part_bytes`, in order; the same cut whoever reads them."""
    return [part for source in sources for part in _parts(source, part_bytes)]


def _matches(pattern: str, folder: Path, passed_over: list[Path]) -> Sequence[Path | str]:
    """The files (or the hub address) one pattern names; what is of no known format among them is passed over."""
    if pattern.startswith(HUB):
        parse_address(pattern)
        return [pattern]
    path = (folder / Path(pattern).expanduser()).absolute()
    if path.is_dir():
        return _inside(path, passed_over) or _refuse_folder(path)
    if path.exists():
        return [_regular(path)]
    if glob.has_magic(pattern):
        return _globbed(path, passed_over)
    raise DataError(f"there is no file or folder {path}{_similar(path)}; check data.sources")


def _regular(path: Path) -> Path:
    """The path of an ordinary file in a format we know."""
    if not path.is_file():
        raise DataError(f"{path} is not an ordinary file; copy its content into one")
    if _kind(path) is None:
        raise DataError(f"{path} has no suffix we know; rename it to its format, one of {KNOWN}")
    return path


def _inside(folder: Path, passed_over: list[Path]) -> list[Path]:
    """Every file of a known format at any depth below a folder, hidden names left out, sorted by path."""
    names: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names += [Path(parent, name) for name in files if not name.startswith(".")]
    return _known(sorted(names, key=Path.as_posix), passed_over)


def _known(paths: Sequence[Path], passed_over: list[Path]) -> list[Path]:
    """Those of the paths that are files of a known format."""
    passed_over += [path for path in paths if _kind(path) is None]
    return [path for path in paths if _kind(path) is not None and path.is_file()]


def _refuse_folder(folder: Path) -> list[Path]:
    raise DataError(f"the folder {folder} holds no file of a known format; put one in, of {KNOWN}")


def _globbed(pattern: Path, passed_over: list[Path]) -> list[Path]:
    """What a glob matches: files of a known format, and those inside matching folders."""
    # pathlib finds no files with a final ** before Python 3.13.
    matches = [Path(match) for match in sorted(glob.glob(str(pattern), recursive=True))]  # noqa: PTH207
    if not matches:
        raise DataError(f"no file matches {pattern}; check data.sources, and quote the pattern in a shell")
    found: list[Path] = []
    for match in matches:
        found += _inside(match, passed_over) if match.is_dir() else _known([match], passed_over)
    if not found:
        raise DataError(f"{pattern} matches {matches[0].name} but no file of a known format; name one of {KNOWN}")
    return found


def _kind(path: Path) -> tuple[Format, Compression | None] | None:
    """Format and compression by suffix."""
    compression = COMPRESSIONS.get(path.suffix.lower())
    inner = path.with_suffix("") if compression else path
    format = FORMATS.get(inner.suffix.lower())
    return (format, compression) if format else None


def _similar(path: Path) -> str:
    """A hint at a name close to the missing one."""
    if not path.parent.is_dir():
        return f" (nor the folder {path.parent})"
    close = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _source(path: Path, content: Content, folder: Path) -> Source:
    kind = _kind(path)
    assert kind is not None  # _matches lets nothing else through
    return Source(str(path), _name(path, folder), kind[0], kind[1], content.bytes, content.digest)


def _name(path: Path, folder: Path) -> str:
    """What a person calls a file."""
    base = folder.absolute()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def _parts(source: Source, part_bytes: int) -> Iterator[Part]:
    size = source.bytes
    if source.format == "parquet" and source.compression is None:
        from headway.data.tables import row_group_parts

        yield from (Part(source, start, stop, weight) for start, stop, weight in row_group_parts(source, part_bytes))
    elif source.format == "jsonl" and source.compression is None and size is not None:
        for start in range(0, size, part_bytes):
            yield Part(source, start, min(start + part_bytes, size), min(part_bytes, size - start))
    else:
        yield Part(source, 0, size or 0, size)
