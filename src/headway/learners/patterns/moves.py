"""Machine operations numba has no words for: unaligned moves, and asking for memory ahead of its use."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Untyped: the first parameter of an intrinsic is numba's, and its callers do not pass it.
_machine: Any = intrinsic
_WORD = ir.IntType(64)
_BYTES16 = ir.VectorType(ir.IntType(8), 16)
_WORDS16 = ir.VectorType(ir.IntType(32), 16)


def address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """A pointer to one element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _word_at(context: Any, builder: Any, kind: Any, array: Any, at: Any, word: Any = _WORD) -> Any:
    return builder.bitcast(address(context, builder, kind, array, at), word.as_pointer())


@_machine
def move8(typing_context: Any, target: Any, to: Any, source: Any, start: Any) -> Any:
    """Copy eight bytes between byte arrays at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1])
        loaded = builder.load(_word_at(context, builder, signature.args[2], values[2], values[3]))
        loaded.align = 1
        builder.store(loaded, into).align = 1
        return context.get_dummy_value()

    return types.void(target, to, source, start), generate


@_machine
def move16(typing_context: Any, target: Any, to: Any, source: Any, start: Any) -> Any:
    """Copy sixteen bytes between byte arrays at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1], _BYTES16)
        loaded = builder.load(_word_at(context, builder, signature.args[2], values[2], values[3], _BYTES16))
        loaded.align = 1
        builder.store(loaded, into).align = 1
        return context.get_dummy_value()

    return types.void(target, to, source, start), generate


@_machine
def clear64(typing_context: Any, target: Any, at: Any) -> Any:
    """Set sixty-four bytes of a byte array to zero, at any alignment."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        into = _word_at(context, builder, signature.args[0], values[0], values[1], _WORDS16)
        builder.store(ir.Constant(_WORDS16, [0] * 16), into).align = 1
        return context.get_dummy_value()

    return types.void(target, at), generate


@_machine
def put8(typing_context: Any, target: Any, to: Any, value: Any) -> Any:
    """Store a 64-bit word into a byte array at any alignment, lowest byte first."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store(values[2], _word_at(context, builder, signature.args[0], values[0], values[1])).align = 1
        return context.get_dummy_value()

    return types.void(target, to, types.uint64), generate


@_machine
def prefetch(typing_context: Any, array: Any, at: Any) -> Any:
    """Ask for the cache line of one element; an index outside the array is harmless."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        line = builder.bitcast(address(context, builder, signature.args[0], values[0], values[1]), byte)
        # Read, keep in all cache levels, data.
        builder.call(function, [line, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, at), generate
