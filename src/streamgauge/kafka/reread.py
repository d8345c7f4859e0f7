"""A topic read once more, from offsets to offsets, by a reader that joins no group."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import ClientSpec, Fetched
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.decode import Decoder
from streamgauge.kafka.clients.messages import log, words_of
from streamgauge.processes.patience import Check, let_go, no_check

AT_ONCE: Final = 10_000
_POLL_SECONDS: Final = 0.5


def reread(
    spec: ClientSpec, starts: Sequence[int], ends: Sequence[int], seconds: float, check: Check = no_check
) -> Iterator[Fetched]:
    """The messages of the first topic of `spec` in [start, end) of each partition, in blocks.

    Raises BrokerError where they did not all come in that time, and what `check` raises, asked between two reads.
    """
    left = {partition: end for partition, (start, end) in enumerate(zip(starts, ends, strict=True)) if end > start}
    if not left:
        return
    topic, decoder = spec.topics[0], Decoder(spec.topics[:1], spec.stamp_in_header, spec.counted_in)
    settings = {
        **spec.settings,
        "group.id": f"{spec.worker}-reads-without-a-group",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.queue.backoff.ms": 10,
    }
    limit_ns = monotonic_ns() + round(seconds * NS_PER_SECOND)
    client = ck.Consumer(settings, logger=log)
    try:
        client.assign([TopicPartition(topic, partition, starts[partition]) for partition in left])
        while left:
            check()
            if monotonic_ns() > limit_ns:
                raise BrokerError(f"{topic}: {len(left)} partitions were not read to their ends in {seconds:g} s")
            messages = _wanted(client.consume(AT_ONCE, _POLL_SECONDS), left)
            if messages:
                yield decoder.decode(messages)
    except KafkaException as error:
        raise BrokerError(f"{topic}: {words_of(error)}") from error
    finally:
        let_go([client.close])


def _wanted(polled: Sequence[Any], left: dict[int, int]) -> list[Any]:
    """The messages below the ends; partitions that are read to their ends are taken out of `left`.

    A log may end before that: with read_committed where a transaction is open, or after a change of leaders.
    """
    found = []
    for message in polled:
        error, partition = message.error(), message.partition()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            if message.offset() >= left.get(partition, 0):
                left.pop(partition, None)
        elif error is not None:
            raise KafkaException(error)
        elif partition in left:
            if message.offset() < left[partition]:
                found.append(message)
            if message.offset() >= left[partition] - 1:
                left.pop(partition)
    return found
