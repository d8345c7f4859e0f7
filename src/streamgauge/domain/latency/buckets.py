"""Log-linear buckets (the layout of HdrHistogram) whose counts may be added: the base of every percentile.

Bucket of a value v in ns: v itself below 512, else `(e << 8) + (v >> e)` with the smallest e for which `v < 512 << e`:
256 buckets per power of two, so a bucket's width is at most 2^-8 of its values. Values below zero share bucket -1.
The same index in Spark SQL is `pipeline.metrics.aggregates.buckets`; a test holds the two together.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

SUB_BITS = 8
LINEAR_LIMIT = 2 << SUB_BITS
MAX_EXPONENT = 62 - SUB_BITS
NEGATIVE = -1


def bucket_of(values_ns: Int64s, sub_bits: int = SUB_BITS) -> Int64s:
    """The bucket index of each value, for values from -2^63 to 2^63 - 1; `2^sub_bits` buckets per power of two."""
    values = np.asarray(values_ns, np.int64)
    clipped = np.maximum(values, 0)
    # frexp of the rounded float can be one too high next to a power of two above 2^53; the shift test mends that.
    exponent = np.maximum(np.frexp(clipped.astype(np.float64))[1].astype(np.int64) - sub_bits - 1, 0)
    exponent -= (exponent > 0) & ((clipped >> np.maximum(exponent, 0)) < 1 << sub_bits)
    return np.where(values < 0, NEGATIVE, (exponent << sub_bits) + (clipped >> exponent))


def upper_edge_ns(buckets: Int64s, sub_bits: int = SUB_BITS) -> Int64s:
    """The largest value that each bucket holds."""
    index = np.asarray(buckets, np.int64)
    exponent = np.maximum((index >> sub_bits) - 1, 0)
    mantissa = index - (exponent << sub_bits)
    return np.where(index < 0, NEGATIVE, ((mantissa + 1) << exponent) - 1)


def lower_edge_ns(buckets: Int64s) -> Int64s:
    """The smallest value that each bucket holds; of the bucket of negatives, -1."""
    index = np.asarray(buckets, np.int64)
    exponent = np.maximum((index >> SUB_BITS) - 1, 0)
    return np.where(index < 0, NEGATIVE, (index - (exponent << SUB_BITS)) << exponent)
