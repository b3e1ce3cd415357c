"""Names do not depend on the Python that computes them."""

import hashlib
import subprocess
import sys
import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from headway.learners.patterns import naming
from headway.learners.patterns.naming import name_of, pieces, python_repr

# Printed by scripts/printable_table.py, which asks the `repr` of Python 3.10 itself.
REPR_OF_EVERY_CODE_POINT = "190e0ab785c485f84894422023c65507d643ed443573a5cb6d60981eb64d2222"


def test_every_code_point_is_written_as_python_3_10_writes_it():
    digest = hashlib.sha256()
    for start in range(0, 0x110000, 256):
        digest.update(python_repr("".join(map(chr, range(start, start + 256)))).encode())

    assert digest.hexdigest() == REPR_OF_EVERY_CODE_POINT


def test_characters_newer_than_the_table_are_escaped_even_where_this_python_prints_them():
    newer = [chr(code) for code in (0x061D, 0x1FAE8, 0x10EFD, 0x31350) if chr(code).isprintable()]

    assert newer or unicodedata.unidata_version == "13.0.0"
    assert all(python_repr(character)[1:3] in ("\\u", "\\U") for character in newer)
    assert naming.UNICODE_VERSION == "13.0"


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("", "''"),
        ("Ġthe", "'Ġthe'"),
        ("don't", '"don\'t"'),
        ('say "x"', "'say \"x\"'"),
        ("'\"", "'\\'\"'"),
        ("'\\", '"\'\\\\"'),
        ("a\nb\rc\td", "'a\\nb\\rc\\td'"),
        ("\x00\x7f\x85\xa0\xad", "'\\x00\\x7f\\x85\\xa0\\xad'"),
        ("\u200b\u2028\ufeff\ue000", "'\\u200b\\u2028\\ufeff\\ue000'"),
        ("\ud800", "'\\ud800'"),
        ("\U0001f642\U0010ffff", "'\U0001f642\\U0010ffff'"),
    ],
)
def test_a_symbol_is_quoted_by_the_rules_of_repr(symbol: str, expected: str):
    assert python_repr(symbol) == expected


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([["hello"], ["world"]], "7d0678ba6305341ce0d25133ab086208656a562f"),
        ([["a", "b"]], "395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4"),
        ([["a", "a"], ["b"], ["a"]], "3550c776a7e6f68718f9ae444eef464c9364d802"),
        ([[""], [""]], "57f0f10bbb89e2914db123c065e3319da26385c2"),
        ([["'s"], ["don't"], ["x"]], "04c4bc47a1da5f9ec1790110ef0b5d6578418baa"),
        ([["Ċ"], ["Ġ"], ["ĠĠ"], ['Ġ"'], ["Ġ'"]], "c89944ca39fa24057808532e7fb90e80de475f1c"),
    ],
)
def test_published_names_are_reproduced(events: list[list[str]], name: str):
    assert name_of(events) == name


def test_pieces_put_together_are_the_hashed_text():
    symbols = ["Ġcafé", "don't", "\ud800", "", "\U0001f642"]

    flat, offsets = pieces(symbols)

    text = b"[" + b"".join(flat[a:b].tobytes() for a, b in pairwise(offsets.tolist()))[:-2] + b"]"
    assert hashlib.sha1(text).hexdigest() == name_of([[symbol] for symbol in symbols])
    assert (flat.dtype, offsets.dtype, offsets[0], offsets[-1]) == (np.uint8, np.int64, 0, len(flat))


def test_no_symbols_have_no_pieces():
    flat, offsets = pieces([])

    assert (len(flat), offsets.tolist()) == (0, [0])


def test_naming_loads_no_compiler():
    code = "import sys, headway.learners.patterns.naming; sys.exit('numba' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
