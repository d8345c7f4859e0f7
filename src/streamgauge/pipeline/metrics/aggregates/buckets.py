"""The bucket index of `domain.latency.buckets` in Spark SQL: from a value and, in a column of its own, its exponent."""

from streamgauge.domain.clock import NS_PER_US
from streamgauge.domain.latency.buckets import MAX_EXPONENT, NEGATIVE, SUB_BITS
from streamgauge.pipeline.metrics.aggregates import bounds


def exponent(value: str) -> str:
    """SQL for the exponent of the bigint column `value`, an int; of what has no bucket of its own, any.

    A nested binary tree of comparisons with constants: six of them lead to the exponent, and Spark compiles it to
    plain branches, which no call of a function of Spark's comes near. A tree of whole indices would be as fast, and
    take the JVM twice as long to compile.
    """
    return _tree(value, 0, MAX_EXPONENT, SUB_BITS)


def bucket(value: str, exponent: str) -> str:
    """SQL for the bucket index of the bigint column `value`, with its `exponent` in a column; null where it is null."""
    return f"if({value} < 0, {NEGATIVE}L, {_index(value, exponent, SUB_BITS)})"


def width_exponent(microseconds: str) -> str:
    """The same as `exponent` for a bigint column in us, whose class is wanted."""
    return _tree(microseconds, 0, bounds.MAX_EXPONENT, bounds.SUB_BITS)


def width_class(microseconds: str, exponent: str) -> str:
    """SQL for the class of `bounds` of a bigint column in us, with its `width_exponent` in a column.

    That of the unknown where it is null.
    """
    index = _index(microseconds, exponent, bounds.SUB_BITS)
    inside = f"if({microseconds} < 0, 0L, if({microseconds} > {bounds.WIDEST_US}L, {bounds.WIDEST}L, {index}))"
    return f"if({microseconds} is null, {bounds.UNKNOWN}L, {inside})"


def microseconds(width: str) -> str:
    """SQL for a width in ns as whole microseconds, rounded up; null where it is null."""
    return f"({width} + {NS_PER_US - 1}L) div {NS_PER_US}L"


def _index(value: str, exponent: str, sub_bits: int) -> str:
    return f"(cast({exponent} as bigint) << {sub_bits}) + shiftright({value}, {exponent})"


def _tree(value: str, low: int, high: int, sub_bits: int) -> str:
    """SQL for the exponent when it is known to lie in [low, high]."""
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = (_tree(value, *ends, sub_bits) for ends in ((low, middle), (middle + 1, high)))
    return f"if({value} < {2 << sub_bits << middle}L, {below}, {above})"
