"""Anomalies that a client of the test writes into the topic of a run, while it is measured, are found and counted."""

import threading
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import confluent_kafka as ck
import numpy as np
import pytest

import streamgauge
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain import stamp

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

TOPIC: Final = "planted-anomalies"
PARTITION: Final = 0
SEEN: Final = 20
"""Records of the run that stand in the partition before anything is planted."""
BEYOND: Final = 1 << 40
"""A sequence number that nothing comes to."""
NOBODY: Final = 99
"""A producer that the run does not have."""
SENT: Final = 1_200
SCENARIO: Final = {
    "topic": {"name": TOPIC, "partitions": 2},
    "load": {"rate": "200/s", "producers": 1, "size": 100, "partition": "round-robin"},
    "consume": {"consumers": 1},
    "phases": {"warmup": "0s", "measure": "6s", "drain": "20s"},
    "verify": {"log": True},
}


@dataclass
class Planter:
    """Writes into the partition with a client of its own, once the run has written there."""

    bootstrap: str
    planted: bool = False
    _thread: threading.Thread | None = field(default=None)

    def watch(self, line: str) -> None:
        """Begin when the run says that its load begins."""
        if self._thread is None and "warm-up" in line:
            self._thread = threading.Thread(target=self._plant)
            self._thread.start()

    def join(self) -> None:
        """Wait until it is done."""
        if self._thread:
            self._thread.join(60)

    def _plant(self) -> None:
        ours = self._records()
        producer = ck.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0})
        for value in (
            ours[2],
            ours[4][:-1] + bytes([ours[4][-1] ^ 0xFF]),
            changed(ours[6], producer=NOBODY),
            changed(ours[6], producer=NOBODY, seq=BEYOND),
            changed(ours[8], tag=int(stamp.decode(ours[8][: stamp.SIZE])["tag"][0]) ^ 1),
            b"of somebody else",
        ):
            producer.produce(TOPIC, value, partition=PARTITION)
        self.planted = producer.flush(30) == 0

    def _records(self) -> list[bytes]:
        """The first records of the partition."""
        reader = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "planter", "enable.auto.commit": False})
        found: list[bytes] = []
        try:
            reader.assign([ck.TopicPartition(TOPIC, PARTITION, 0)])
            while len(found) < SEEN:
                message = reader.poll(30)
                assert message is not None
                assert message.error() is None
                found.append(bytes(message.value() or b""))
        finally:
            reader.close()
        return found


def changed(value: bytes, **fields: int) -> bytes:
    """A record whose stamp says something else, and is whole nonetheless."""
    stamps = np.frombuffer(value[: stamp.SIZE], stamp.STAMP).copy()
    for name, number in fields.items():
        stamps[name] = number
    assert zlib.crc32(value[stamp.SIZE :]) == stamps["crc"][0]
    return stamps.tobytes() + value[stamp.SIZE :]


def test_what_another_client_writes_among_the_messages_is_found(broker: EmbeddedBroker, tmp_path: Path) -> None:
    """Each anomaly in its class, none in another one, and nothing of the run is missed for it."""
    planter = Planter(broker.bootstrap)
    try:
        run = streamgauge.run(
            {"name": "planted", **SCENARIO}, bootstrap=broker.bootstrap, out=tmp_path, progress=planter.watch
        )
    finally:
        planter.join()
    assert planter.planted

    found = run.result.delivery
    planted = {"duplicate_producer": 1, "corrupt": 1, "unrecorded": 2, "foreign": 2}
    counts = {name: value for name, value in found.model_dump().items() if isinstance(value, int) and value}
    assert counts == {
        "sent": SENT, "acked": SENT, "received": SENT + 6, "delivered_once": SENT - 1, "checked": SENT + 4,
        **planted,
    }  # fmt: skip
    assert Counter(run.table("problems")["class"].to_pylist()) == planted
