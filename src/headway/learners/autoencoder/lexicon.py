"""The words of a run and their vectors; kept with the run, so that its model needs no dataset and no vector file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.data.npy import Ints, sync_file
from headway.data.vectors.convert import Conversion, load_vectors
from headway.data.vectors.lookup import ABSENT, directions, look_up, wanted
from headway.data.vectors.table import Vectors
from headway.data.vocabulary import Vocabulary
from headway.durable import checksum, read_json, replace_json, write_errors
from headway.errors import RunError
from headway.learners.autoencoder.config import RANDOM, Section
from headway.learners.autoencoder.words import Singles, Table

UNK = 1
_MADE_UP_DIMENSIONS = 100
_MATRIX, _KNOWN, _READ_AS, _LEARNED = "vectors.npy", "known.npy", "read_as.npy", "learned.npy"
_FACTS = "lexicon.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Where the vectors are from and how many words found one, by how they were found."""

    source: str
    made_up: bool
    found: dict[str, dict[str, int]]
    """Types and tokens of the learned side by step of looking up."""
    rare: int
    """Words that are read as <UNK>, being learned from too seldom."""

    @property
    def coverage(self) -> float | None:
        """The share of the learned words that have a vector; None where all are made up."""
        tokens = sum(step["tokens"] for step in self.found.values())
        return 1 - self.found[ABSENT]["tokens"] / tokens if tokens else None


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """What each token id is: its symbol, its vector, whether that is of the source, and what it is read as."""

    vocabulary: Vocabulary
    matrix: Singles
    known: NDArray[np.bool_]
    read_as: Ints
    """Id by id: what the model reads and is asked for; -1: the token is left out."""
    learned: Ints
    """Id by id: how many tokens of the learned side are read as it."""
    facts: Facts

    def table(self) -> Table:
        """As evaluations take it."""
        return Table(
            self.matrix,
            self.known,
            special=self.vocabulary.specials,
            source=self.facts.source,
            made_up=self.facts.made_up,
            words=self.vocabulary.symbols,
            unknown=UNK,
        )

    def save(self, folder: Path) -> None:
        """Put it into a folder; what its last file names is whole."""
        with write_errors(folder, kept="nothing was learned yet"):
            folder.mkdir(parents=True, exist_ok=True)
            arrays = {_MATRIX: self.matrix, _KNOWN: self.known, _READ_AS: self.read_as, _LEARNED: self.learned}
            for name, array in arrays.items():
                np.save(folder / name, array, allow_pickle=False)
                sync_file(folder / name)
            replace_json(
                folder / _FACTS,
                {
                    "facts": asdict(self.facts),
                    "vocabulary": self.vocabulary.to_json(),
                    "checksums": {name: checksum(folder / name) for name in arrays},
                },
            )


def load_lexicon(folder: Path) -> Lexicon | None:
    """What `save` put there, every byte checked; None where nothing was."""
    if not (folder / _FACTS).is_file():
        return None
    value: Any = read_json(folder / _FACTS)
    try:
        vocabulary, facts, checksums = value["vocabulary"], Facts(**value["facts"]), value["checksums"]
        files = {name: checksums[name] for name in (_MATRIX, _KNOWN, _READ_AS, _LEARNED)}
    except (KeyError, TypeError) as cause:
        raise RunError(f"{folder / _FACTS} is damaged ({cause}); restore it from a copy") from cause
    for name, known in files.items():
        if not (folder / name).is_file() or checksum(folder / name) != known:
            raise RunError(f"{folder / name} is missing or not as it was written; restore it from a copy")
    arrays = [np.load(folder / name, allow_pickle=False) for name in files]
    return Lexicon(Vocabulary.from_json(vocabulary), *arrays, facts=facts)


def make_lexicon(
    section: Section,
    vocabulary: Vocabulary,
    *,
    counts: Ints,
    read: Callable[[Conversion], Vectors] | None,
    seed: int,
) -> Lexicon:
    """The words of a vocabulary with their vectors; `counts` says how often each is learned from.

    `read` opens the vectors of the plan; None: they are made up. A RunError where too few words have one.
    """
    words, special = vocabulary.symbols, vocabulary.specials
    if read is None:
        size = section.dimensions or _MADE_UP_DIMENSIONS
        matrix, known = directions(words, size, seed=seed), np.arange(len(words)) >= special
        found: dict[str, dict[str, int]] = {}
        source = RANDOM
    else:
        vectors = read(Conversion(wanted=wanted(words[special:]), dimensions=section.dimensions))
        looked = look_up(vectors, words[special:], absent=section.absent, seed=seed)
        matrix = np.concatenate([np.zeros((special, vectors.dimensions), np.float32), looked.matrix])
        known = np.concatenate([np.zeros(special, bool), looked.known])
        found = looked.counts(counts[special:].tolist())
        source = str(vectors.description.source["name"])
        _check_coverage(section, found, source)
    _give_directions(matrix, words, known, special, seed)
    read_as, rare = _read_as(section, counts, known, special)
    facts = Facts(source=source, made_up=read is None, found=found, rare=rare)
    learned, kept = np.zeros(len(words), np.int64), read_as >= 0
    np.add.at(learned, read_as[kept], counts[kept])
    return Lexicon(vocabulary, matrix, known, read_as, learned, facts)


def reader(section: Section, *, home: Path, cache: Path) -> Callable[[Conversion], Vectors] | None:
    """What opens the vectors a section names, by a path relative to `home`; None for vectors that are made up."""
    if section.vectors == RANDOM:
        return None
    return lambda asked: load_vectors(home / Path(section.vectors).expanduser(), cache=cache, asked=asked)


def _check_coverage(section: Section, found: dict[str, dict[str, int]], source: str) -> None:
    tokens = sum(step["tokens"] for step in found.values())
    absent = found[ABSENT]["tokens"]
    share = 1 - absent / tokens if tokens else 0.0
    if share < section.coverage:
        raise RunError(
            f"only {tokens - absent:,} of {tokens:,} learned words ({share:.1%}) have a vector in {source}, less than "
            f"learner.coverage = {section.coverage:g}; give vectors of the text's language and case, or lower coverage"
        )


def _give_directions(matrix: Singles, words: list[str], known: NDArray[np.bool_], special: int, seed: int) -> None:
    """Marks of the tokenizer point where their name and the seed say, as long as a usual vector."""
    norms = np.linalg.norm(matrix[special:][known[special:]], axis=1)
    length = float(np.median(norms)) if len(norms) else 1.0
    made = directions(words[:special], matrix.shape[1], seed=seed)
    matrix[:special] = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12) * length
    # Padding is never looked at.
    matrix[0] = 0.0


def _read_as(section: Section, counts: Ints, known: NDArray[np.bool_], special: int) -> tuple[Ints, int]:
    ids = np.arange(len(counts))
    rare = (counts < section.min_count) & (counts > 0) & (ids >= special)
    # A held-out word that is never learned from keeps its vector, unless it would have been too rare as well.
    rare |= (counts == 0) & (ids >= special) & (section.min_count > 1)
    ids = np.where(rare, UNK, ids)
    if section.absent == "drop":
        ids = np.where(known | (np.arange(len(counts)) < special), ids, -1)
    return ids, int(rare.sum())
