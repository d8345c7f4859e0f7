"""The bucket index of `domain.latency.buckets` as a Spark SQL expression."""

from streamgauge.domain.clock import NS_PER_US
from streamgauge.domain.latency.buckets import MAX_EXPONENT, NEGATIVE, SUB_BITS
from streamgauge.pipeline.metrics.aggregates import bounds


def bucket(value: str) -> str:
    """SQL for the bucket index of the bigint column `value`; null where it is null.

    A nested binary tree of comparisons with constants: six of them lead to the exponent, and Spark compiles it to
    plain branches, which no call of a function of Spark's comes near.
    """
    return f"if({value} < 0, {NEGATIVE}L, {_tree(value, 0, MAX_EXPONENT, SUB_BITS)})"


def width_class(microseconds: str) -> str:
    """SQL for the class of `bounds` of a bigint column in us; that of the unknown where it is null."""
    tree = _tree(microseconds, 0, bounds.MAX_EXPONENT, bounds.SUB_BITS)
    inside = f"if({microseconds} < 0, 0L, if({microseconds} > {bounds.WIDEST_US}L, {bounds.WIDEST}L, {tree}))"
    return f"if({microseconds} is null, {bounds.UNKNOWN}L, {inside})"


def microseconds(width: str) -> str:
    """SQL for a width in ns as whole microseconds, rounded up; null where it is null."""
    return f"({width} + {NS_PER_US - 1}L) div {NS_PER_US}L"


def _tree(value: str, low: int, high: int, sub_bits: int) -> str:
    """SQL for the index when the exponent is known to lie in [low, high]."""
    if low == high:
        return f"{low << sub_bits}L + shiftright({value}, {low})"
    middle = (low + high) // 2
    below, above = (_tree(value, *ends, sub_bits) for ends in ((low, middle), (middle + 1, high)))
    return f"if({value} < {2 << sub_bits << middle}L, {below}, {above})"
