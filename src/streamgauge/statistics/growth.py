"""Whether a series grows over a phase: by a bootstrap of its increments, in blocks that keep what depends together."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from streamgauge.statistics import limits

_SEED: Final = 1
_DRAWS: Final = 2_000
FEWEST: Final = 5
"""With fewer increments there is no interval."""


def growth(values: Sequence[float], seed: int = _SEED) -> tuple[float, float] | None:
    """The interval of how much a series grows from its first value to its last; None where it is too short.

    Blocks of about the square root of the number of increments are drawn with replacement, at any place (moving blocks:
    Kunsch, 1989). The growth is the sum of as many increments as there are.
    """
    increments = np.diff(np.asarray(values, np.float64))
    count = len(increments)
    if count < FEWEST:
        return None
    length = max(1, round(math.sqrt(count)))
    begins = np.random.default_rng(seed).integers(0, count - length + 1, (_DRAWS, math.ceil(count / length)))
    places = (begins[:, :, None] + np.arange(length)).reshape(_DRAWS, -1)[:, :count]
    sums = increments[places].sum(axis=1)
    low, high = np.quantile(sums, [limits.LEVEL / 2, 1 - limits.LEVEL / 2])
    return float(low), float(high)
