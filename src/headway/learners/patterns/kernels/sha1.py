"""SHA-1 of sixteen messages at once: one vector of sixteen 32-bit lanes for each word of the algorithm.

Written as LLVM vector code, not as a loop over lanes: whether such a loop becomes vector code is the compiler's guess,
and it pays for its guess with checks that inputs and outputs do not overlap, a third of the time. Machines with
narrower vectors get the same code in two or four pieces.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from headway.native.moves import address

LANES = 16
# Untyped: the first parameter of an intrinsic is numba's, and its callers do not pass it.
_machine: Any = intrinsic
INITIAL = np.array([0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0], np.uint32)
_KEYS = (0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6)
_VECTOR = ir.VectorType(ir.IntType(32), LANES)


@_machine
def sha1_block(typing_context: Any, text: Any, start: Any, stride: Any, state: Any) -> Any:
    """Take one 64-byte block of each of sixteen messages, `stride` bytes apart in `text`, into `state[5, LANES]`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        code = _Code(builder)
        rows = [
            code.load(context, signature.args[0], values[0], builder.add(values[1], code.times(values[2], lane)))
            for lane in range(LANES)
        ]
        words = code.transposed([code.call("bswap", row) for row in rows])
        places = [values[1].type(LANES * row) for row in range(5)]
        old = [code.load(context, signature.args[3], values[3], place) for place in places]
        for place, before, after in zip(places, old, code.rounds(old, words), strict=True):
            code.store(context, signature.args[3], values[3], place, builder.add(before, after))
        return context.get_dummy_value()

    return types.void(text, types.int64, types.int64, state), generate


class _Code:
    """Vector instructions put one after another."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def load(self, context: Any, kind: Any, array: Any, at: Any) -> Any:
        loaded = self._builder.load(self._vector_at(context, kind, array, at))
        loaded.align = 1
        return loaded

    def store(self, context: Any, kind: Any, array: Any, at: Any, value: Any) -> None:
        self._builder.store(value, self._vector_at(context, kind, array, at)).align = 4

    def times(self, value: Any, factor: int) -> Any:
        return self._builder.mul(value, value.type(factor))

    def call(self, name: str, *values: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(values))
        return self._builder.call(self._builder.module.declare_intrinsic(f"llvm.{name}.v{LANES}i32", (), kind), values)

    def transposed(self, rows: list[Any]) -> list[Any]:
        """Columns for rows: exchanges between vectors that are 1, 2, 4 and 8 apart."""
        rows = list(rows)
        for apart in (1, 2, 4, 8):
            for i in range(LANES):
                if not i & apart:
                    pair = rows[i], rows[i | apart]
                    rows[i] = self._shuffled(*pair, [LANES + j - apart if j & apart else j for j in range(LANES)])
                    rows[i | apart] = self._shuffled(
                        *pair, [LANES + j if j & apart else j + apart for j in range(LANES)]
                    )
        return rows

    def rounds(self, state: list[Any], words: list[Any]) -> list[Any]:
        """The eighty rounds."""
        b, words = self._builder, list(words)
        v, w, x, y, z = state
        for t in range(80):
            if t >= 16:
                mixed = b.xor(
                    b.xor(words[(t - 3) % 16], words[(t - 8) % 16]), b.xor(words[(t - 14) % 16], words[t % 16])
                )
                words[t % 16] = self._rotated(mixed, 1)
            # The word and the key join z first: neither waits for the round before.
            early = b.add(b.add(z, words[t % 16]), _filled(_KEYS[t // 20]))
            total = b.add(b.add(early, self._choice(t, w, x, y)), self._rotated(v, 5))
            v, w, x, y, z = total, v, self._rotated(w, 30), x, y
        return [v, w, x, y, z]

    def _choice(self, t: int, x: Any, y: Any, z: Any) -> Any:
        b = self._builder
        if t < 20:
            return b.xor(z, b.and_(x, b.xor(y, z)))
        if 40 <= t < 60:
            return b.or_(b.and_(x, y), b.and_(z, b.or_(x, y)))
        return b.xor(b.xor(x, y), z)

    def _rotated(self, value: Any, by: int) -> Any:
        return self.call("fshl", value, value, _filled(by))

    def _shuffled(self, a: Any, b: Any, lanes: list[int]) -> Any:
        return self._builder.shuffle_vector(a, b, ir.Constant(_VECTOR, lanes))

    def _vector_at(self, context: Any, kind: Any, array: Any, at: Any) -> Any:
        return self._builder.bitcast(address(context, self._builder, kind, array, at), _VECTOR.as_pointer())


def _filled(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)
