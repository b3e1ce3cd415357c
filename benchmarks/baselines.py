"""What headway is measured against: tiktoken's own batch encoding, and the plain Python learner."""

from __future__ import annotations

import gc
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from time import perf_counter

import tiktoken

from plain_learner import PlainLearner

END_OF_TEXT = "<|endoftext|>"
# GPT-2's pattern in the form that tiktoken itself uses: the same pieces, with possessive quantifiers for speed.
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
# Enough texts to keep every thread busy, few enough that the lists of ids stay small.
BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens handled in measured wall seconds."""

    tokens: int
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def tiktoken_rate(texts: Sequence[str], threads: int = 2) -> Rate:
    """Times `encode_ordinary_batch` over all texts; building the encoding is not counted, making the id lists is."""
    encoding = gpt2_encoding()
    encoding.encode_ordinary_batch(list(texts[:threads]), num_threads=threads)
    tokens = 0
    begin = perf_counter()
    for start in range(0, len(texts), BATCH):
        batch = list(texts[start : start + BATCH])
        tokens += sum(map(len, encoding.encode_ordinary_batch(batch, num_threads=threads)))
    return Rate(tokens, perf_counter() - begin)


def plain_rate(documents: Sequence[list[int]], symbols: Sequence[str], widths: Sequence[int] = (5, 7, 9)) -> Rate:
    """Times the plain Python learner with all names; a document is one segment of ids already in memory."""
    gc.collect()
    gc.disable()
    try:
        begin = perf_counter()
        learner = PlainLearner(symbols, widths=widths)
        for document in documents:
            learner.learn([document])
        learner.names()
        seconds = perf_counter() - begin
    finally:
        gc.enable()
    return Rate(sum(map(len, documents)), seconds)


def gpt2_encoding() -> tiktoken.Encoding:
    """GPT-2's encoding, made offline from the merges that headway carries."""
    ranks = gpt2_ranks()
    return tiktoken.Encoding(
        "gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: len(ranks)}, explicit_n_vocab=50257
    )


def gpt2_ranks() -> dict[bytes, int]:
    """Token bytes to rank: the 256 bytes in GPT-2's order, then one token per merge."""
    # Bytes that print as themselves come first; the others are spelled by the code points from 256 upward.
    order = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in order]
    byte_of = {chr(byte): byte for byte in order} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
    packed = (files("headway.data") / "gpt2" / "vocab.bpe.gz").read_bytes()
    merges = gzip.decompress(packed).decode("utf-8").splitlines()[1:]
    tokens = (bytes(byte_of[letter] for letter in merge.replace(" ", "")) for merge in merges)
    return {token: rank for rank, token in enumerate(chain((bytes([byte]) for byte in order + hidden), tokens))}
