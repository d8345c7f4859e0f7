"""What the error of a send says of the message: certainly not written, or perhaps."""

from typing import Final

from streamgauge.domain.events import UNSENT

CERTAINLY_NOT_WRITTEN: Final = frozenset(
    {
        UNSENT,
        # The client never sent it.
        "_QUEUE_FULL", "_PURGE_QUEUE", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "_INVALID_ARG", "_KEY_SERIALIZATION",
        "_VALUE_SERIALIZATION",
        # The broker says no to it, and would have to every earlier attempt.
        "MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE", "INVALID_RECORD", "INVALID_TIMESTAMP",
        "INVALID_REQUIRED_ACKS", "UNSUPPORTED_FOR_MESSAGE_FORMAT", "UNSUPPORTED_COMPRESSION_TYPE", "TOPIC_EXCEPTION",
        "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "NOT_ENOUGH_REPLICAS", "POLICY_VIOLATION",
    }
)  # fmt: skip
"""The client's names of errors after which the log does not hold the message. After any other it may: a request that
timed out, a connection that broke, or too few replicas after the append, say nothing of what the leader wrote; and a
producer that died (`fate_unknown`) says nothing at all."""


def unreported(fate_unknown: int | None, received: int | None) -> int:
    """Messages of which no report came and which nobody received: they are unknown, and nobody acknowledged them."""
    return (fate_unknown or 0) - (received or 0)


def certainly_not_written(error: str | None) -> bool:
    """Whether a message with this error of its send is in no log; None is no error."""
    return error in CERTAINLY_NOT_WRITTEN
