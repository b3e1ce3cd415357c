"""headway vectors convert FILE | verify TABLE"""

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.data.vectors.table import Vectors


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    convert = verbs.add_parser("convert", help="turn a vector file into a table that opens at once, or find it")
    convert.add_argument(
        "file", type=Path, metavar="FILE", help="GloVe, word2vec or fastText text, also .gz or .zst, or wink's .json"
    )
    convert.add_argument(
        "--vocab", action="append", metavar="DATA", help="only words of this dataset folder, or of these text sources"
    )
    convert.add_argument("--dimensions", type=int, metavar="N", help="how many numbers a vector must have")
    convert.add_argument(
        "--bad-rows", choices=("error", "skip"), default="error", help="what becomes of a damaged row (default: error)"
    )
    convert.add_argument(
        "--vectors-dir", type=Path, default=Path("vectors"), metavar="DIR", help="where tables lie (default: vectors)"
    )
    verify = verbs.add_parser("verify", help="compare every byte of a table with its manifest")
    verify.add_argument("table", type=Path, metavar="TABLE", help="the folder of a converted table")
    for action in (convert, verify):
        action.add_argument("--json", action="store_true", help="JSON instead of text")


def run(options: argparse.Namespace) -> int:
    """Convert, or verify."""
    return _convert(options) if options.action == "convert" else _verify(options)


def _convert(options: argparse.Namespace) -> int:
    from headway.data.vectors.convert import Conversion, load_vectors

    began = time.perf_counter()
    wanted = None if options.vocab is None else _words(options.vocab)
    asked = Conversion(wanted=wanted, dimensions=options.dimensions, bad=options.bad_rows)
    vectors = load_vectors(options.file, cache=options.vectors_dir, asked=asked)
    values = _values(vectors) | {"seconds": time.perf_counter() - began}
    if options.json:
        print(json.dumps(values, ensure_ascii=False))
        return 0
    described = vectors.description
    print(f"{vectors.folder}: {described.rows:,} vectors of {vectors.dimensions} numbers")
    print(f"  read        {described.read:,} rows in {values['seconds']:.2f} s")
    if wanted is not None:
        print(f"  wanted      {len(wanted):,} forms of words")
    if described.duplicates:
        print(f"  duplicates  {described.duplicates:,} words came again; the first row counts")
    for reason, number in sorted(described.skipped.items()):
        print(f"  skipped     {number:,} with {reason}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from headway.data.vectors.table import open_table

    vectors = open_table(options.table)
    vectors.verify()
    if options.json:
        print(json.dumps(_values(vectors), ensure_ascii=False))
    else:
        print(f"{options.table}: {len(vectors):,} vectors, every byte is as it was written")
    return 0


def _words(sources: list[str]) -> frozenset[str]:
    """Every form that a table may hold of the words in some datasets and texts."""
    from headway.data.dataset import open_dataset
    from headway.data.manifest import MANIFEST
    from headway.data.vectors.lookup import wanted
    from headway.data.vectors.words import words_of_texts

    words: set[str] = set()
    for source in sources:
        if (Path(source) / MANIFEST).is_file():
            words.update(open_dataset(Path(source), verify=False).vocabulary.symbols)
        else:
            words |= words_of_texts(source)
    return wanted(sorted(words))


def _values(vectors: "Vectors") -> dict[str, Any]:
    described = vectors.description
    return {
        "folder": str(vectors.folder),
        "rows": described.rows,
        "dimensions": described.dimensions,
        "read": described.read,
        "duplicates": described.duplicates,
        "skipped": described.skipped,
    }
