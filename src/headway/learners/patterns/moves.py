"""Machine operations numba has no words for: unaligned moves, a transposition in registers, asking for memory ahead of its use."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)
_BYTES16 = ir.VectorType(ir.IntType(8), 16)
_WORDS16 = ir.VectorType(ir.IntType(32), 16)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _word_at(context: Any, builder: Any, kind: Any, array: Any, at: Any, word: Any = _WORD) -> Any:
    return builder.bitcast(_address(context, builder, kind, array, at), word.as_pointer())


@intrinsic
def move8(typing_context: Any, target: Any, to: Any, source: Any, start: Any) -> Any:
    """Copy eight bytes between byte arrays at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1])
        loaded = builder.load(_word_at(context, builder, signature.args[2], values[2], values[3]))
        loaded.align = 1
        builder.store(loaded, into).align = 1
        return context.get_dummy_value()

    return types.void(target, to, source, start), generate


@intrinsic
def move16(typing_context: Any, target: Any, to: Any, source: Any, start: Any) -> Any:
    """Copy sixteen bytes between byte arrays at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1], _BYTES16)
        loaded = builder.load(_word_at(context, builder, signature.args[2], values[2], values[3], _BYTES16))
        loaded.align = 1
        builder.store(loaded, into).align = 1
        return context.get_dummy_value()

    return types.void(target, to, source, start), generate


@intrinsic
def clear64(typing_context: Any, target: Any, at: Any) -> Any:
    """Set sixty-four bytes of a byte array to zero, at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1], _WORDS16)
        builder.store(ir.Constant(_WORDS16, [0] * 16), into).align = 1
        return context.get_dummy_value()

    return types.void(target, at), generate


@intrinsic
def transpose16(typing_context: Any, source: Any, start: Any, stride: Any, target: Any, to: Any) -> Any:
    """Read sixteen rows of sixteen big-endian 32-bit words, `stride` bytes apart, and store them as columns.

    Four rounds of exchanges between vectors that are 1, 2, 4 and 8 apart take 64 instructions; word by word it is 512.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(_WORDS16, [_WORDS16])
        swap = builder.module.declare_intrinsic("llvm.bswap.v16i32", (), kind)
        rows: list[Any] = []
        for lane in range(16):
            at = builder.add(values[1], builder.mul(values[2], values[2].type(lane)))
            loaded = builder.load(_word_at(context, builder, signature.args[0], values[0], at, _WORDS16))
            loaded.align = 1
            rows.append(builder.call(swap, [loaded]))
        for apart in (1, 2, 4, 8):
            upper = [16 + j - apart if j & apart else j for j in range(16)]
            lower = [16 + j if j & apart else j + apart for j in range(16)]
            for i in range(16):
                if not i & apart:
                    a, b = rows[i], rows[i | apart]
                    rows[i], rows[i | apart] = _shuffled(builder, a, b, upper), _shuffled(builder, a, b, lower)
        for i, row in enumerate(rows):
            at = builder.add(values[4], values[4].type(16 * i))
            builder.store(row, _word_at(context, builder, signature.args[3], values[3], at, _WORDS16)).align = 4
        return context.get_dummy_value()

    return types.void(source, types.int64, types.int64, target, types.int64), generate


def _shuffled(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), 16), lanes))


@intrinsic
def put8(typing_context: Any, target: Any, to: Any, value: Any) -> Any:
    """Store a 64-bit word into a byte array at any alignment, lowest byte first."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(values[2], _word_at(context, builder, signature.args[0], values[0], values[1])).align = 1
        return context.get_dummy_value()

    return types.void(target, to, types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Ask for the cache line of one element; an index outside the array is harmless."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        line = builder.bitcast(_address(context, builder, signature.args[0], values[0], values[1]), byte)
        # Read, keep in all cache levels, data.
        builder.call(function, [line, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, at), generate
