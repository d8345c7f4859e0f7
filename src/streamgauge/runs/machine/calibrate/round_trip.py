"""What librdkafka makes of a round trip that is known, on its mock cluster, which knows whole milliseconds only."""

import statistics
from collections.abc import Mapping
from typing import Final

import numpy as np

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_MS, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.sources import Recipe
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.runs.machine.calibrate.planned import SIZE_BYTES
from streamgauge.scenario import Setting

ROUND_TRIPS_MS: Final = (1, 5, 20)
_MESSAGES: Final = 60
_FIRST: Final = 10
"""So many are sent before any counts: connections are made with them."""
_PATIENCE_NS: Final = 5_000 * NS_PER_MS


def shifts_ms() -> dict[int, float]:
    """By how much the median acknowledgement comes later for each of these round trips, in ms.

    One message at a time. Raises BrokerError where the mock cluster does not answer.
    """
    found: Mapping[int, float] = {each: _median_ms(each) for each in (0, *ROUND_TRIPS_MS)}
    return {each: found[each] - found[0] for each in ROUND_TRIPS_MS}


def _median_ms(round_trip_ms: int) -> float:
    """The median time until a message is acknowledged."""
    settings: dict[str, Setting] = {
        "bootstrap.servers": "",
        "test.mock.num.brokers": 1,
        "test.mock.broker.rtt": round_trip_ms,
        "linger.ms": 0,
        "log_level": 0,
    }
    client = KafkaProducer(ClientSpec("producer-0", ("calibrate",), settings))
    composer = Composer(Recipe(0, 0, "random", SIZE_BYTES, 42, False, scheduled=False), 1)
    try:
        return statistics.median([_answered_ms(client, composer, seq) for seq in range(_MESSAGES)][_FIRST:])
    finally:
        client.close()


def _answered_ms(client: KafkaProducer, composer: Composer, seq: int) -> float:
    sent_ns = monotonic_ns()
    client.send(composer.compose(np.array([seq]), None, sent_ns))
    while not (report := client.reports(1))[1]:
        if monotonic_ns() - sent_ns > _PATIENCE_NS:
            raise BrokerError("librdkafka's mock cluster does not answer")
        client.serve(0.1)
    acked_ns: float = np.asarray(report[0]["acked_ns"]).item()
    return (acked_ns - sent_ns) / NS_PER_MS
