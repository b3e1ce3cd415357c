"""Pattern names, byte for byte: the SHA-1 of Python's `repr` under Unicode 13.0, whatever Python runs."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from hashlib import sha1
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from headway.learners.patterns.printable import CHANGES, UNICODE_VERSION

__all__ = ["UNICODE_VERSION", "name_of", "pieces", "printable", "python_repr"]

_CHANGES = list(accumulate(int(step, 36) for step in CHANGES.split()))
_SHORT = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def printable(code: int) -> bool:
    """Whether a code point is printable in Unicode 13.0."""
    return bisect_right(_CHANGES, code) % 2 == 1


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Spelling(dict[int, str]):
    """Code point to its spelling inside quotes, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        spelling = chr(code) if printable(code) else _escape(code)
        self[code] = spelling
        return spelling


_SPELLING = _Spelling(_SHORT)


def python_repr(symbol: str) -> str:
    """What `repr` of Python 3.10 gives for this string."""
    body = symbol.translate(_SPELLING)
    if "'" not in symbol:
        return f"'{body}'"
    if '"' not in symbol:
        return f'"{body}"'
    return "'" + body.replace("'", "\\'") + "'"


def pieces(symbols: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes each symbol, alone in its event, adds to a hashed text (`['a'], `), in one array with n+1 offsets."""
    texts = [f"[{python_repr(symbol)}], ".encode() for symbol in symbols]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return np.frombuffer(bytearray().join(texts), np.uint8), offsets


def name_of(events: Sequence[Sequence[str]]) -> str:
    """The name of a pattern, 40 hex digits without `PTRN|`; the plain way, which every fast path must equal."""
    text = ", ".join("[" + ", ".join(map(python_repr, event)) + "]" for event in events)
    return sha1(f"[{text}]".encode()).hexdigest()
