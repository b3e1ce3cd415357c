"""A small world whose answers are known: words with directions, documents cut into windows, codecs of all kinds."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headway.feed.windows import cut
from headway.learners.autoencoder.corpus import Corpus
from headway.learners.autoencoder.words import Table

MARKS = 3
WORDS = 40
DIMENSIONS = 6
# Two words have no vector of the source; one of them has no direction either.
ABSENT = (12, 13)
NOTHING = 13


def table(*, seed: int = 0, made_up: bool = False) -> Table:
    """Marks, words with a common direction, one that is made up and one without a direction."""
    draw = np.random.default_rng(seed)
    matrix = (draw.normal(size=(WORDS, DIMENSIONS)) + 0.5).astype(np.float32)
    matrix[NOTHING] = 0
    known = np.ones(WORDS, bool)
    known[[*ABSENT]] = False
    return Table(matrix, known, MARKS, source="made for tests", made_up=made_up)


def documents(count: int, *, seed: int, longest: int = 30, words: tuple[int, int] = (0, WORDS)) -> list[NDArray]:
    """Random texts of different lengths in which low numbers are frequent; each prefers a few words of its own."""
    draw = np.random.default_rng(seed)
    low, high = words
    weights = 1 / np.arange(1, high - low + 1)
    lengths = draw.integers(4, longest, size=count)
    texts = [low + draw.choice(high - low, size=length, p=weights / weights.sum()) for length in lengths]
    for text in texts:
        own = draw.integers(low, high, size=3)
        text[:] = np.where(draw.random(len(text)) < 0.5, draw.choice(own, size=len(text)), text)
    return texts


def corpus(texts: list[NDArray], *, size: int = 8, overlap: int = 2, first: int = 0) -> Corpus:
    """The windows of these documents, numbered from `first` on."""
    windows = cut(np.array([len(text) for text in texts]), size=size, overlap=overlap, shortest=2)
    spans = list(zip(windows.documents, windows.starts, windows.ends, windows.owned, strict=True))
    starts = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(windows.lengths, out=starts[1:])
    return Corpus(
        ids=np.concatenate([texts[document][start:end] for document, start, end, _ in spans]),
        starts=starts,
        owned=np.concatenate([np.arange(start, end) >= owned for _, start, end, owned in spans]),
        documents=windows.documents + first,
    )


@dataclass
class Same:
    """Says the same for every token, whatever the code."""

    says: NDArray
    name: str = "same"
    code: int = 3
    bypass: bool = False

    def encode(self, corpus: Corpus) -> NDArray:
        return np.stack([corpus.lengths * factor for factor in range(1, self.code + 1)], axis=1).astype(np.float32)

    def decode(self, codes: NDArray, lengths: NDArray) -> NDArray:
        return np.tile(self.says, (int(lengths.sum()), 1)).astype(np.float32)

    def forced(self, corpus: Corpus) -> NDArray | None:
        return None


@dataclass
class Leaking(Same):
    """Knows nothing from the code, and everything from the words it is given."""

    words: Table = field(kw_only=True)

    def forced(self, corpus: Corpus) -> NDArray | None:
        return self.words.units[corpus.ids]


@dataclass
class Perfect:
    """Its code says which of the windows it has learned by heart this is; `noise` makes it worse."""

    known: Corpus
    words: Table
    noise: float = 0.0
    name: str = "perfect"
    code: int = 3
    bypass: bool = False

    def __post_init__(self) -> None:
        draw = np.random.default_rng(5)
        targets = self.words.units[self.known.ids]
        self.outputs = (targets + self.noise * draw.normal(size=targets.shape)).astype(np.float32)

    def encode(self, corpus: Corpus) -> NDArray:
        numbers = {window.tobytes(): i for i, window in enumerate(self._windows(self.known))}
        codes = np.zeros((len(corpus), self.code), np.float32)
        codes[:, 0] = [numbers[window.tobytes()] for window in self._windows(corpus)]
        return codes

    def decode(self, codes: NDArray, lengths: NDArray) -> NDArray:
        starts = self.known.starts[codes[:, 0].astype(int)]
        places = np.concatenate([np.arange(a, a + b) for a, b in zip(starts, lengths, strict=True)])
        return self.outputs[np.minimum(places, len(self.outputs) - 1)]

    def forced(self, corpus: Corpus) -> NDArray | None:
        return self.words.units[corpus.ids]

    def _windows(self, corpus: Corpus) -> list[NDArray]:
        return np.split(corpus.ids, corpus.starts[1:-1])
