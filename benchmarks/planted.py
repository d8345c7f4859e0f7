"""Anomalies planted into synthetic runs.

Which messages they befall is said by their sequences, so that any slab of rows can be changed by itself, and what an
audit must count is known from the number of messages alone.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Columns = dict[str, object]

PERIOD: Final = 20_000
"""Each class befalls one sequence of producer 0 in so many."""
GONE_RECEIVED, GONE, PASSED_OVER, AGAIN, TAKEN = 50, 2_050, 4_050, 6_050, 8_050
"""Received and gone from the log; neither received nor there; never received although there; received twice, the second
time at the end; acknowledged at the offset of the next message, and not there. By the remainder of the sequence."""
LAST_POLLS: Final = 1 << 40


def expected(messages_of_producer: int, others: int) -> dict[str, int]:
    """The counts of `delivery` that are not those of a healthy run; `others` are the messages of other producers."""
    count = {each: len(range(each, messages_of_producer, PERIOD)) for each in (GONE_RECEIVED, GONE, PASSED_OVER, AGAIN)}
    taken = len(range(TAKEN, messages_of_producer, PERIOD))
    lost = count[GONE] + count[PASSED_OVER] + taken
    return {
        "truncated": count[GONE_RECEIVED] + count[GONE] + taken,
        "vanished": count[GONE_RECEIVED],
        "offset_conflicts": taken,
        "lost": lost,
        "skipped_polls": count[PASSED_OVER],
        "duplicate_consumer": count[AGAIN],
        "went_back": count[AGAIN],
        "delivered_once": messages_of_producer + others - lost - count[AGAIN],
        **dict.fromkeys(
            ("undelivered", "unknown", "duplicate_producer", "reordered", "corrupt", "foreign", "unrecorded"), 0
        ),
    }  # fmt: skip


def in_sent(columns: Columns) -> Columns:
    """Rows of `sent` as they are with the anomalies."""
    taken = _befallen(columns, TAKEN)
    return columns | {"offset": np.asarray(columns["offset"]) + taken}


def in_received(columns: Columns) -> Columns:
    """Rows of `received`."""
    missing = _befallen(columns, GONE) | _befallen(columns, PASSED_OVER) | _befallen(columns, TAKEN)
    again = np.flatnonzero(_befallen(columns, AGAIN))
    rows = np.concatenate([np.flatnonzero(~missing), again])
    changed = _taken(columns, rows)
    poll = np.array(changed["poll"])
    poll[len(rows) - len(again) :] += LAST_POLLS
    return changed | {"poll": poll}


def in_log(columns: Columns) -> Columns:
    """Rows of `appended`."""
    gone = _befallen(columns, GONE_RECEIVED) | _befallen(columns, GONE) | _befallen(columns, TAKEN)
    return _taken(columns, np.flatnonzero(~gone))


def _befallen(columns: Columns, remainder: int) -> NDArray[np.bool_]:
    seq, producer = np.asarray(columns["seq"]), np.asarray(columns["producer"])
    befallen: NDArray[np.bool_] = (seq % PERIOD == remainder) & (producer == 0)
    return befallen


def _taken(columns: Columns, rows: Int64s) -> Columns:
    return {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in columns.items()}
