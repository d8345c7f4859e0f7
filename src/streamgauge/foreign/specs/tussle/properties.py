"""The properties of Azul's kafka-benchmark, by the names of its README and of its newest version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import DURATION_NS, MAX_DURATION_NS
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.java import consumer_client, plain_setting, producer_settings
from streamgauge.foreign.specs.write.translation import Draft, without_none
from streamgauge.foreign.specs.write.workers import clients

_UNITS: Final[Mapping[str, int]] = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}  # fmt: skip
_TIMES: Final[Mapping[str, int]] = {
    **dict.fromkeys(["", "s", "sec", "second", "seconds"], NS_PER_SECOND),
    "ms": DURATION_NS["ms"],
    **dict.fromkeys(["m", "min", "minute", "minutes"], DURATION_NS["m"]),
    **dict.fromkeys(["h", "hr", "hrs", "hour", "hours"], DURATION_NS["h"]),
}
_QUANTITY: Final = re.compile(r"\s*(-?\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Z]*)\s*")
BENCH: Final = frozenset(
    "brokerList topic topics partitions replicationFactor waitAfterDeleteTopic retentionMs retentionBytes"
    " minInsyncReplicas topicProps messageLength messageLengthMax producers consumers pollTimeoutMs acks batchSize"
    " lingerMs producerProps consumerProps throttleMode probeTopics rf producerAcks idempotence pollTimeout".split()
)


def tussle_number(value: object) -> int:
    """The whole number that `10k`, `1m` or `4kib` says; raises BadValue."""
    return int(_quantity(value, _UNITS, "a number", "10k or 4kib"))


def tussle_time_ns(value: object) -> int:
    """The ns of `30`, `30s`, `2m` or `1h`; a bare number is seconds. Raises BadValue."""
    found = int(_quantity(value, _TIMES, "a time", "30s or 2m"))
    if not 0 <= found <= MAX_DURATION_NS:
        raise BadValue("not between 0 and 7 days", "Write a shorter time")
    return found


def _quantity(value: object, units: Mapping[str, int], what: str, like: str) -> Decimal:
    found = None if isinstance(value, bool) else _QUANTITY.fullmatch(str(value))
    if found is None or found[2].lower() not in units:
        raise BadValue(f"not {what}", f"Write one like {like}")
    return Decimal(found[1]) * units[found[2].lower()]


@dataclass(frozen=True, slots=True)
class TussleBench:
    """What the benchmark's properties say; the runner says the rate, and how long it lasts."""

    document: dict[str, Any]
    """Topic, load and consumers of a scenario; `load.rate` is missing."""
    in_chunks: bool
    """Whether messages are sent in chunks of 10 ms."""


def bench_of(draft: Draft, given: Mapping[str, Any]) -> TussleBench:
    """The benchmark that properties say; what is wrong with them is a fault of the draft."""
    fields = SpecFields(draft, given, "", "kafka-benchmark")
    if fields.has("brokerList"):
        draft.cluster("brokerList", fields.text("brokerList"))
    topic, topics = fields.text("topic", "test"), _number(fields, "topics", 1, least=1, most=100)
    fields.ignored("topics are known to be ready before the load begins", "waitAfterDeleteTopic", "probeTopics")
    fields.ignored("a consumer takes what has arrived", "pollTimeoutMs", "pollTimeout")
    document: dict[str, Any] = {
        "topic": without_none(
            {
                "name": f"{topic}_1" if topics == 1 else f"{topic}_[1-{topics}]",
                "partitions": _number(fields, "partitions", 1, least=1, most=10_000),
                "replication": _number(fields, fields.first("replicationFactor", "rf"), 1, least=1, most=32),
                "configs": _topic_configs(fields) or None,
            }
        ),
        "load": _load(draft, fields),
        "consume": _consume(draft, fields),
    }
    if document["load"] == "off" and document["consume"] == "off":
        draft.refuse("producers", "0 producers and 0 consumers", "Write one of them above 0")
    if topics > 1:
        draft.differs("topics", "clients serve all topics here; there each serves one, in turn")
    in_chunks = fields.word("throttleMode", "EVEN", "EVEN", "INT") == "INT"
    fields.close()
    return TussleBench(document, in_chunks)


def _number(fields: SpecFields, name: str, default: int, least: int, most: int = 10**12) -> int:
    found: int = fields.read(name, default, tussle_number)
    if not least <= found <= most:
        fields.draft.refuse(fields.place(name), f"not between {least:,} and {most:,}", "Write a number in between")
        return default
    return found


def _topic_configs(fields: SpecFields) -> dict[str, Any]:
    named = {
        "retention.ms": _number(fields, "retentionMs", -1, least=-1),
        "retention.bytes": _number(fields, "retentionBytes", -1, least=-1),
        "min.insync.replicas": _number(fields, "minInsyncReplicas", -1, least=-1),
    }
    given = {name: value for name, value in named.items() if value > 0}
    return {**given, **{name: plain_setting(value) for name, value in fields.mapping("topicProps").items()}}


def _load(draft: Draft, fields: SpecFields) -> Any:
    length = _number(fields, "messageLength", 1024, least=1, most=100 << 20)
    longest = _number(fields, "messageLengthMax", 0, least=0, most=100 << 20)
    producers = _number(fields, "producers", 1, least=0)
    acks = fields.text(fields.first("acks", "producerAcks"), "1")
    batch, linger = _number(fields, "batchSize", -1, least=-1), _number(fields, "lingerMs", -1, least=-1)
    named = {
        "acks": acks,
        "batch.size": batch if batch > 0 else None,
        "linger.ms": linger if linger >= 0 else None,
        "enable.idempotence": fields.flag("idempotence", False) if fields.has("idempotence") else None,
    }
    if batch == 0:
        draft.differs("batchSize", "0 sends each message by itself there; here it is the default of the Java client")
    client, partition = producer_settings(
        draft, "producerProps", {**without_none(named), **fields.mapping("producerProps")}, "3"
    )
    if not producers:
        return "off"
    size: Any = length
    if longest > length:
        # Its upper end is not among the lengths.
        size = {"uniform": {"from": length, "to": longest - 1}}
    draft.differs("messageLength", "values are spaces behind a stamp of 40 bytes; theirs is in digits, before spaces")
    return without_none(
        {
            **clients(draft, "producers", "producers", producers),
            "size": size,
            "payload": {"constant": {"text": " "}},
            "partition": partition,
            "client": client,
        }
    )


def _consume(draft: Draft, fields: SpecFields) -> Any:
    consumers = _number(fields, "consumers", 1, least=0)
    client = consumer_client(draft, "consumerProps", fields.mapping("consumerProps"))
    if not consumers:
        return "off"
    return without_none(
        {
            **clients(draft, "consumers", "consumers", consumers),
            "start": client.start,
            "commit": client.commit,
            "client": client.settings or None,
        }
    )
