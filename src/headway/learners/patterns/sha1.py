"""SHA-1 of many short messages at once: sixteen lanes of straight-line code that LLVM turns into vector instructions.

A loop over lanes whose body holds all eighty rounds vectorises over the lanes; a loop over rounds with
lanes inside does not, since the state would go through memory eighty times.
"""

from typing import Any

import numpy as np
from numba import njit

LANES = 16
_U32 = np.uint32
_K0, _K1, _K2, _K3 = _U32(0x5A827999), _U32(0x6ED9EBA1), _U32(0x8F1BBCDC), _U32(0xCA62C1D6)
_INITIAL = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0], np.uint32)


@njit(forceinline=True)
def _rotate(x: Any, by: Any) -> Any:
    return _U32(_U32(x << by) | _U32(x >> _U32(_U32(32) - by)))


@njit(forceinline=True)
def _turn(s: Any, f: Any, k: Any, w: Any) -> Any:
    total = _U32(_rotate(s[0], _U32(5)) + f + s[4] + k + w)
    return (total, s[0], _rotate(s[1], _U32(30)), s[2], s[3])


@njit(forceinline=True)
def _choose(s: Any, w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
    for w in (w0, w1, w2, w3):
        s = _turn(s, _U32(s[3] ^ (s[1] & (s[2] ^ s[3]))), _K0, w)
    return s


@njit(forceinline=True)
def _parity(s: Any, k: Any, w: Any) -> Any:
    return _turn(s, _U32(s[1] ^ s[2] ^ s[3]), k, w)


@njit(forceinline=True)
def _parities(s: Any, k: Any, w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
    return _parity(_parity(_parity(_parity(s, k, w0), k, w1), k, w2), k, w3)


@njit(forceinline=True)
def _majority(s: Any, w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
    for w in (w0, w1, w2, w3):
        s = _turn(s, _U32((s[1] & s[2]) | (s[3] & (s[1] | s[2]))), _K2, w)
    return s


@njit(forceinline=True)
def _word(a: Any, b: Any, c: Any, d: Any) -> Any:
    return _rotate(_U32(a ^ b ^ c ^ d), _U32(1))


@njit(forceinline=True)
def _next(w: Any) -> Any:
    """The sixteen schedule words after `w`."""
    a0 = _word(w[13], w[8], w[2], w[0])
    a1 = _word(w[14], w[9], w[3], w[1])
    a2 = _word(w[15], w[10], w[4], w[2])
    a3 = _word(a0, w[11], w[5], w[3])
    a4 = _word(a1, w[12], w[6], w[4])
    a5 = _word(a2, w[13], w[7], w[5])
    a6 = _word(a3, w[14], w[8], w[6])
    a7 = _word(a4, w[15], w[9], w[7])
    a8 = _word(a5, a0, w[10], w[8])
    a9 = _word(a6, a1, w[11], w[9])
    a10 = _word(a7, a2, w[12], w[10])
    a11 = _word(a8, a3, w[13], w[11])
    a12 = _word(a9, a4, w[14], w[12])
    a13 = _word(a10, a5, w[15], w[13])
    a14 = _word(a11, a6, a0, w[14])
    a15 = _word(a12, a7, a1, w[15])
    return (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)


@njit(forceinline=True)
def _compress(s: Any, w: Any) -> Any:
    s = _choose(s, w[0], w[1], w[2], w[3])
    s = _choose(s, w[4], w[5], w[6], w[7])
    s = _choose(s, w[8], w[9], w[10], w[11])
    s = _choose(s, w[12], w[13], w[14], w[15])
    w = _next(w)
    s = _choose(s, w[0], w[1], w[2], w[3])
    s = _parities(s, _K1, w[4], w[5], w[6], w[7])
    s = _parities(s, _K1, w[8], w[9], w[10], w[11])
    s = _parities(s, _K1, w[12], w[13], w[14], w[15])
    w = _next(w)
    s = _parities(s, _K1, w[0], w[1], w[2], w[3])
    s = _parities(s, _K1, w[4], w[5], w[6], w[7])
    s = _majority(s, w[8], w[9], w[10], w[11])
    s = _majority(s, w[12], w[13], w[14], w[15])
    w = _next(w)
    s = _majority(s, w[0], w[1], w[2], w[3])
    s = _majority(s, w[4], w[5], w[6], w[7])
    s = _majority(s, w[8], w[9], w[10], w[11])
    s = _parities(s, _K3, w[12], w[13], w[14], w[15])
    w = _next(w)
    s = _parities(s, _K3, w[0], w[1], w[2], w[3])
    s = _parities(s, _K3, w[4], w[5], w[6], w[7])
    s = _parities(s, _K3, w[8], w[9], w[10], w[11])
    return _parities(s, _K3, w[12], w[13], w[14], w[15])


@njit(nogil=True, cache=True)
def sha1_lanes(words: Any, blocks: int, state: Any) -> None:
    """Hash sixteen padded messages of `blocks` blocks each: `words[block, 16, LANES]` to `state[5, LANES]`."""
    for row in range(5):
        for lane in range(LANES):
            state[row, lane] = _INITIAL[row]
    for b in range(blocks):
        for lane in range(LANES):
            s = (state[0, lane], state[1, lane], state[2, lane], state[3, lane], state[4, lane])
            w = (
                words[b, 0, lane], words[b, 1, lane], words[b, 2, lane], words[b, 3, lane],
                words[b, 4, lane], words[b, 5, lane], words[b, 6, lane], words[b, 7, lane],
                words[b, 8, lane], words[b, 9, lane], words[b, 10, lane], words[b, 11, lane],
                words[b, 12, lane], words[b, 13, lane], words[b, 14, lane], words[b, 15, lane],
            )  # fmt: skip
            t = _compress(s, w)
            state[0, lane] = _U32(s[0] + t[0])
            state[1, lane] = _U32(s[1] + t[1])
            state[2, lane] = _U32(s[2] + t[2])
            state[3, lane] = _U32(s[3] + t[3])
            state[4, lane] = _U32(s[4] + t[4])
