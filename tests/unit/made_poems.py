"""A few made-up poems and vectors for their words, as files."""

import json
import random
from pathlib import Path

import numpy as np

DIMENSIONS = 8
WORDS = [f"{first}{last}" for first in ("sun", "moon", "sea", "wind", "rose", "stone") for last in ("a", "e", "o", "u")]


def poem(seed: int, lines: int = 6) -> str:
    """Some lines of five words; another seed, other words."""
    draw = random.Random(seed)
    return "\n".join(" ".join(draw.choices(WORDS, k=5)) for _ in range(lines))


def write_poems(path: Path, count: int = 24, *, first: int = 0) -> Path:
    """A JSON array of poems with their titles."""
    poems = [{"title": f"Poem {seed}", "text": poem(seed)} for seed in range(first, first + count)]
    path.write_text(json.dumps(poems), encoding="utf-8")
    return path


def write_vectors(path: Path, dimensions: int = DIMENSIONS) -> Path:
    """A file in GloVe's format with a vector for each of the words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(5).normal(size=(len(WORDS), dimensions))
    rows = (f"{word} {' '.join(f'{value:.4f}' for value in row)}" for word, row in zip(WORDS, numbers, strict=True))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
