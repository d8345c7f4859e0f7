"""The schema of deliveries that are acknowledged one by one."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _STR = Type.INT32, Type.INT64, Type.STRING

ATTEMPTS = Schema(
    "attempts",
    "Outcome of one delivery, where messages are acknowledged one by one: from the consumer that processed it, or from "
    "the tracker that found it unacknowledged.",
    (
        must("at_ns", _I64, "time the broker confirmed it; of a failed delivery, the end of its processing"),
        must("topic", _I32, "topic number in run.json"),
        must("group", _I32, "consumer group number in run.json"),
        must("partition", _I32, "partition it was read from"),
        must("offset", _I64, "offset it was read at"),
        may("producer", _I32, "producer number from the stamp; null for a foreign message"),
        may("seq", _I64, "sequence number from the stamp; null for a foreign message"),
        must("attempt", _I32, "delivery number of the message, from 1"),
        must(
            "outcome",
            _STR,
            "consumer: `accepted`; `released` if it failed, or `rejected` if it failed and is not to come again; "
            "`timed_out` if a share group was told too late; who writes it again, a tracker or the consumer: "
            "`redelivered`, or `dead_letter`",
        ),
    ),
)
