"""Adding up rows, against a dictionary; names in batches, against hashlib."""

from collections import Counter
from hashlib import sha1

import numpy as np
import pytest

from headway.learners.patterns.kernels.digest import piece_table, token_names
from headway.learners.patterns.space import Space
from headway.learners.patterns.still import still
from headway.learners.patterns.tally import Rows, Tally, add_up

Row = tuple[int, tuple[int, ...]]


def _part(rows: list[Row], dtype: type, counts: list[int] | None = None) -> Rows:
    lengths = np.array([len(sequence) for _, sequence in rows], np.int32)
    return Rows(
        np.array([key for key, _ in rows], np.uint64),
        np.cumsum(lengths, dtype=np.int64) - lengths,
        lengths,
        np.array([symbol for _, sequence in rows for symbol in sequence], dtype),
        np.array(counts or [], np.uint64),
    )


def _rows(patterns: Tally) -> list[tuple[Row, int]]:
    bounds, symbols = patterns.offsets.tolist(), patterns.symbols.tolist()
    return [
        ((key, tuple(symbols[low:high])), count)
        for key, count, low, high in zip(
            patterns.keys.tolist(), patterns.counts.tolist(), bounds, bounds[1:], strict=False
        )
    ]


def _made(seed: int, number: int, keys: int, spread: int) -> list[Row]:
    """Rows with repeats, and with different sequences under one key."""
    chance = np.random.default_rng(seed)
    known = chance.integers(0, spread, keys, dtype=np.uint64, endpoint=True)
    return [
        (int(known[at]), tuple(range(int(at) % 7, int(at) % 7 + 1 + int(other))))
        for at, other in zip(chance.integers(0, keys, number), chance.integers(0, 3, number), strict=True)
    ]


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize(("number", "keys", "spread"), [
    (1, 1, 2**64 - 1), (40, 1, 0), (5_000, 3, 9),
    (5_000, 4_000, 2**64 - 1), (20_000, 900, 5_000), (20_000, 2, 2**64 - 1),
])  # fmt: skip
def test_sums_are_those_of_a_dictionary(number: int, keys: int, spread: int, dtype: type) -> None:
    rows = _made(number, number, keys, spread)
    half = len(rows) // 2

    patterns = add_up([_part(rows[:half], dtype), _part(rows[half:], dtype)])

    assert _rows(patterns) == sorted(Counter(rows).items())


def test_counts_are_added_up() -> None:
    first = _part([(5, (1, 2)), (9, (3,))], np.uint16, [2**40, 1])
    second = _part([(2, (7,)), (5, (1, 2)), (5, (1, 3))], np.uint16, [4, 5, 6])

    patterns = add_up([first, second])

    assert _rows(patterns) == [((2, (7,)), 4), ((5, (1, 2)), 2**40 + 5), ((5, (1, 3)), 6), ((9, (3,)), 1)]


def test_memory_that_is_used_again_changes_no_sum() -> None:
    space, result = Space(), Space()
    add_up([_part(_made(1, 3_000, 500, 2**64 - 1), np.uint16)], space=space, result=result)
    rows = _made(2, 2_000, 700, 2**64 - 1)

    patterns = add_up([_part(rows, np.uint16)], space=space, result=result)

    assert _rows(patterns) == sorted(Counter(rows).items())


@pytest.mark.parametrize("longest", [1, 15, 16, 17, 70_000])
def test_names_are_the_sha1_of_their_text_whatever_the_length_of_the_pieces(longest: int) -> None:
    chance = np.random.default_rng(longest)
    pieces = [f"['{'x' * int(chance.integers(1, longest + 1))}{i}'], ".encode() for i in range(50)]
    offsets = np.cumsum([0, *map(len, pieces)])
    lengths = np.array([2, 3, 5, 6, 7, 40] * 9, np.int32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    ids = chance.integers(0, len(pieces), int(lengths.sum())).astype(np.uint16)

    digests = token_names(
        still(ids), still(starts), still(lengths), piece_table(np.frombuffer(b"".join(pieces), np.uint8), offsets)
    )

    texts = [b"".join(pieces[i] for i in ids[a : a + n])[:-2] for a, n in zip(starts, lengths, strict=True)]
    assert [row.astype(">u4").tobytes() for row in digests] == [sha1(b"[" + text + b"]").digest() for text in texts]
