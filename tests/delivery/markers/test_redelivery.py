"""What becomes of a message that is due, and how often messages are delivered on average."""

import random

import pytest

from streamgauge.delivery.attempts import expected_dead, expected_deliveries
from streamgauge.delivery.markers.redelivery import resent
from streamgauge.delivery.markers.wire import Header
from streamgauge.domain.errors import BadValue

TRACE = ("trace", b"abc")


@pytest.mark.parametrize(
    ("headers", "limit", "is_dead", "count"),
    [
        pytest.param([], 3, False, b"\x01", id="first time"),
        pytest.param([("kmq-redelivery-count", b"\x02")], 3, False, b"\x03", id="last time"),
        pytest.param([("kmq-redelivery-count", b"\x03")], 3, True, b"\x03", id="no more"),
        pytest.param([], 0, True, b"\x00", id="never redelivered"),
        pytest.param([("kmq-redelivery-count", b"\x7f")], None, False, b"\x00\x00\x00\x80", id="no limit"),
    ],
)
def test_it_is_sent_again_or_is_dead(headers: list[Header], limit: int | None, is_dead: bool, count: bytes) -> None:
    """Its other headers are kept."""
    found = resent("orders", 4, 17, [TRACE, *headers], limit, 1_000)
    assert found.is_dead == is_dead
    assert found.headers[:2] == (TRACE, ("kmq-redelivery-count", count))
    assert len(found.headers) == (8 if is_dead else 2)


def test_a_dead_letter_tells_where_it_came_from_when_and_why() -> None:
    told = dict(resent("orders", 4, 17, [("kmq-redelivery-count", b"\x03")], 3, 1_234).headers[1:])
    assert told == {
        "streamgauge-dead-letter-topic": b"orders",
        "streamgauge-dead-letter-partition": b"4",
        "streamgauge-dead-letter-offset": b"17",
        "streamgauge-dead-letter-redeliveries": b"3",
        "streamgauge-dead-letter-at-ms": b"1234",
        "streamgauge-dead-letter-reason": b"not acknowledged after 3 redeliveries",
    }


def test_the_latest_count_counts() -> None:
    headers: list[Header] = [("kmq-redelivery-count", b"\x01"), ("kmq-redelivery-count", b"\x02")]
    assert resent("orders", 0, 0, headers, 3, 0).headers == (("kmq-redelivery-count", b"\x03"),)


def test_a_count_that_is_none_is_refused() -> None:
    with pytest.raises(BadValue):
        resent("orders", 0, 0, [("kmq-redelivery-count", b"xy")], 3, 0)


@pytest.mark.parametrize(
    ("failed", "limit", "deliveries", "dead"),
    [(0.5, 3, 1.875, 0.0625), (0.5, None, 2.0, 0.0), (0.0, 3, 1.0, 0.0), (1.0, 3, 4.0, 1.0), (0.9, 0, 1.0, 0.9)],
)
def test_theory(failed: float, limit: int | None, deliveries: float, dead: float) -> None:
    assert expected_deliveries(failed, 0, limit) == pytest.approx(deliveries)
    assert expected_dead(failed, 0, limit) == pytest.approx(dead)


def test_where_every_delivery_fails_there_is_no_end() -> None:
    assert expected_deliveries(1.0, 0, None) == float("inf")


@pytest.mark.parametrize("limit", [0, 3, 9])
def test_theory_is_what_a_simulation_gives(limit: int) -> None:
    """Within four standard errors."""
    draws, messages, failed = random.Random(limit), 20_000, 0.5
    counts, dead = [], 0
    for _ in range(messages):
        count = 1
        while (fails := draws.random() < failed) and count <= limit:
            count += 1
        counts.append(count)
        dead += fails
    mean = sum(counts) / messages
    error = (sum((count - mean) ** 2 for count in counts) / messages / messages) ** 0.5
    assert abs(mean - expected_deliveries(failed, 0, limit)) <= 4 * error
    share = expected_dead(failed, 0, limit)
    assert abs(dead / messages - share) <= 4 * (share * (1 - share) / messages) ** 0.5
