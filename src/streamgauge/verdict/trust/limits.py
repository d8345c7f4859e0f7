"""How wide an interval may be before its figure is no longer believed: all limits in one place."""

from typing import Final

from streamgauge.result.model.trust import Trust

BELIEVED_SHARE: Final = 0.10
"""A latency is believed if its interval is narrower than this share of it ..."""
BELIEVED_MS: Final = 0.2
"""... or than this."""
DOUBTED_FACTOR: Final = 2.0
"""It is not believed if the high end is more than so many times the low end ..."""
DOUBTED_MS: Final = 1.0
"""... and lies further above it than this."""
RATE_SHARE: Final = 0.01
"""A rate is believed if its interval is narrower than this share of it."""
RATE_DOUBTED_SHARE: Final = 0.10
"""It is not believed if it is wider than this."""
FEW_MESSAGES: Final = 10.0
"""A lag is also believed if it is off by no more messages than this: fewer than one request usually holds."""
SOME_MESSAGES: Final = 100.0
"""It is bounded at worst if it is off by no more than this: both ends are known, and near each other for a lag. Where
10 may be 0 or 110, the ends say something that the number alone does not."""
STARVED_SHARE: Final = 0.5
"""A process is starved in a second in which its threads waited for a core for so much of the time, and longer than the
process ran."""
FROZEN_MS: Final = 100.0
"""All processes stood still if each producer (or consumer, where nothing is sent) stopped polling, and the sampler was
late, by so much."""
THROTTLED_SHARE: Final = 0.05
"""A CPU quota stopped the broker if its cgroup was stopped for so much of a second."""
TOLD_SHARE: Final = 0.001
"""A broker or a pipeline that waits for a core for less explains no p99.9."""
TOLD_WORKERS_SHARE: Final = 0.01
"""Workers that wait for less explain no p99; what their own threads waited is in the bounds of each message."""


def of_latency(value_ms: float, low_ms: float, high_ms: float) -> Trust:
    """The trust in a latency in ms."""
    width = high_ms - low_ms
    if width <= max(BELIEVED_SHARE * abs(value_ms), BELIEVED_MS):
        return "believed"
    return "not_believed" if high_ms > DOUBTED_FACTOR * low_ms and width > DOUBTED_MS else "bounded"


def of_stamped(value_ms: float, low_ms: float, high_ms: float, resolution_ms: float) -> Trust:
    """The trust in a latency since a time that is rounded down by up to `resolution_ms`.

    What the rounding makes of it is known at both ends: by itself it leaves nothing worse than bounded, however short
    the latency is.
    """
    trust = of_latency(value_ms, low_ms, high_ms)
    if trust != "not_believed":
        return trust
    without = of_latency(value_ms, min(low_ms + resolution_ms, value_ms), high_ms)
    return "not_believed" if without == "not_believed" else "bounded"


def of_rate(value: float, low: float, high: float) -> Trust:
    """The trust in a rate, or in a number of messages that was sampled."""
    width = high - low
    if width <= RATE_SHARE * abs(value):
        return "believed"
    return "bounded" if width <= RATE_DOUBTED_SHARE * abs(value) else "not_believed"


def of_count(low: float, high: float) -> Trust:
    """The trust in a count: exact, or both ends are known."""
    return "believed" if low == high else "bounded"


def of_lag(value: float, low: float, high: float) -> Trust:
    """The trust in a lag that was sampled, in messages."""
    off = max(value - low, high - value)
    trust = "believed" if off <= max(FEW_MESSAGES, RATE_SHARE * abs(value)) else of_rate(value, low, high)
    return "bounded" if trust == "not_believed" and off <= SOME_MESSAGES else trust
