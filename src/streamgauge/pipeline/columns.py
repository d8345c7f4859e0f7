"""Names of the columns that frames are joined, grouped and put in order by.

Expressions are SQL text with the same names: a frame's `select` at the end of each step says which it has, and Spark
refuses a name that is not there. Text costs a hundredth of what the same expression costs as an object of PySpark's.
"""

from typing import Final

TOPIC: Final = "topic"
GROUP: Final = "group"
PARTITION: Final = "partition"
OFFSET: Final = "offset"
CONSUMER: Final = "consumer"
PRODUCER: Final = "producer"
SEQ: Final = "seq"
CLASS: Final = "class"
WORD: Final = "word"
SELECTED: Final = "selected"
"""The tick that says in which window a row counts."""
SENT_TICK: Final = "sent_tick"

STAMP: Final = (TOPIC, PRODUCER, SEQ)
"""What identifies a message."""
MESSAGE: Final = (GROUP, *STAMP)
"""A message as a group sees it."""
PLACE: Final = (TOPIC, PARTITION, OFFSET)
LANE: Final = (GROUP, TOPIC, PARTITION)
"""A partition as a group reads it."""
DELIVERY: Final = (*LANE, OFFSET, CONSUMER, "poll")
DOUBTED: Final = (GROUP, TOPIC, PRODUCER, WORD)
"""64 sequences of a producer, as a group sees them."""
MESSAGE_TICKS: Final = (SELECTED, SENT_TICK, "settled_tick")
DELIVERY_TICKS: Final = (SELECTED, "received_tick", "done_tick")
DUE_NS: Final = "due_ns"
SENT_NS: Final = "sent_ns"
HANDED_NS: Final = "handed_ns"
ACKED_NS: Final = "acked_ns"
RECEIVED_NS: Final = "received_ns"
PROCESSED_NS: Final = "processed_ns"
DONE_NS: Final = "done_ns"
EMPTY_NS: Final = "empty_ns"
RETURNED_NS: Final = "returned_ns"
"""Times on the monotonic clock."""

IS_MEASURED: Final = f"({SELECTED} & 1) = 1"
"""SQL for whether a row counts in the measure phase."""
IS_STAMPED: Final = f"{PRODUCER} is not null and {SEQ} is not null"
"""SQL for whether a delivery says of which message it is."""
FINDING: Final = (CLASS, *MESSAGE, PARTITION, OFFSET, DUE_NS, SENT_NS, "error", "measured")
"""A finding: one message or delivery and the class it is in. A message may be in several."""
