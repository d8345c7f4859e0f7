"""The bucket index of `domain.latency.buckets` as a Spark SQL expression."""

from streamgauge.domain.latency.buckets import LINEAR_LIMIT, MAX_EXPONENT, NEGATIVE, SUB_BITS


def bucket(value: str) -> str:
    """SQL for the bucket index of the bigint column `value`; null where it is null.

    A nested binary tree of comparisons with constants: six of them lead to the exponent, and Spark compiles it to
    plain branches, which no call of a function of Spark's comes near.
    """
    return f"if({value} < 0, {NEGATIVE}L, {_tree(value, 0, MAX_EXPONENT)})"


def _tree(value: str, low: int, high: int) -> str:
    """SQL for the index when the exponent is known to lie in [low, high]."""
    if low == high:
        return f"{low << SUB_BITS}L + shiftright({value}, {low})"
    middle = (low + high) // 2
    return f"if({value} < {LINEAR_LIMIT << middle}L, {_tree(value, low, middle)}, {_tree(value, middle + 1, high)})"
