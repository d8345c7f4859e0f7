"""Looks at a run that is not there."""

import numpy as np

from streamgauge.domain.look import BUCKETS, Held, Look, WorkerLook, live_buckets

SECOND = 1_000_000_000
EVIL = 'a"b\\c\nd'


def look(*, second: int = 7, held: Held | None = None, lag: int | None = None, batches: bool = False) -> Look:
    """A run in its measure phase: every second 100 messages are sent, 95 acknowledged, 3 fail and 90 are received."""
    one = np.bincount(live_buckets(np.array([2_000_000] * 90 + [40_000_000] * 9 + [10**12])), minlength=BUCKETS)
    return Look(
        second * SECOND, "measure", 0, 5 * SECOND, 15 * SECOND,
        [
            WorkerLook(
                "producer-0", "producer", True, 100 * second, 98 * second, 3 * second, 9_500 * second,
                blocked_ns=SECOND // 2 * second, cpu_ns=2 * SECOND * second, clients=2, done=1, dropped=4,
            ),
            WorkerLook(
                "consumer-0", "consumer", False, 90 * second, message_bytes=9_000 * second, clients=1, buffered=5
            ),
            WorkerLook(EVIL, "broker", True),
        ],
        one * second, one * second if batches else np.zeros(BUCKETS, np.int64),
        idle_ns=SECOND * second, cores=2, lag=lag, held=held, run="20260101-120000-baseline",
        batch=one * second if batches else np.zeros(BUCKETS, np.int64),
    )  # fmt: skip
