"""Machine operations numba has no words for: unaligned moves, many bytes compared at once, memory asked for ahead."""

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


@_machine
def take8(typing_context: Any, source: Any, at: Any) -> Any:
    """The 64-bit word at any place of a byte array, lowest byte first."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        loaded = builder.load(_word_at(context, builder, signature.args[0], values[0], values[1]))
        loaded.align = 1
        return loaded

    return types.uint64(source, at), generate


@_machine
def matches64(typing_context: Any, source: Any, at: Any, byte: Any) -> Any:
    """Which of sixty-four bytes of a byte array are this one: bit i for byte `at` + i."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64)
        loaded = builder.load(_word_at(context, builder, signature.args[0], values[0], values[1], vector))
        loaded.align = 1
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), values[2], ir.Constant(ir.IntType(32), 0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        wanted = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), same)
        return builder.bitcast(builder.icmp_unsigned("==", loaded, wanted), _WORD)

    return types.uint64(source, at, types.uint8), generate


@_machine
def lowest(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit that is set; 64 where none is."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@_machine
def bits_of(typing_context: Any, number: Any) -> Any:
    """The 64 bits of a double."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], _WORD)

    return types.uint64(types.float64), generate
