"""Makes the benchmark corpus, English prose from Debian documentation packages: python benchmarks/corpus_debian.py.

Needs apt-get and dpkg-deb (run `apt-get update` first). The same packages give the same files, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prose import paragraphs

CORPUS = Path(__file__).resolve().parent / "corpus"
MEGABYTE = 1_000_000
SMALLEST, LARGEST = 2_000, 16_000

# Guides and books first, reference manuals next, the dictionary last: a smaller corpus is made of the better prose.
# fmt: off
PACKAGES = (
    "anarchism", "debian-handbook", "debian-policy", "developers-reference", "maint-guide", "debian-faq",
    "debian-reference-en", "doc-debian", "harden-doc", "installation-guide-amd64", "aptitude-doc-en", "abs-guide",
    "jargon-text", "c++-annotations-txt", "gnucash-docs", "libreoffice-help-en-us", "gnome-user-docs",
    "linux-doc-6.1", "manpages", "manpages-dev", "freebsd-manpages", "perl-doc", "python3.11-doc",
    "python-django-doc", "python-sqlalchemy-doc", "postgresql-doc-15", "sqlite3-doc", "git-doc", "apache2-doc",
    "bind9-doc", "krb5-doc", "zsh-doc", "r-doc-html", "octave-doc", "maxima-doc", "gap-doc", "sagemath-doc",
    "erlang-doc", "racket-doc", "rust-doc", "ghc-doc", "llvm-14-doc", "libboost1.74-doc", "fp-docs-3.2.2",
    "qtbase5-doc-html", "libgtk-4-doc", "twisted-doc", "nova-doc", "neutron-doc", "cinder-doc", "ironic-doc",
    "keystone-doc", "lilypond-doc-html", "openjdk-17-doc", "dict-gcide",
)
# fmt: on


@dataclass(slots=True)
class Origin:
    """One package of the corpus and what was taken from it."""

    package: str
    version: str
    sha256: str
    documents: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Corpus:
    """The documents gathered so far; a paragraph that was seen before, in whatever markup, is not taken again."""

    target: int
    documents: list[dict[str, str]] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    bytes: int = 0
    seen: set[bytes] = field(default_factory=set)

    def add(self, origin: Origin, text: str) -> None:
        size = len(text.encode("utf-8"))
        self.documents.append({"text": text, "package": origin.package})
        origin.documents += 1
        origin.bytes += size
        self.bytes += size

    def is_new(self, paragraph: str) -> bool:
        letters = re.sub(r"[^a-z]+", "", paragraph.lower())
        key = hashlib.blake2b(letters.encode("ascii"), digest_size=12).digest()
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=160.0, help="text to gather (default 160)")
    parser.add_argument("--file-megabytes", type=float, default=10.0, help="size of one output file (default 10)")
    parser.add_argument("--into", type=Path, default=CORPUS)
    parser.add_argument("--debs", type=Path, help="keep the downloaded packages here and take them from here")
    arguments = parser.parse_args()
    corpus = Corpus(target=int(arguments.megabytes * MEGABYTE))
    with tempfile.TemporaryDirectory() as temporary:
        gather(corpus, arguments.debs or Path(temporary))
    manifest = write(corpus, arguments.into, int(arguments.file_megabytes * MEGABYTE))
    sys.stdout.write(f"{manifest['documents']:,} documents, {manifest['text_bytes']:,} bytes of text\n")
    if corpus.bytes < corpus.target:
        sys.stderr.write(f"asked for {corpus.target:,} bytes, the packages hold {corpus.bytes:,}\n")
        return 1
    return 0


def gather(corpus: Corpus, debs: Path) -> None:
    """Adds package after package until the corpus is large enough."""
    debs.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if corpus.bytes >= corpus.target:
            return
        deb = _fetch(package, debs)
        if deb is None:
            corpus.absent.append(package)
            sys.stderr.write(f"{package}: not available here, left out (recorded in the manifest)\n")
            continue
        origin = Origin(package, _version(deb), hashlib.sha256(deb.read_bytes()).hexdigest())
        corpus.origins.append(origin)
        with tempfile.TemporaryDirectory() as unpacked:
            subprocess.run(["dpkg-deb", "-x", str(deb), unpacked], check=True)
            for text in documents(Path(unpacked), corpus):
                if corpus.bytes >= corpus.target:
                    break
                corpus.add(origin, text)
        sys.stderr.write(f"{package} {origin.version}: {origin.bytes:,} bytes (total {corpus.bytes:,})\n")


def documents(folder: Path, corpus: Corpus) -> Iterator[str]:
    """Joins the new paragraphs of a package, in path order, into documents of 2 to 16 KB; short files share one."""
    gathered: list[str] = []
    size = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        if size >= SMALLEST:
            yield "\n\n".join(gathered)
            gathered, size = [], 0
        for paragraph in filter(corpus.is_new, paragraphs(path)):
            length = len(paragraph.encode("utf-8"))
            if size >= SMALLEST and size + length > LARGEST:
                yield "\n\n".join(gathered)
                gathered, size = [], 0
            gathered.append(paragraph)
            size += length
    if gathered:
        yield "\n\n".join(gathered)


def write(corpus: Corpus, into: Path, file_bytes: int) -> dict[str, object]:
    """Writes the files and the manifest; documents are ordered by digest, so that every file is a fair sample."""
    into.mkdir(parents=True, exist_ok=True)
    for old in into.glob("debian-*.jsonl"):
        old.unlink()
    rows = sorted(corpus.documents, key=lambda row: hashlib.sha256(row["text"].encode("utf-8")).digest())
    files = [_write_file(into / f"debian-{n:02d}.jsonl", part) for n, part in enumerate(_parts(rows, file_bytes))]
    manifest: dict[str, object] = {
        "documents": len(rows),
        "text_bytes": corpus.bytes,
        "file_bytes": sum(file["bytes"] for file in files),
        "files": files,
        "packages": [asdict(origin) for origin in corpus.origins],
        "packages_not_available": corpus.absent,
    }
    (into / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest


def _parts(rows: list[dict[str, str]], file_bytes: int) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for row in rows:
        line = json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"
        if part and size + len(line) > file_bytes:
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield part


def _write_file(path: Path, lines: list[bytes]) -> dict[str, Any]:
    data = b"".join(lines)
    path.write_bytes(data)
    return {"name": path.name, "documents": len(lines), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _fetch(package: str, debs: Path) -> Path | None:
    pattern = f"{package}_*.deb"
    if not any(debs.glob(pattern)):
        # apt's own user cannot write a private temporary folder; downloading as the caller is what is wanted.
        command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package]
        subprocess.run(command, cwd=debs, check=False, capture_output=True)
    return max(debs.glob(pattern), default=None)


def _version(deb: Path) -> str:
    command = ["dpkg-deb", "--field", str(deb), "Version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
