"""Markers on a real broker: what is not acknowledged comes again, or is a dead letter; what is, does not."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import confluent_kafka as ck
import pytest
from confluent_kafka import TopicPartition
from tests.waiting import until

from streamgauge.acknowledge import Cluster, MarkerConsumer, MarkerTracker, Tracked, make_marker_topic
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.delivery.markers.wire import read_marker
from streamgauge.domain.errors import BadInput

pytestmark = pytest.mark.kafka

GUIDE: Final = Path(__file__).parents[2] / "docs" / "how-to" / "acknowledge-messages.md"
AFTER_MS: Final = 150
FAST: Final = {"fetch.error.backoff.ms": 1}
"""Trackers see new markers at once."""
Make = Callable[[int], str]


@pytest.fixture
def settings(broker: EmbeddedBroker) -> dict[str, Any]:
    return {"bootstrap.servers": broker.bootstrap}


@pytest.fixture
def topic(settings: dict[str, Any], broker: EmbeddedBroker, fresh_topic: Make) -> Iterator[str]:
    """A topic of two partitions with its topics of markers and of dead letters."""
    cluster, name = Cluster(broker.bootstrap, {}), fresh_topic(2)
    make_marker_topic(cluster, name)
    cluster.create_topic(f"{name}{DEAD_LETTERS}", 1, 1)
    yield name
    cluster.delete_topic(f"{name}-markers")
    cluster.delete_topic(f"{name}{DEAD_LETTERS}")


def send(settings: dict[str, Any], topic: str, count: int) -> None:
    producer = ck.Producer(settings)
    for number in range(count):
        producer.produce(topic, b"%d" % number, b"key-%d" % number, number % 2, headers=[("trace", b"t%d" % number)])
    assert producer.flush(10) == 0


def read_all(settings: dict[str, Any], topic: str, partitions: int) -> list[ck.Message]:
    """Every record of a topic."""
    consumer = ck.Consumer({**settings, "group.id": "reads-all", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    found: list[ck.Message] = []
    ends = 0
    while ends < partitions:
        message = consumer.poll(10)
        assert message is not None
        if message.error():
            ends += 1
        else:
            found.append(message)
    consumer.close()
    return found


@contextmanager
def tracker(settings: dict[str, Any], topic: str, limit: int | None = 2) -> Iterator[MarkerTracker]:
    tracked = Tracked(limit=limit, silence_ms=50)
    with MarkerTracker(settings, topic, f"{topic}-tracker", tracked=tracked, consumer=FAST) as made:
        until(lambda: made.turn(0.05) >= 0 and made.is_current)
        yield made


def test_what_is_not_acknowledged_comes_again_and_then_is_a_dead_letter(settings: dict[str, Any], topic: str) -> None:
    """Every third is never acknowledged: delivered once, redelivered twice, with its headers, and given up."""
    send(settings, topic, 60)
    delivered: Counter[int] = Counter()
    with (
        tracker(settings, topic) as tracking,
        MarkerConsumer(settings, topic, f"{topic}-clients", redeliver_after_ms=AFTER_MS) as consumer,
    ):

        def step() -> bool:
            for message in consumer.poll(0.05):
                number = int(message.value() or b"")
                assert dict(message.headers() or [])["trace"] == b"t%d" % number
                delivered[number] += 1
                if number % 3:
                    consumer.processed(message)
            tracking.turn(0.05)
            return tracking.counts.dead == 20 and not tracking.open

        until(step)

    assert delivered == {number: 1 if number % 3 else 3 for number in range(60)}
    assert (tracking.counts.redelivered, tracking.counts.failed, tracking.counts.gone) == (40, 0, 0)
    dead = read_all(settings, f"{topic}{DEAD_LETTERS}", 1)
    assert sorted(int(each.value() or b"") for each in dead) == list(range(0, 60, 3))
    told = dict(dead[0].headers() or [])
    assert told["kmq-redelivery-count"] == b"\x02"
    assert told["streamgauge-dead-letter-topic"] == topic.encode()
    _check_none_was_early(settings, topic)


def _check_none_was_early(settings: dict[str, Any], topic: str) -> None:
    """By the broker's clock, the tracker's end marker is no earlier than the start marker and the timeout."""
    started: dict[tuple[int, int], int] = {}
    unacknowledged = {
        (message.partition(), message.offset())
        for message in read_all(settings, topic, 2)
        if int(message.value() or b"") % 3 == 0
    }
    checked = 0
    for record in read_all(settings, f"{topic}-markers", 2):
        marker, appended_ms = read_marker(record.key(), record.value()), record.timestamp()[1]
        place = (marker.partition, marker.offset)
        if marker.redeliver_after_ms is not None:
            started[place] = appended_ms + marker.redeliver_after_ms
        elif place in unacknowledged:
            checked += 1
            assert appended_ms >= started[place]
    assert checked == 60


def test_a_successor_goes_on_where_a_tracker_ended(settings: dict[str, Any], topic: str) -> None:
    """Open messages come again, whoever took them; those that were acknowledged meanwhile do not."""
    send(settings, topic, 10)
    with MarkerConsumer(settings, topic, f"{topic}-clients", redeliver_after_ms=AFTER_MS) as consumer:
        taken: list[ck.Message] = []

        def take() -> bool:
            taken.extend(consumer.poll(0.1))
            return len(taken) == 10

        until(take)
        with tracker(settings, topic):
            pass
        for message in taken[:7]:
            consumer.processed(message)
    with tracker(settings, topic) as second:
        until(lambda: second.turn(0.05) >= 0 and not second.open)
        assert second.counts.redelivered == 3
    again = read_all(settings, topic, 2)
    assert Counter(each.value() for each in again) == Counter(
        [each.value() for each in taken] + [each.value() for each in taken[7:]]
    )


def test_markers_of_others_are_understood(settings: dict[str, Any], topic: str) -> None:
    """Written by hand as the format says: offset 1 of partition 0 is started, offset 0 started and ended."""
    send(settings, topic, 4)
    producer = ck.Producer(settings)
    start = bytes.fromhex("010000000000000001")
    for offset, value in ((0, start), (1, start), (0, b"\x00")):
        producer.produce(f"{topic}-markers", value, bytes(4) + offset.to_bytes(8, "big"), 0)
    producer.produce(f"{topic}-markers", b"no marker", b"at all", 0)
    assert producer.flush(10) == 0
    with tracker(settings, topic, limit=None) as tracking:
        until(lambda: tracking.turn(0.05) >= 0 and not tracking.open)
        assert (tracking.counts.redelivered, tracking.counts.no_markers) == (1, 1)
    assert [each.value() for each in read_all(settings, topic, 2) if each.partition() == 0] == [b"0", b"2", b"2"]


def test_the_example_of_the_guide_works(
    settings: dict[str, Any], broker: EmbeddedBroker, fresh_topic: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """An order that can be read is billed; another one is left to be delivered again."""
    topic = fresh_topic(1)
    cluster = Cluster(broker.bootstrap, {})
    cluster.create_topic(f"{topic}{DEAD_LETTERS}", 1, 1)
    producer = ck.Producer(settings)
    for value in (b'{"id": 7}', b"no order"):
        producer.produce(topic, value, partition=0)
    assert producer.flush(10) == 0
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        here = block.replace("localhost:9092", broker.bootstrap).replace('"orders"', f'"{topic}"')
        exec(here.replace("poll(1.0)", "poll(20)"), names)
    told = capsys.readouterr().out
    assert "bill 7\nwill be delivered again" in told
    assert "open: " in told
    cluster.delete_topic(f"{topic}-markers")
    cluster.delete_topic(f"{topic}{DEAD_LETTERS}")


def test_topics_that_do_not_fit_are_refused(broker: EmbeddedBroker, fresh_topic: Make) -> None:
    cluster, topic, other = Cluster(broker.bootstrap, {}), fresh_topic(2), fresh_topic(3)
    with pytest.raises(BadInput) as caught:
        make_marker_topic(cluster, topic, other)
    told = "\n".join(map(str, caught.value.faults))
    assert f"{other}: has 3 partitions, but {topic} has 2" in told
    assert "message.timestamp.type CreateTime" in told
    with pytest.raises(BadInput, match="nothing: does not exist"):
        make_marker_topic(cluster, "nothing")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"consumer": {"enable.auto.commit": True}}, "enable.auto.commit: is set by the consumer"),
        ({"redeliver_after_ms": 0}, "0 is not positive"),
        ({"consumer": {"no.such": 1}}, "client settings"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any], given: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        MarkerConsumer(settings, "topic", "group", **{"redeliver_after_ms": 1, **given})


def test_dead_letters_need_a_topic(settings: dict[str, Any], broker: EmbeddedBroker, fresh_topic: Make) -> None:
    topic = fresh_topic(1)
    cluster = Cluster(broker.bootstrap, {})
    markers = make_marker_topic(cluster, topic)
    with pytest.raises(BadInput, match="dead letters would be lost"):
        MarkerTracker(settings, topic, "tracker")
    cluster.delete_topic(markers)
