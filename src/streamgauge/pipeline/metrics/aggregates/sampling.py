"""How far a percentile may be off by chance: another run of the same length could have had other seconds.

Moving-block bootstrap (Künsch, 1989) over the seconds of the measure phase: blocks of consecutive seconds are drawn
with replacement until there are as many seconds as before, and the percentile of each draw is taken. Blocks keep
together what belongs together: a stall, or a batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.domain.latency.buckets import Floats, Int64s, upper_edge_ns
from streamgauge.domain.latency.percentiles import Buckets, percentile_ns

BLOCK_SECONDS: Final = 3
"""Length of a block, where no cycle of the run is longer."""
WINDOWS_NEEDED: Final = 10
"""Seconds that must have messages above a percentile: fewer say nothing of how it varies."""
WINDOWS_KEPT: Final = 1_200
"""Longer runs are taken in windows of more than a second: the draws stay as quick."""
DRAWS: Final = 400
_ENDS: Final = (0.025, 0.975)
_SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Sampled:
    """The interval of 95 % of one percentile, in ns; without one, the reason."""

    low_ns: int | None
    high_ns: int | None
    reason: str | None = None


def intervals(windows: Sequence[Buckets], ranks: Sequence[int], block: int = BLOCK_SECONDS) -> list[Sampled]:
    """The interval of each percentile, given as rank in hundredths of a percent; `windows` are seconds in their order.

    The same windows give the same intervals: the draws are seeded.
    """
    index = np.unique(np.concatenate([each.index for each in windows])) if windows else np.zeros(0, np.int64)
    if not len(index):
        return [Sampled(None, None, "no message was measured") for _ in ranks]
    seconds = -(-len(windows) // WINDOWS_KEPT)
    counts = np.zeros((-(-len(windows) // seconds), len(index)))
    for row, each in enumerate(windows):
        counts[row // seconds, np.searchsorted(index, each.index)] += each.count
    up_to = np.cumsum(_draws(len(counts), -(-block // seconds)) @ counts, axis=1)
    edges, whole = upper_edge_ns(index), Buckets(index, counts.sum(axis=0).astype(np.int64))
    return [_interval(rank, whole, counts, up_to, edges) for rank in ranks]


def _interval(rank: int, whole: Buckets, counts: Floats, up_to: Floats, edges: Int64s) -> Sampled:
    at = percentile_ns(whole, rank, whole.total, None)
    assert at is not None
    above = int((counts[:, edges > at].sum(axis=1) > 0).sum())
    if above < WINDOWS_NEEDED:
        return Sampled(None, None, f"{WINDOWS_NEEDED} seconds with messages above it are needed, there are {above}")
    wanted = np.maximum(1, np.ceil(up_to[:, -1] * rank / 10_000))
    places = [int(np.searchsorted(row, each)) for row, each in zip(up_to, wanted, strict=True)]
    low, high = np.quantile(edges[places], _ENDS, method="inverted_cdf")
    return Sampled(int(low), int(high))


def _draws(windows: int, block: int) -> Floats:
    """How often each draw takes each window: one row a draw."""
    length = min(block, windows)
    blocks = -(-windows // length)
    begins = np.random.default_rng(_SEED).integers(0, windows - length + 1, (DRAWS, blocks))
    taken = (begins[:, :, None] + np.arange(length)).reshape(DRAWS, -1)[:, :windows]
    weights = np.zeros((DRAWS, windows))
    np.add.at(weights, (np.arange(DRAWS)[:, None], taken), 1)
    return weights
