"""The single pass of the seeds: books learned at once, where a single name left over joins the next book."""

import shutil
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headway.errors import DataError
from headway.tools.calls import MAX_TOKENS, Stats
from headway.tools.corpus import Book
from headway.tools.learner import HierarchicalConceptLearner, say

if TYPE_CHECKING:
    from headway.learners.patterns.books import Corpus


def train_hierarchical_single_pass(
    corpus: Sequence[Book],
    learner: HierarchicalConceptLearner,
    delimiter: str | None = None,
    num_levels: int | None = None,
    verbose: bool = True,
    progress_mode: str | None = None,
) -> Stats:
    """Train on books as CorpusSegmenter makes them, and add the result to learner.memory; all nodes, or `num_levels`.

    Each book is learned as a sample is, but for this: a single name that a level has left over when a book ends is the
    first name of the next book there. What is learned depends on the paragraphs of the books alone: `delimiter` and
    `progress_mode` are accepted because the seeds pass them, and change nothing.
    """
    del delimiter, progress_mode
    began = time.perf_counter()
    section = replace(learner.section(num_levels), source="corpus")
    if not corpus:
        raise DataError("the corpus holds no book; make some with CorpusSegmenter.segment")
    learner.folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="corpus-", dir=learner.folder))
    try:
        from headway.learners.patterns.books import learn_books

        manifest = learn_books(_tokenised(corpus, learner.tokenizer_name), section, scratch / "memory")
        learner.add(scratch, once=uuid.uuid4().hex)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    seconds = time.perf_counter() - began
    stats: Stats = {"books_processed": len(corpus), "total_time_seconds": seconds}
    for i, node in enumerate(learner.nodes):
        stats[f"{node}_patterns"] = manifest.observed(i)
    if verbose:
        learns = ", ".join(f"{node} {stats[f'{node}_patterns']:,}" for node in learner.nodes)
        say(f"{len(corpus):,} books in {seconds:.1f} s; patterns learned: {learns}")
    return stats


def _tokenised(books: Sequence[Book], tokenizer_name: str) -> "Corpus":
    from headway.data.tokenizers import load_tokenizer, remap, unite
    from headway.learners.patterns.books import Corpus
    from headway.learners.patterns.manifest import Origin

    tokenizer = load_tokenizer(tokenizer_name, folder=Path.cwd())
    encoded = tokenizer.encode([paragraph for book in books for paragraph in book["paragraphs"]])
    ids = encoded.ids
    pieces = [ids[start : min(stop, start + MAX_TOKENS)] for start, stop in pairwise(encoded.offsets.tolist())]
    segments = np.cumsum([0, *map(len, pieces)])
    kept = np.concatenate([ids[:0], *pieces])
    vocabulary = tokenizer.vocabulary
    if vocabulary is None:
        vocabulary = unite([tokenizer.symbols], tokenizer.base)
        kept = remap(tokenizer.symbols, vocabulary)[kept]
    return Corpus(
        ids=kept,
        books=segments[np.cumsum([0, *(len(book["paragraphs"]) for book in books)])],
        # A paragraph without tokens is no segment.
        segments=np.unique(segments),
        vocabulary=vocabulary,
        tokenizer=tokenizer.name,
        max_tokens=MAX_TOKENS,
        origins=tuple(Origin(book["title"], book["author"], numbered=False) for book in books),
    )
